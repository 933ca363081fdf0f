/**
 * A million sleepers on one timer of the host's: each of the host's own costs an object, a place in its lists and, in Node, a
 * list for each length of sleep, which jitter makes all different.
 */
import source from "../../dist/wheel.wasm";
import { addAbortListener, removeAbortListener } from "../cancel.js";
import { type Clock, LONGEST_TIMER, system } from "../clock.js";
import { wrongType } from "../errors.js";
import { compile, exact, type Length, like, nanos } from "../memory.js";
import type { WheelExports } from "../places.js";
import type { Same, Time } from "../values.js";

/** How to keep time. */
export interface TimersOptions {
  /** Where time and the one timer come from: the host, unless given. */
  clock?: Clock | null | undefined;
  /** True if sleepers alone do not keep the process running, where the host's timers can be told so (Node, Deno, Bun). */
  unref?: boolean | null | undefined;
}

/** How to sleep. */
export interface SleepOptions {
  /** Ends the sleep, which then rejects with the signal's reason. */
  signal?: AbortSignal | null | undefined;
}

const LOW = 4294967296;
/** So many timers at once are worth giving their memory back. */
const MANY = 1 << 16;
/** The longest span. */
const LONGEST = 2 ** 63;

/** A timer of a {@link Timers}: in its wheel at a place from 0 on, due at `~place`, and over without a callback. */
class Timer {
  callback: (() => void) | undefined;
  place = NONE;
  upper = 0;

  constructor(callback: () => void) {
    this.callback = callback;
  }
}

/**
 * Timers for any number of sleepers, on one timer of the host's. They never fire early, and fire in the order of their
 * times. Sleeps may be as long as one likes. A {@link Clock}, so that retries sleep here:
 * `retry(fn, { clock: timers })`.
 */
export class Timers implements Clock {
  private readonly clock: Clock;
  private readonly unref: boolean;
  /** The clock's time when this was made; the wheel counts nanoseconds from here. */
  private readonly epoch: number;
  private wheel = new Wheel();
  /** The timers by their places. */
  private pending: (Timer | undefined)[] = [];
  /** The due timers, from `next` on not called yet. */
  private due: Timer[] = [];
  private next = 0;
  private count = 0;
  private host: unknown;
  private hostAt = Infinity;
  /** True while callbacks are called; afterwards the host's timer is set anyway. */
  private awake = false;

  constructor({ clock, unref }: TimersOptions = {}) {
    this.clock = clock ?? system;
    this.unref = unref ?? false;
    this.epoch = this.clock.now();
  }

  /** How many sleep. */
  get size(): number {
    return this.count;
  }

  /** Milliseconds of its clock. */
  now(): number {
    return this.clock.now();
  }

  /** Sleeps so long: milliseconds, text with a unit, or nanoseconds as a bigint. */
  sleep(duration: Length, { signal }: SleepOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const long = Number(nanos(duration, "duration"));
      if (signal === undefined || signal === null) {
        this.start(long, resolve);
      } else if (signal.aborted) {
        reject(signal.reason);
      } else {
        let timer: Timer | undefined;
        const wake = () => {
          removeAbortListener(signal, sleeper);
          resolve();
        };
        const cancel = () => {
          this.clearTimeout(timer);
          removeAbortListener(signal, sleeper);
          reject(signal.reason);
        };
        const sleeper = { cancel };
        // First: a value that is no signal throws, and no timer may be left then.
        addAbortListener(signal, sleeper);
        timer = this.start(long, wake);
      }
    });
  }

  /** Calls back after so many milliseconds, or never for Infinity. */
  setTimeout(callback: () => void, milliseconds: number): unknown {
    if (typeof callback !== "function") throw wrongType("callback", callback, "a function");
    return this.start(milliseconds > 0 ? milliseconds * 1e6 : 0, callback);
  }

  /** Takes a timer back; it may have fired already, or be no timer. */
  clearTimeout(timer: unknown): void {
    if (!(timer instanceof Timer) || timer.callback === undefined) return;
    const { place } = timer;
    // A timer of other Timers is not among these. A due timer is not called when its turn comes.
    if ((place < 0 ? this.due[~place] : this.pending[place]) !== timer) return;
    if (place >= 0) {
      this.wheel["core"].cancel(place, timer.upper);
      this.pending[place] = undefined;
    }
    timer.callback = undefined;
    this.count--;
    if (this.count === 0) this.rest();
  }

  private start(long: number, callback: () => void): Timer {
    const timer = new Timer(callback);
    const now = this.nanos();
    const at = long < LONGEST ? Math.min(now + Math.ceil(long), LONGEST) : Infinity;
    const core = this.wheel["core"];
    const place = at === Infinity ? core.insert(-1, -1) : core.insert(at, at / LOW);
    if (place === NONE) throw full();
    timer.place = place;
    timer.upper = this.wheel["look"]()[0] as number;
    this.pending[place] = timer;
    this.count++;
    if (at < this.hostAt && !this.awake) this.arm(at, now);
    return timer;
  }

  /** The one timer wakes this at a time, or sooner where it cannot wait so long. */
  private arm(at: number, now: number): void {
    if (this.host !== undefined) this.clock.clearTimeout(this.host);
    this.hostAt = at;
    const milliseconds = Math.min(Math.max(Math.ceil((at - now) / 1e6), 0), LONGEST_TIMER);
    this.host = this.clock.setTimeout(this.wake, milliseconds);
    if (this.unref) (this.host as { unref?(): void } | undefined)?.unref?.();
  }

  private readonly wake = (): void => {
    this.host = undefined;
    this.hostAt = Infinity;
    this.awake = true;
    try {
      this.collect(this.nanos());
      this.call();
    } finally {
      this.awake = false;
      this.goOn();
    }
  };

  /** Removes all due timers from the wheel first, so that a timer that a callback adds comes after them. */
  private collect(now: number): void {
    const core = this.wheel["core"];
    const [low, high] = [now, now / LOW];
    for (let place = core.pop(low, high); place !== NONE; place = core.pop(low, high)) {
      const timer = this.pending[place] as Timer;
      this.pending[place] = undefined;
      timer.place = ~this.due.length;
      this.due.push(timer);
    }
  }

  /** An error of a callback goes to the host, as from a timer of its own; the others are called by the next turn. */
  private call(): void {
    while (this.next < this.due.length) {
      const timer = this.due[this.next++] as Timer;
      const { callback } = timer;
      if (callback === undefined) continue;
      timer.callback = undefined;
      this.count--;
      callback();
    }
  }

  private goOn(): void {
    if (this.next < this.due.length) {
      this.arm(0, 0);
      return;
    }
    this.due = [];
    this.next = 0;
    if (this.count === 0) this.rest();
    const at = this.wheel.nextWake;
    if (at !== undefined) this.arm(Number(at), this.nanos());
  }

  /** Nobody sleeps: nothing is to keep the process running, and a great many leave no memory behind. */
  private rest(): void {
    if (this.host !== undefined) this.clock.clearTimeout(this.host);
    this.host = undefined;
    this.hostAt = Infinity;
    if (this.pending.length >= MANY) {
      this.wheel = new Wheel();
      this.pending = [];
    }
  }

  /** Nanoseconds since this was made; a clock that answers nonsense stands still. */
  private nanos(): number {
    const nanos = Math.round((this.clock.now() - this.epoch) * 1e6);
    return nanos > 0 ? Math.min(nanos, LONGEST) : 0;
  }
}

/** The key of a timer in its wheel: no other timer has the same key before 2^31 others were inserted. */
export type TimerKey = bigint;

/** A timer that was due. */
export interface Due<T extends Time = number> {
  readonly key: TimerKey;
  readonly at: T;
}

let compiled: WebAssembly.Module | undefined;

/** No timer. */
const NONE = -1;
const HALF = 32n;
const low = (whole: bigint): number => Number(BigInt.asUintN(32, whole));
const high = (whole: bigint): number => Number(whole >> HALF);

/**
 * Timers fire by time, equal times in the order of insertion, and never before their time. Call {@link Wheel.pop} until it gives
 * none, then wait until {@link Wheel.nextWake}. Times are nanoseconds since any moment. A `now` before the latest one reads as
 * that one; 2^64-1, or Infinity, never fires. Each wheel has memory of its own, about 20 bytes a timer and 128 KB at least,
 * which goes when the wheel is collected: a program needs one or few.
 */
export class Wheel {
  private readonly core: WheelExports;
  private out: Uint32Array;

  constructor() {
    compiled ??= compile(source);
    this.core = new WebAssembly.Instance(compiled).exports as unknown as WheelExports;
    this.out = this.look();
  }

  /** Adds a timer. Throws a RangeError when there is no memory for it. */
  insert(at: Time): TimerKey {
    const time = exact(at, "at");
    const index = this.core.insert(low(time), high(time));
    if (index === NONE) throw full();
    return this.key(index);
  }

  /** Takes a timer away: whether it was pending. */
  cancel(key: TimerKey): boolean {
    if (typeof key !== "bigint") throw wrongType("key", key, "a bigint");
    return key === BigInt.asUintN(64, key) && this.core.cancel(low(key), high(key)) !== 0;
  }

  /** Takes the next timer that is due at `now`. */
  pop<T extends Time>(now: T): Due<Same<T>> | undefined {
    const time = exact(now, "now");
    const index = this.core.pop(low(time), high(time));
    if (index === NONE) return undefined;
    return { key: this.key(index), at: like(now, this.time) };
  }

  /** When the next timer is due; undefined when there is none, or none that ever fires. */
  get nextWake(): bigint | undefined {
    return this.core.next_wake() === 0 ? undefined : this.time;
  }

  /** How many timers are pending. */
  get size(): number {
    return this.core.pending();
  }

  /** Cancels all timers. */
  clear(): void {
    this.core.clear();
  }

  /** A number below the most timers that there ever were at once, which no other pending timer has: for an array. */
  static index(key: TimerKey): number {
    return low(key);
  }

  /** The results in the module's memory: the upper half of a key, and the two halves of a time. */
  private look(): Uint32Array {
    const { memory, out } = this.core;
    // Memory that has grown is another buffer.
    if (this.out === undefined || this.out.length === 0) this.out = new Uint32Array(memory.buffer, out(), 3);
    return this.out;
  }

  private key(index: number): TimerKey {
    return (BigInt(this.look()[0] as number) << HALF) | BigInt(index);
  }

  private get time(): bigint {
    const out = this.look();
    return (BigInt(out[2] as number) << HALF) | BigInt(out[1] as number);
  }
}

const full = (): RangeError => new RangeError("there is no room for another timer");
