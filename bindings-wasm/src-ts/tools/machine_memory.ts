/** The wasm module of the machines in `machine.ts`: the only file that knows the layout of its memory. */
import machine from "../../dist/machine.wasm";
import { once } from "../module.js";
import { readLong, writeLong } from "../options.js";
import { Slot } from "../slot.js";

interface Exports {
  memory: { readonly buffer: ArrayBuffer };
  address(): number;
  call_begin(): void;
  call_underway(): void;
  call_succeed(): void;
  call_fail(kind: number): void;
  call_tick(): void;
  call_cancel(): void;
  retry_start(): void;
  retry_fail(kind: number): void;
  schedule_start(): void;
  schedule_next(): number;
  schedule_next_at(kind: number): number;
  base_at(n: number): void;
}

/** The functions of the core; `wasm()` before the first use. */
export let core: Exports;
let words: Uint32Array;
let longs: BigUint64Array;
let doubles: Float64Array;

// Offsets of fields in units of their own size; the module asserts the same numbers.
export const SEED = 0;
export const TICKET = 1;
export const NOW = 2;
export const SPAN = 3;
const NUMBER = 4;
const STEP = 10;
export const AT = 6;
export const WAKE_AT = 7;
const END = 5200;

/** A bundler leaves it out where nobody needs it. */
const slot = (at: number, length: number) => new Slot(() => words, at, length);
const POLICY = 16;
export const CALL = /* @__PURE__ */ slot(630, 20);
export const RETRY = /* @__PURE__ */ slot(650, 16);
export const SCHEDULE = /* @__PURE__ */ slot(666, 634);

function take(exports: object): Exports {
  core = exports as Exports;
  const { buffer } = core.memory;
  const at = core.address();
  // The memory never grows: there is no allocator.
  words = new Uint32Array(buffer, at, END >> 2);
  longs = new BigUint64Array(buffer, at, END >> 3);
  doubles = new Float64Array(buffer, at, END >> 3);
  return core;
}

/** The core, compiled on first use: an import that is never used costs nothing. */
export function wasm(): Exports {
  return core ?? take(once(machine).make());
}

let loaded: Uint32Array | undefined;

/** Lays a policy on the memory, unless it lies there. */
export function loadPolicy(policy: Uint32Array): void {
  if (loaded !== policy) {
    words.set(policy, POLICY);
    loaded = policy;
  }
}

/** Writes a full number from 0 to 2^53, or Infinity for "never". */
export const writeNumber = (field: number, value: number): void => writeLong(words, field * 2, value);

/** Reads a number; "never" is Infinity. Above 2^53 it is the nearest double. */
export const readNumber = (field: number): number => readLong(words, field * 2);

export function writeBigint(field: number, value: bigint): void {
  longs[field] = value;
}

export function readBigint(field: number): bigint {
  return longs[field] as bigint;
}

export function writeDouble(value: number): void {
  doubles[NUMBER] = value;
}

/** Kind, outcome, reason and cause of the step, a byte each from the lowest. */
export function stepCodes(): number {
  return words[STEP] as number;
}

export function stepAttempt(): number {
  return words[STEP + 1] as number;
}
