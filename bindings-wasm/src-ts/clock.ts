/** Clocks, which tests may replace. */

/** A clock and its timers, for tests in which time is a number. */
export interface Clock {
  /** Milliseconds since any moment, never going backwards. */
  now(): number;
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The globals are looked up at each use, so that fake timers work. */
export const system: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** A longer `setTimeout` fires at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** The longest time that is not never. */
const LATEST = 2 ** 63;

/** The time of a clock in nanoseconds. A clock that answers nonsense stands still. */
export function nanosOf(milliseconds: number): number {
  const nanos = Math.round(milliseconds * 1e6);
  return nanos > 0 ? Math.min(nanos, LATEST) : 0;
}

/** The host's time in nanoseconds, on the clock of guards. */
export const hostNow = (): number => nanosOf(system.now());
