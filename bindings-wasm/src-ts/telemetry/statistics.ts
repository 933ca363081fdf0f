/** Numbers about operations, counted from their events. */
import type { AttemptEvent, GiveUpEvent, Hooks, RetryEvent } from "../hooks.js";
import type { Cause, FailureKind, StopReason } from "../words.js";

/** How often each word came. A word that never came is missing. */
type Counts<Word extends string> = { readonly [_ in Word]?: number };

/** The numbers of the operations of one name. */
export interface OperationStatistics {
  /** Attempts that began. */
  readonly attempts: number;
  /** Failed attempts that a sleep followed. */
  readonly retries: number;
  /** Operations that succeeded. */
  readonly successes: number;
  /** Operations that ended without a success. */
  readonly giveUps: number;
  /** The sum of the sleeps, in milliseconds. */
  readonly waited: number;
  /** The retries by the kind of the failure, and by what set the delay. */
  readonly kinds: Counts<FailureKind>;
  readonly causes: Counts<Cause>;
  /** The operations that ended without a success, by reason. */
  readonly reasons: Counts<StopReason>;
}

type Writable = { -readonly [Name in keyof OperationStatistics]: OperationStatistics[Name] };

/** How many names of operations are counted by themselves. */
const MOST_NAMES = 1000;

const empty = (): Writable => ({
  attempts: 0,
  retries: 0,
  successes: 0,
  giveUps: 0,
  waited: 0,
  kinds: {},
  causes: {},
  reasons: {},
});

function count<Word extends string>(counts: { [_ in Word]?: number }, word: Word): void {
  counts[word] = (counts[word] ?? 0) + 1;
}

/**
 * Counts what happens to operations, by their names. Listen with its hooks to count all operations of the process,
 * `listen(statistics.hooks)`, or give its hooks to some: `retry(fn, statistics.hooks)`.
 */
export class Statistics {
  private readonly byName = new Map<string, Writable>();

  /** The hooks that count. */
  readonly hooks: Readonly<Required<Hooks>> = {
    onAttempt: (event) => {
      this.at(event).attempts++;
    },
    onRetry: (event: RetryEvent) => {
      const numbers = this.at(event);
      numbers.retries++;
      numbers.waited += event.delayMs;
      count(numbers.kinds, event.kind);
      count(numbers.causes, event.cause);
    },
    onSuccess: (event) => {
      this.at(event).successes++;
    },
    onGiveUp: (event: GiveUpEvent) => {
      const numbers = this.at(event);
      numbers.giveUps++;
      count(numbers.reasons, event.reason);
    },
  };

  /** The numbers of the operations of each name that had an event, of at most 1000 names; further names count as "other". They go on counting. */
  get operations(): ReadonlyMap<string, OperationStatistics> {
    return this.byName;
  }

  /** Forgets all numbers. */
  reset(): void {
    this.byName.clear();
  }

  /** The numbers by name, as they are now. */
  toJSON(): Record<string, OperationStatistics> {
    return structuredClone(Object.fromEntries(this.byName));
  }

  private at({ operation }: AttemptEvent): Writable {
    const name = this.byName.has(operation) || this.byName.size < MOST_NAMES ? operation : "other";
    let numbers = this.byName.get(name);
    if (numbers === undefined) this.byName.set(name, (numbers = empty()));
    return numbers;
  }
}
