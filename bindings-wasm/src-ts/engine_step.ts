/** The steps of an operation, and the engine that decides them. */
import type { Attempt } from "./attempt.js";
import type { JudgedFailure } from "./failure.js";
import type { Work } from "./host.js";
import type { StopReason } from "./words.js";

/** The numbers of steps and of the outcome of an operation that failed. */
export const ATTEMPT = 1;
export const SLEEP = 2;
export const WAIT = 3;
export const STOP = 4;
export const GAVE_UP = 2;

/** The next step of an operation. Times are in nanoseconds of the operation's clock. */
export interface Step {
  /** The numbers of the step, the outcome, the reason and the cause, a byte each. */
  readonly codes: number;
  /** When to abort the attempt, or until when to sleep. */
  readonly at: number;
  /** When to tick although an attempt runs. */
  readonly wakeAt: number;
  /** The number of the attempt. */
  readonly attempt: number;
}

/** The state of one operation and what decides about it: the core's call, with or without guards. */
export interface Engine {
  /** True if a sleeping operation never returns the value of its last attempt, so that the value can be discarded. */
  readonly discardsAsleep: boolean;
  begin(): Step;
  /**
   * Reports a failure: an error, or a value that is no success. `epoch` is the clock's time at time 0, in milliseconds. With `isExact`
   * the hint is the delay, whatever the policy does about hints.
   */
  fail(attempt: Attempt, judged: JudgedFailure, failure: unknown, now: number, epoch: number, isExact: boolean): Step;
  /** Reports an error of the program's own; undefined where it is a failure like others. */
  abandon(attempt: number, error: unknown, now: number): Step | undefined;
  succeed(attempt: number): void;
  tick(now: number): Step;
  /** The same, where the caller wants a sleep to end now; those for the server or a guard go on. */
  hurry(now: number): Step;
  /** The length of the sleep that was just decided, in nanoseconds. */
  delay(step: Step): number;
  /** Makes the context of an attempt, and runs the attempt in it. */
  context(attempt: number, abortAt: number): Attempt;
  run<T>(fn: Work<T>, context: Attempt): T;
  /** Is told each step that the operation follows. */
  follows(step: Step): void;
  /** Says why the budget refused the retry that was just asked for; undefined for a budget that has no tokens. */
  shortage(): string | undefined;
  /** The error of an operation that ended before its first attempt. */
  refused(reason: StopReason, retryAt: number | undefined): unknown;
  /** Gives back whatever the operation has borrowed. */
  end(): void;
}
