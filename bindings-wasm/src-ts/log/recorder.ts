/** A call that says what to write down, so that another process can go on with it. */

import { problem, WRONG_TYPE } from "../errors.js";
import { type Failure, hintBits, writeFailure } from "../failure.js";
import { Guards } from "../guards/guards.js";
import {
  loadAll,
  loadPolicy,
  stepAt,
  stepAttempt,
  stepCodes,
  stepLong,
  stepWakeAt,
  writeArgument,
} from "../guards/memory.js";
import { Call, type Step, stepOf, ticketOf, wordsOf } from "../machine.js";
import { exact } from "../memory.js";
import type { Policy } from "../policy.js";
import { checkSeed } from "../seed.js";
import type { Same, Time } from "../times.js";
import type { FailureKind } from "../words.js";
import { type Event, type Notes, shownEvent, textOf } from "./event.js";
import { memory } from "./memory.js";

/** The answer of a transition: the next step, and the events to store before following it. */
export interface Recorded<T extends Time = number> {
  readonly step: Step<T>;
  readonly events: readonly Event[];
}

/** The options of a recorded call. */
export interface RecorderOptions {
  /** The guards that the call shares with others; a call that begins without guards takes none later. */
  guards?: Guards | null | undefined;
  /** The name of its task, which its events have as `payload.taskId`. */
  task?: string | null | undefined;
}

/**
 * The whole loop as a machine that says what to write down: as `Call`, and under guards as `GuardedCall`, but it does not hedge.
 * Write the events of a transition before you do what its step says: a crash between the two loses nothing. `replay` makes the
 * same recorder from the log, which goes on with {@link Recorder.resume}. Logs are read by other processes, so let times be
 * nanoseconds since 1970, as bigints: `BigInt(Date.now()) * 1_000_000n`.
 */
export class Recorder {
  private readonly policy: Uint32Array;
  private readonly guards: Guards | undefined;
  private readonly task: string | undefined;
  private readonly state: Uint32Array;

  private constructor(policy: Uint32Array, { guards, task }: RecorderOptions) {
    this.policy = policy;
    this.guards = guards ?? undefined;
    this.task = textOf(task, "task");
    this.state = memory().copy("recorder");
  }

  /** A call that begins at `now`, its first step and its first events. */
  static begin<T extends Time>(
    policy: Policy,
    seed: number | bigint,
    now: T,
    options: RecorderOptions = {},
  ): [recorder: Recorder, recorded: Recorded<Same<T>>] {
    const words = wordsOf(policy);
    checkOptions(options);
    checkSeed(seed, "seed");
    const time = exact(now, "now");
    const { guards } = options;
    if (guards) loadAll(guards);
    loadPolicy(words);
    memory().writeNumbers(time, BigInt(seed));
    const count = memory().core.recorder_begin(guards?.mask ?? 0);
    const recorder = new Recorder(words, options);
    return [recorder, recorder.told(now, count)];
  }

  /** @internal The recorder in the module's memory. */
  static fromMemory(policy: Uint32Array, options: RecorderOptions): Recorder {
    return new Recorder(policy, options);
  }

  /** The attempt with this ticket succeeded at `now`. */
  succeed<T extends Time>(ticket: number | bigint, now: T): Recorded<Same<T>> {
    return this.move(now, (mask) => memory().core.recorder_succeed(mask), ticketOf(ticket));
  }

  /** The attempt with this ticket failed at `now`; `reason` is what its events say of it. */
  fail<T extends Time>(
    ticket: number | bigint,
    now: T,
    failure: Failure | FailureKind,
    reason?: string,
  ): Recorded<Same<T>> {
    const number = ticketOf(ticket);
    const kind = writeFailure(failure);
    const hint = hintBits();
    const fail = (mask: number) => {
      memory().longs[3] = hint;
      return memory().core.recorder_fail(mask, kind);
    };
    return this.move(now, fail, number, reason);
  }

  /** The attempt with this ticket ended at `now` by a fault of the program's own; in the log that is a permanent failure. */
  abandon<T extends Time>(ticket: number | bigint, now: T, reason?: string): Recorded<Same<T>> {
    return this.move(now, (mask) => memory().core.recorder_abandon(mask), ticketOf(ticket), reason);
  }

  /** Nothing but time has passed, or a place in the bulkhead has come free. */
  tick<T extends Time>(now: T): Recorded<Same<T>> {
    return this.move(now, (mask) => memory().core.recorder_tick(mask));
  }

  /** The caller wants no more of it. */
  cancel<T extends Time>(now: T): Recorded<Same<T>> {
    return this.move(now, (mask) => memory().core.recorder_cancel(mask));
  }

  /**
   * Goes on at `now` with a call that was made from its log. Asleep, it sleeps on. An attempt in flight was interrupted and
   * runs again, under its own number, but only `reruns` times; then it has failed, as a timeout.
   */
  resume<T extends Time>(now: T, reruns = 3): Recorded<Same<T>> {
    if (!(Number.isInteger(reruns) && reruns >= 0 && reruns <= 0xffffffff)) throw problem(WRONG_TYPE, "reruns", reruns);
    return this.move(now, (mask) => memory().core.recorder_resume(mask, reruns));
  }

  /** The step that holds. */
  get step(): Step<bigint> {
    this.look();
    return stepOf(stepCodes(), stepAttempt(), stepLong);
  }

  /** The call without what it holds of its guards, for `save`. */
  get call(): Call {
    this.look();
    return Object.assign(Object.create(Call.prototype) as Call, {
      policy: this.policy,
      keeper: { state: memory().copy("recorded") },
    });
  }

  /** The place in the log of its latest event. */
  get sequence(): number {
    return Number(this.look()[0]);
  }

  /** The attempt in flight or else the last one that ran, 0 for none. */
  get attempt(): number {
    return Number(this.look()[1]);
  }

  /** When it began, in nanoseconds. */
  get started(): bigint {
    return this.look()[2] as bigint;
  }

  /** How often the attempt in flight was run again because it was interrupted. */
  get reruns(): number {
    return Number(this.look()[3]);
  }

  /** True if it began with guards. */
  get isGuarded(): boolean {
    return this.look()[5] !== 0n;
  }

  private look(): BigUint64Array {
    memory().write("recorder", this.state);
    memory().core.recorder_look();
    return memory().longs;
  }

  private move<T extends Time>(
    now: T,
    transition: (mask: number) => number,
    ticket = 0,
    reason?: string,
  ): Recorded<Same<T>> {
    const time = exact(now, "now");
    const text = textOf(reason, "reason");
    const { guards } = this;
    if (guards) loadAll(guards);
    loadPolicy(this.policy);
    memory().write("recorder", this.state);
    memory().writeNumbers(time);
    writeArgument(2, ticket);
    const count = transition(guards?.mask ?? 0);
    memory().read("recorder", this.state);
    const recorded = this.told(now, count, text);
    guards?.bulkhead?.notifyWaiters();
    return recorded;
  }

  /** The answer of the latest transition. */
  private told<T extends Time>(like: T, count: number, reason?: string): Recorded<Same<T>> {
    const time = (first: boolean) =>
      (typeof like === "bigint" ? stepLong(first) : first ? stepAt() : stepWakeAt()) as Same<T>;
    const step = stepOf(stepCodes(), stepAttempt(), time);
    const notes: Notes = { task: this.task, reason };
    const events: Event[] = [];
    for (let at = 0; at < count; at++) {
      memory().core.event_show(at);
      events.push(shownEvent(notes));
    }
    return { step, events };
  }
}

/** Throws unless they are what they have to be. */
export function checkOptions({ guards, task }: RecorderOptions): void {
  if (guards !== undefined && guards !== null && !(guards instanceof Guards)) {
    throw problem(WRONG_TYPE, "guards", guards);
  }
  if (task !== undefined && task !== null && typeof task !== "string") throw problem(WRONG_TYPE, "task", task);
}

/** How many attempts a policy makes; Infinity for one without end. */
export function attemptsOf(policy: Policy): number {
  loadPolicy(wordsOf(policy));
  const attempts = memory().core.policy_attempts() >>> 0;
  return attempts === 0xffffffff ? Infinity : attempts;
}
