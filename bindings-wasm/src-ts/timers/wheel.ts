/** Timers by their times, and which of them is due next: a timing wheel in a wasm instance of its own. */
import source from "../../dist/wheel.wasm";
import { wrongType } from "../errors.js";
import { exact, like } from "../memory.js";
import { compile } from "../module.js";
import type { Same, Time } from "../times.js";

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  out(): number;
  insert(low: number, high: number): number;
  cancel(low: number, high: number): number;
  pop(low: number, high: number): number;
  next_wake(): number;
  pending(): number;
  clear(): void;
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
export const NONE = -1;
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
  private readonly core: Exports;
  private out: Uint32Array;

  constructor() {
    compiled ??= compile(source);
    this.core = new WebAssembly.Instance(compiled).exports as unknown as Exports;
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

export const full = (): RangeError => new RangeError("there is no room for another timer");
