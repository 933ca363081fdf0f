/** For tests of programs that retry. Each switch is one of the whole process, and returns a function that ends it. */
import { turn } from "../alarm.js";
import type { Clock } from "../clock.js";
import { ATTEMPTS_RANGE } from "../codes.js";
import { problem, wrongType } from "../errors.js";

/** No retries: one attempt for each operation, as if nothing was wrapped. Guards and time limits stay. */
export const disabled = (): (() => void) => turn({ attempts: 1 });

/** At most so many attempts for each operation, the first one included, and no waits between them. */
export function limited(attempts: number): () => void {
  if (!Number.isInteger(attempts) || attempts < 1) throw problem(ATTEMPTS_RANGE, "attempts", attempts);
  return turn({ attempts, skipsSleeps: true });
}

/**
 * No budget for policies that name none: a suite that lets many calls fail would spend the budget of a policy that they share, and its
 * last tests would get no retries.
 */
export const withoutBudgets = (): (() => void) => turn({ bringsBudgets: false });

/** A function that fails in its first calls, and counts its calls. */
export interface Failing<Args extends readonly unknown[], R> {
  (...args: Args): R;
  /** The number of calls so far. */
  calls: number;
}

/** A function that throws the error in its first calls, and then does what `fn` does, or returns undefined. */
export function failing(times: number, error: unknown): Failing<readonly unknown[], undefined>;
export function failing<Args extends readonly unknown[], R>(
  times: number,
  error: unknown,
  fn: (...args: Args) => R,
): Failing<Args, R>;
export function failing(times: number, error: unknown, fn?: (...args: readonly unknown[]) => unknown): unknown {
  if (fn !== undefined && typeof fn !== "function") throw wrongType("fn", fn, "a function");
  const call: Failing<readonly unknown[], unknown> = (...args) => {
    call.calls++;
    if (call.calls <= times) throw error;
    return fn?.(...args);
  };
  call.calls = 0;
  return call;
}

/** The timers of the host, whatever a test makes fake later. */
const { setImmediate, setTimeout } = globalThis as unknown as Record<
  string,
  ((callback: () => void) => void) | undefined
>;
const macrotask = () => new Promise<void>((resolve) => (setImmediate ?? setTimeout)?.(resolve));

/**
 * A clock for the option `clock`, on which time passes only while everybody waits for it: hours take no time. It does not know of real
 * I/O: an attempt with a limit that waits for a socket is over its limit at once.
 */
export class VirtualClock implements Clock {
  /** The time, in milliseconds. A test may move it. */
  time = 0;
  readonly note = " by virtual time, which does not wait for real I/O";
  /** The timers that are set. */
  readonly timers = new Map<unknown, { readonly at: number; readonly callback: () => void }>();
  private next = 1;

  now = (): number => this.time;

  setTimeout = (callback: () => void, milliseconds: number): unknown => {
    this.timers.set(this.next, { at: this.time + milliseconds, callback });
    return this.next++;
  };

  clearTimeout = (timer: unknown): void => {
    this.timers.delete(timer);
  };

  /** Lets time pass from timer to timer until the promise settles. Rejects if no timer is set that could settle it. */
  async settled<T>(promise: Promise<T>): Promise<T> {
    let isOpen = true;
    const close = () => {
      isOpen = false;
    };
    promise.then(close, close);
    for (;;) {
      await macrotask();
      if (!isOpen) return promise;
      if (!this.fire()) throw new Error("the promise is pending, and no timer is set");
    }
  }

  /** Moves to the next timer; false when there is none. */
  private fire(): boolean {
    const [first] = [...this.timers].sort(([, a], [, b]) => a.at - b.at);
    if (first === undefined) return false;
    const [timer, { at, callback }] = first;
    this.timers.delete(timer);
    this.time = Math.max(this.time, at);
    callback();
    return true;
  }
}
