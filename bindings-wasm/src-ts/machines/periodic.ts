/** Periodic loops: Kubernetes' `wait.Backoff`, a loop's backoff that begins again by itself, and the loop around it. */

import { problem, WRONG_TYPE } from "../errors.js";
import { exact, FOREVER, type Length, like, limit, nanos } from "../memory.js";
import { checkSeed } from "../seed.js";
import type { Same, Time } from "../times.js";
import { ANSWERS, type Answer, ENDS, type Ended, TIMERS, type Timer } from "../words.js";
import { memory } from "./memory.js";

type Maybe<T> = T | null | undefined;

/** A backoff that carries its configuration: Kubernetes' `wait.Backoff`. */
export interface WaitBackoffOptions {
  /** The first delay: milliseconds, text with a unit, or nanoseconds as a bigint. */
  duration: Length;
  /** The factor of the duration at each step; 0, unless given, for none. */
  factor?: Maybe<number>;
  /** The part of a delay that jitter may add; 0 unless given. */
  jitter?: Maybe<number>;
  /** How many steps may multiply; none unless given. */
  steps?: Maybe<number | bigint>;
  /** The largest duration; `"none"` unless given. */
  cap?: Maybe<Length>;
}

const LONGEST = (1n << 63n) - 1n;

function count(value: Maybe<number | bigint>, name: string): bigint {
  return value === undefined || value === null ? 0n : exact(value, name);
}

function writeWaitBackoff({ duration, factor, jitter, steps, cap }: WaitBackoffOptions): void {
  const longest = cap === "none" ? LONGEST : nanos(cap, "cap", LONGEST);
  memory().writeNumbers(nanos(duration, "duration"), 0n, 0n, longest, count(steps, "steps"));
  memory().writeDouble(1, factor ?? 0);
  memory().writeDouble(2, jitter ?? 0);
  memory().check(memory().core.wait_backoff());
}

/** How a wait backoff stands. */
export interface WaitBackoffState {
  /** The delay of the next step before jitter, in nanoseconds. */
  readonly duration: bigint;
  /** How many steps may still multiply it. */
  readonly steps: bigint;
  readonly cap: bigint;
  /** True if a step uses its draw. */
  readonly draws: boolean;
}

function readState(draws: number): WaitBackoffState {
  return {
    duration: memory().readNumber(0),
    steps: memory().readNumber(1),
    cap: memory().readNumber(2),
    draws: draws !== 0,
  };
}

/** A delay that is its own state: each step says one and moves on. Exact, in nanoseconds as bigints. */
export class WaitBackoff {
  private readonly words: Uint32Array;

  constructor(options: WaitBackoffOptions) {
    writeWaitBackoff(options);
    this.words = memory().copy("wait_backoff");
  }

  /** From the fields of a Kubernetes `wait.Backoff`, where a jitter, cap or steps that is not positive means none. */
  static kubernetes(fields: {
    duration: Length;
    factor: number;
    jitter: number;
    steps: bigint;
    cap: bigint;
  }): WaitBackoff {
    const { duration, factor, jitter, steps, cap } = fields;
    memory().writeNumbers(nanos(duration, "duration"), 0n, 0n, BigInt.asUintN(64, cap), BigInt.asUintN(64, steps));
    memory().writeDouble(1, factor);
    memory().writeDouble(2, jitter);
    return WaitBackoff.of(memory().core.wait_backoff_kubernetes());
  }

  /** Kubernetes' `wait.Jitter`: the duration and up to `maxFactor` of it more; a factor that is not positive reads as 1. */
  static kubernetesJitter(duration: Length, maxFactor: number): WaitBackoff {
    memory().writeNumbers(nanos(duration, "duration"));
    memory().writeDouble(1, maxFactor);
    return WaitBackoff.of(memory().core.wait_backoff_jitter());
  }

  private static of(problem: number): WaitBackoff {
    memory().check(problem);
    return Object.assign(Object.create(WaitBackoff.prototype) as WaitBackoff, { words: memory().copy("wait_backoff") });
  }

  /** The next delay, for a draw `u` from [0, 1). */
  step(u: number = Math.random()): bigint {
    memory().write("wait_backoff", this.words);
    memory().writeDouble(0, u);
    memory().core.wait_backoff_step();
    memory().read("wait_backoff", this.words);
    return memory().readNumber();
  }

  get state(): WaitBackoffState {
    memory().write("wait_backoff", this.words);
    return readState(memory().core.wait_backoff_look());
  }
}

/** When a loop backoff begins again with its first delay: after so much quiet, or so long after it last did; else never. */
export interface LoopBackoffReset {
  afterQuiet?: Maybe<Length>;
  every?: Maybe<Length>;
}

/** The delays between the runs of something that runs for ever. */
export class LoopBackoff {
  private readonly words: Uint32Array;

  /** The delays of a wait backoff, made at `now`. */
  constructor(backoff: WaitBackoffOptions | WaitBackoff, { afterQuiet, every }: LoopBackoffReset = {}, now: Time = 0) {
    const time = exact(now, "now");
    const [rule, span] =
      afterQuiet !== undefined && afterQuiet !== null
        ? [1, nanos(afterQuiet, "afterQuiet")]
        : every !== undefined && every !== null
          ? [2, nanos(every, "every")]
          : [0, 0n];
    if (backoff instanceof WaitBackoff) memory().write("wait_backoff", backoff["words"]);
    else writeWaitBackoff(backoff);
    memory().writeNumbers(span, time);
    memory().core.loop_backoff(rule);
    this.words = memory().copy("loop_backoff");
  }

  /** Kubernetes' `NewJitteredBackoffManager`. */
  static jittered(period: Length, jitter: number): LoopBackoff {
    memory().writeNumbers(nanos(period, "period"));
    memory().writeDouble(1, jitter);
    return LoopBackoff.of(memory().core.loop_backoff_jittered());
  }

  /** Kubernetes' `NewExponentialBackoffManager`. */
  static exponential(
    options: { initial: Length; max: Length; reset: Length; factor: number; jitter: number },
    now: Time = 0,
  ): LoopBackoff {
    const { initial, max, reset, factor, jitter } = options;
    const spans = [nanos(initial, "initial"), nanos(max, "max"), nanos(reset, "reset")];
    memory().writeNumbers(...spans, 0n, 0n, exact(now, "now"));
    memory().writeDouble(3, factor);
    memory().writeDouble(4, jitter);
    return LoopBackoff.of(memory().core.loop_backoff_exponential());
  }

  /** Kubernetes' `Backoff.DelayWithReset`. */
  static withReset(backoff: WaitBackoff, reset: Length, now: Time = 0): LoopBackoff {
    const [span, time] = [nanos(reset, "reset"), exact(now, "now")];
    memory().write("wait_backoff", backoff["words"]);
    memory().writeNumbers(span, time);
    memory().core.loop_backoff(3);
    return LoopBackoff.of(0);
  }

  private static of(problem: number): LoopBackoff {
    memory().check(problem);
    return Object.assign(Object.create(LoopBackoff.prototype) as LoopBackoff, { words: memory().copy("loop_backoff") });
  }

  /** The delay to wait at `now`, in nanoseconds, for a draw `u` from [0, 1). */
  next<T extends Time>(now: T, u: number = Math.random()): Same<T> {
    memory().writeNumbers(exact(now, "now"));
    memory().writeDouble(1, u);
    memory().write("loop_backoff", this.words);
    memory().core.loop_backoff_next();
    memory().read("loop_backoff", this.words);
    return like(now, memory().readNumber());
  }

  /** Its backoff as it stands. */
  get state(): WaitBackoffState {
    memory().write("loop_backoff", this.words);
    return readState(memory().core.loop_backoff_look());
  }
}

/** How a periodic loop goes about it. */
export interface PeriodicOptions {
  /**
   * Where the time between runs comes from: asked of the loop backoff before each (`"variable"`, unless given), a grid
   * whose mesh is asked once, of whose missed ticks one is kept or none, or nowhere. `"poll"` is what Kubernetes'
   * `Backoff.Timer` takes.
   */
  timer?: Maybe<Timer | "poll">;
  /** True (the default) if an interval begins with the end of a run. */
  sliding?: Maybe<boolean>;
  /** True (the default) if the first run comes before the first interval. */
  immediate?: Maybe<boolean>;
  /** True if an immediate first run takes place even after a cancellation or the deadline. */
  firstIsSure?: Maybe<boolean>;
  /** True if runs end with the steps of the backoff. */
  bySteps?: Maybe<boolean>;
  /** True for one last run when the time is up. */
  lastAtDeadline?: Maybe<boolean>;
  /** How long the whole may take; `"none"` unless given. */
  deadline?: Maybe<Length>;
}

export type PeriodicStep<T extends Time = number> =
  /** Run it, then tell what it found with `finish`. */
  | { readonly kind: "run"; readonly run: number }
  /** Wait until then, then tick. */
  | { readonly kind: "sleep"; readonly until: T }
  /** A run is in flight. */
  | { readonly kind: "wait" }
  | { readonly kind: "stop"; readonly ended: Ended };

const WITH_POLL: readonly string[] = [...TIMERS, "poll"];

/** Something that runs again and again, as a machine: no timer, no clock. */
export class Periodic {
  private readonly words: Uint32Array;

  /** Runs at the intervals of `loop_backoff`, made at `now`, from which a deadline counts. */
  constructor(loopBackoff: LoopBackoff, options: PeriodicOptions, seed: number | bigint, now: Time) {
    const { timer, sliding, immediate, firstIsSure, bySteps, lastAtDeadline, deadline } = options;
    if (!(loopBackoff instanceof LoopBackoff)) throw problem(WRONG_TYPE, "loop_backoff", loopBackoff);
    checkSeed(seed, "seed");
    const which = WITH_POLL.indexOf(timer ?? "variable");
    if (which < 0) throw problem(WRONG_TYPE, "timer", timer);
    memory().writeNumbers(BigInt(seed), exact(now, "now"), limit(deadline, "deadline", FOREVER));
    memory().write("loop_backoff", loopBackoff["words"]);
    const flags = [sliding ?? true, immediate ?? true, firstIsSure, bySteps, lastAtDeadline];
    memory().core.periodic(
      which,
      flags.reduce((sum: number, flag, bit) => sum | (flag ? 1 << bit : 0), 0),
    );
    this.words = memory().copy("periodic");
  }

  /** Nothing but time has passed: begins it, or starts the next run if it is due. */
  tick<T extends Time>(now: T): PeriodicStep<Same<T>> {
    memory().writeNumbers(exact(now, "now"));
    return this.answer(now, memory().core.periodic_tick);
  }

  /** The run with this number ended at `now`. */
  finish<T extends Time>(run: number, now: T, answer: Answer): PeriodicStep<Same<T>> {
    const code = ANSWERS.indexOf(answer, 1);
    if (code < 0) throw problem(WRONG_TYPE, "answer", answer);
    memory().writeNumbers(exact(now, "now"), Number.isSafeInteger(run) && run > 0 ? BigInt(run) : 0n);
    return this.answer(now, () => memory().core.periodic_finish(code));
  }

  /** The caller wants no more of it; a run in flight is the last one. */
  cancel(): PeriodicStep {
    return this.answer(0, memory().core.periodic_cancel);
  }

  /** How many runs there were and how many intervals were asked for, the last of them in nanoseconds, and the deadline. */
  get state(): { runs: number; intervals: number; interval: bigint; deadline: bigint } {
    memory().write("periodic", this.words);
    memory().core.periodic_look();
    return {
      runs: Number(memory().readNumber(0)),
      intervals: Number(memory().readNumber(1)),
      interval: memory().readNumber(2),
      deadline: memory().readNumber(3),
    };
  }

  private answer<T extends Time>(sample: T, ask: () => number): PeriodicStep<Same<T>> {
    memory().write("periodic", this.words);
    const kind = ask();
    memory().read("periodic", this.words);
    switch (kind) {
      case 1:
        return { kind: "run", run: Number(memory().readNumber()) };
      case 2:
        return { kind: "sleep", until: like(sample, memory().readNumber()) };
      case 3:
        return { kind: "wait" };
      default:
        return { kind: "stop", ended: ENDS[Number(memory().readNumber())] as Ended };
    }
  }
}
