/** Virtual time. */
import type { Clock } from "../clock.js";

/** The timers of the host, whatever a test makes fake later. */
const { setImmediate, setTimeout } = globalThis as unknown as Record<
  string,
  ((callback: () => void) => void) | undefined
>;
const turn = () => new Promise<void>((resolve) => (setImmediate ?? setTimeout)?.(resolve));

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
      await turn();
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
