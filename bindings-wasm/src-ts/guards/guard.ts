/** The base of all guards: a configuration, a state, and its bytes. */
import { hostNow } from "../clock.js";
import { checkSeed, HookError, wrongType } from "../errors.js";
import { type ChangeEvent, type ChangeHook, listeners } from "../hooks.js";
import { exact, type Length, like, nanos } from "../memory.js";
import type { Same, Time } from "../values.js";
import { bareCopy, collect, type FieldValue, type GuardField, LIST, NUMBER, snake } from "../values.js";
import { BREAKER_STATES, type BreakerState } from "../words.js";
import { type Configs, configsOf } from "./configs.js";
import {
  BREAKER,
  clear,
  core,
  type GuardName,
  load,
  memory,
  NAMES,
  randomSeed,
  readArgument,
  type StoredGuard,
  stateAt,
  writeArgument,
} from "./memory.js";

/** Where a guard's randomness comes from, and when it begins. */
export interface GuardOptions extends ChangeHook {
  /** A whole number from 0, as a bigint up to 2^64-1; from the operating system unless given. */
  seed?: number | bigint | null | undefined;
  /** Nanoseconds; the host's time unless given. */
  now?: Time | undefined;
  /** The name of the guards, for `onChange`. */
  name?: string | null | undefined;
  /**
   * The key that they are the guards of.
   * @internal
   */
  key?: string | undefined;
}

/** The fields of sections, as the core names them. */
export function fieldsOf(sections: object): GuardField[] {
  const values: FieldValue[] = [];
  collect(values, "", sections, NUMBER, Infinity);
  return values
    .filter(({ kind }) => kind !== LIST)
    .map((field) => ({ ...field, path: snake(field.path), numbers: undefined }));
}

/** The seed and the time that states begin with, and the name and the hook of a breaker. */
export interface Origin {
  readonly seed: bigint;
  readonly now: bigint;
  readonly name: string;
  readonly key: string | undefined;
  readonly onChange: ChangeHook["onChange"];
}

export function originOf(options: GuardOptions = {}): Origin {
  const { seed, now, name, key, onChange } = bareCopy(options);
  if (typeof (name ?? "") !== "string") throw wrongType("name", name, "a text");
  if (onChange && typeof onChange !== "function") throw wrongType("onChange", onChange, "a function");
  if (seed !== undefined && seed !== null) checkSeed(seed, "seed");
  return {
    seed: seed === undefined || seed === null ? randomSeed() : BigInt(seed),
    now: now === undefined ? BigInt(hostNow()) : exact(now, "now"),
    name: name ?? key ?? "",
    key,
    onChange,
  };
}

/** New states of guards; undefined where a set has no such guard. */
export function storedGuards(configs: Configs, origin: Origin): (StoredGuard | undefined)[] {
  clear();
  let mask = 0;
  for (const [index, config] of configs.words.entries()) {
    if (config === undefined) continue;
    mask |= 1 << index;
    memory().write(`${NAMES[index] as GuardName}Config`, config);
  }
  memory().writeNumbers(origin.now, origin.seed);
  memory().core.guards_new(mask);
  const { name, key, onChange } = origin;
  return configs.words.map((config, index) => {
    const length = configs.storage[index] ?? 0;
    return (
      config && {
        index,
        config,
        words: stateAt(index),
        storage: length > 0 ? new Uint32Array(length * 2) : undefined,
        // All that a breaker ever has: objects of one shape are quicker.
        ...(index === BREAKER && { name, key, onChange, seen: undefined, waiters: undefined }),
      }
    );
  });
}

/** The guards at which a call waits for others, at their numbers. */
export const TURNS = [undefined, "bulkhead", "breaker", "limiter", "adaptive"] as const;

/** Wakes the operations that wait for others at a guard of a set. */
export function notifyWaiters(guards: Readonly<Record<NonNullable<(typeof TURNS)[number]>, Guard | undefined>>): void {
  for (const name of TURNS) if (name) guards[name]?.notifyWaiters();
}

/** An operation that waits for its turn at a guard. */
export interface Waiter {
  /** Asks for the place again; false when it still waits. */
  ask(): boolean;
}

/** The base of all guards. */
export abstract class Guard {
  /** @internal */
  declare readonly index: number;
  /** @internal */
  declare readonly config: Uint32Array;
  /** @internal */
  declare readonly words: Uint32Array;
  /** @internal */
  declare readonly storage: Uint32Array | undefined;
  /**
   * The operations that wait for a place, the first first.
   * @internal
   */
  declare waiters: Set<Waiter> | undefined;
  /** @internal */
  declare notifying: boolean | undefined;

  /** @internal */
  constructor(index: number, fields: unknown, options?: GuardOptions) {
    const section = NAMES[index] as GuardName;
    const origin = originOf(options);
    const state = storedGuards(configsOf(fieldsOf({ [section]: fields ?? null })), origin)[index];
    if (state === undefined) throw wrongType(section, fields, "fields, or a kind that is not none");
    Object.assign(this, state);
  }

  /** Lays it down, and the time; the sample of how times come back. */
  protected at(now: Time | undefined): Time {
    load(this);
    if (now === undefined) writeArgument(0, hostNow());
    else if (typeof now === "number" && Number.isSafeInteger(now) && now >= 0) writeArgument(0, now);
    else memory().writeNumbers(exact(now, "now"));
    return now ?? 0;
  }

  /** Runs a transition of the core. */
  protected watch<R>(transition: () => R): R {
    return transition();
  }

  /** Runs a transition that may let waiting operations through. */
  protected change(transition: () => void): void {
    this.watch(transition);
    this.notifyWaiters();
  }

  /** @internal */
  addWaiter(waiter: Waiter): void {
    (this.waiters ??= new Set()).add(waiter);
  }

  /** @internal */
  removeWaiter(waiter: Waiter): void {
    this.waiters?.delete(waiter);
  }

  /**
   * Tells the waiting operations, in their order, that a place may be free, after the current code has run.
   * @internal
   */
  notifyWaiters(): void {
    if (this.notifying || !this.waiters?.size) return;
    this.notifying = true;
    queueMicrotask(() => {
      this.notifying = false;
      for (const waiter of this.waiters ?? []) if (!waiter.ask()) break;
    });
  }
}

/** A guard that hears of hints, and says when it would let an attempt through. */
export abstract class PlainGuard extends Guard {
  /** The server said not to come before that is over, a number in milliseconds. */
  hint(span: Length, now?: Time): void {
    const long = nanos(span, "hint");
    this.at(now);
    memory().longs[1] = long;
    memory().core.guard_hint(this.index);
  }

  /** The time from which an attempt may begin, in nanoseconds; undefined when it may begin now. */
  refuses<T extends Time = number>(now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    return memory().core.guard_refuses(this.index) === 0 ? undefined : like(sample, memory().readNumber(1));
  }
}

/** A breaker that may have hooks. */
interface Watched extends ChangeHook {
  readonly name: string;
  readonly key: string | undefined;
  /** The state that was seen last; undefined while nobody is told. */
  seen: BreakerState | undefined;
}

/** True if anybody is told about a breaker. */
const isWatched = (breaker: Watched | undefined): boolean =>
  breaker !== undefined && (!!breaker.onChange || (listeners.length > 0 && listeners.some(({ onChange }) => onChange)));

/** The state of the breaker in memory at the time there. */
const look = (): BreakerState => BREAKER_STATES[core.breaker_state()] as BreakerState;

/** Runs a transition of the breaker in memory. Hooks are told in a turn of their own: they may use the memory. */
export function watched<T>(breaker: Watched | undefined, transition: () => T): T {
  if (breaker === undefined || !isWatched(breaker)) {
    if (breaker) breaker.seen = undefined;
    return transition();
  }
  const before = (breaker.seen ??= look());
  const result = transition();
  const after = (breaker.seen = look());
  if (before !== after)
    tell(breaker, { name: breaker.name, key: breaker.key, before, after, atMs: readArgument(0) / 1e6 });
  return result;
}

async function tell({ onChange }: ChangeHook, event: ChangeEvent): Promise<void> {
  const hooks = [onChange, ...listeners.map((listener) => listener.onChange)];
  await undefined;
  try {
    await Promise.all(hooks.map((hook) => hook?.(event)));
  } catch (error) {
    throw new HookError("onChange", error, undefined);
  }
}
