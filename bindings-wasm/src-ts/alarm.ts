/** The timer of an operation, and the switches by which the tests of a program shorten operations. */
import { type Clock, LONGEST_NUMBER, LONGEST_TIMER, offset, skip, stoodStill, system } from "./clock.js";

const KEY = Symbol.for("holdoff.switches");

/** Switches of the process, which every copy of this package reads. */
interface Switches {
  /** No operation has more attempts. */
  readonly attempts: number;
  /** True if sleeps end at once. */
  readonly skipsSleeps: boolean;
  /** True if loops bring budgets to policies that name none. */
  readonly bringsBudgets: boolean;
}

export const switches = ((globalThis as { [KEY]?: Switches })[KEY] ??= {
  attempts: Infinity,
  skipsSleeps: false,
  bringsBudgets: true,
});

/** Sets switches. Returns a function that sets them to what they were. */
export function turn(some: Partial<Switches>): () => void {
  const before = { ...switches };
  Object.assign(switches, some);
  return () => void Object.assign(switches, before);
}

/** The operation: it calls what is posted in its own async context, and is woken there. */
interface Owner {
  post(ring: () => void): void;
  wake(now: number): void;
}

export class Alarm {
  readonly clock: Clock;
  private readonly unref: boolean | null | undefined;
  private readonly owner: Owner;
  private timer: unknown = undefined;
  /** The number of timers that were set or cleared: an old one is not heard. */
  private count = 0;
  /** The clock's time, in milliseconds, from which nanoseconds are counted; undefined until the clock is read first. */
  epoch: number | undefined;

  constructor(owner: Owner, clock: Clock, unref: boolean | null | undefined, epoch: number | undefined) {
    this.owner = owner;
    this.clock = clock;
    this.unref = unref;
    this.epoch = epoch;
  }

  /** Nanoseconds since the epoch. A clock that answers nonsense stands still. */
  now(): number {
    const time = this.clock.now();
    this.epoch ??= time;
    const nanos = Math.round((time - this.epoch) * 1e6);
    return nanos > 0 ? Math.min(nanos, LONGEST_NUMBER) : 0;
  }

  get isSet(): boolean {
    return this.timer !== undefined;
  }

  clear(): void {
    this.count++;
    if (this.timer !== undefined) this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** Wakes the owner at that time, or before where a timer cannot be so long. A sleep is skipped where a test has said so. */
  set(at: number, isSleep: boolean): void {
    this.clear();
    if (at === Infinity) return;
    const clock = this.clock;
    const count = this.count;
    if (isSleep && switches.skipsSleeps) this.epoch = (this.epoch as number) - Math.max(at - this.now(), 0) / 1e6;
    const setAt = this.now();
    const offsetAt = offset;
    const milliseconds = Math.min(Math.max(Math.ceil((at - setAt) / 1e6), 0), LONGEST_TIMER);
    const due = Math.min(at, setAt + milliseconds * 1e6);
    const ring = () => {
      if (this.count !== count) return;
      this.timer = undefined;
      let now = this.now();
      // Time that another operation has skipped is not the clock's.
      const skipped = clock === system ? (offset - offsetAt) * 1e6 : 0;
      if (now < due && stoodStill(now - setAt - skipped, due - setAt)) {
        const rest = (due - now) / 1e6;
        if (clock === system) skip(rest);
        else this.epoch = (this.epoch as number) - rest;
        now = due;
      }
      this.owner.wake(now);
    };
    this.timer = clock.setTimeout(() => this.owner.post(ring), milliseconds);
    if (this.unref) (this.timer as { unref?(): void } | undefined)?.unref?.();
  }
}
