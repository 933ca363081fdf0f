/** Clocks, which tests may replace. */

/** A clock and its timers, for tests in which time is a number. */
export interface Clock {
  /** Milliseconds since any moment, never going backwards. */
  now(): number;
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Words for the end of the error of an attempt over its limit. */
  readonly note?: string;
}

/** The time of {@link system} beyond that of the host's clock, and its latest time. */
export let offset = 0;
let latest = 0;

/** Lets time pass that the host's clock has not seen, in milliseconds: a timer fired and the clock stood still. */
export function skip(milliseconds: number): void {
  offset += milliseconds;
}

/**
 * The host's clock and timers. The globals are looked up at each use, so that fake timers work. Guards outlive a test: if the clock
 * goes back by more than a second, it is another clock that has begun at 0 after the latest time. By less, time stands still.
 */
export const system: Clock = {
  now() {
    const time = performance.now();
    const back = latest - time - offset;
    if (back > 0) offset = back > 1000 ? latest : latest - time;
    return (latest = time + offset);
  },
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** True if a clock has hardly moved while a timer ran: it is not the timer's, because tests fake the one and not the other. */
export const stoodStill = (passed: number, wait: number): boolean => passed < wait / 10;

/** A longer `setTimeout` fires at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** The longest time that is not never: the nearest double of 2^63-1 nanoseconds. */
export const LONGEST_NUMBER = 2 ** 63;

/** The time of a clock in nanoseconds. A clock that answers nonsense stands still. */
export function nanosOf(milliseconds: number): number {
  const nanos = Math.round(milliseconds * 1e6);
  return nanos > 0 ? Math.min(nanos, LONGEST_NUMBER) : 0;
}

/** The host's time in nanoseconds, on the clock of guards. */
export const hostNow = (): number => nanosOf(system.now());
