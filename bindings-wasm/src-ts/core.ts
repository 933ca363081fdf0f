/**
 * The wasm module of the machines in `machine.ts`: the only file that knows the layout of its memory.
 *
 * A state is a row of 32-bit words that its JavaScript object owns. It is copied into wasm memory before a transition, and back
 * when another state needs the slot, so that nothing in wasm memory belongs to one object for good. Doubles would be
 * quicker to copy but change the bits of what looks like a NaN.
 */
import { make } from "./machine_wasm.js";
import { readLong, writeLong } from "./options.js";

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
const END = 712;

/** The owner of a state. It has the state itself while another state is in the slot. */
export interface Keeper {
  state: Uint32Array | undefined;
}

/** A slot in wasm memory for one state: its offset and length, in words, and the owner of the state in it. */
export interface Slot {
  readonly at: number;
  readonly length: number;
  keeper: Keeper | undefined;
}
const slot = (at: number, length: number): Slot => ({ at, length, keeper: undefined });
const POLICY = slot(18, 64);
export const CALL = slot(82, 14);
export const RETRY = slot(96, 10);
export const SCHEDULE = slot(106, 72);

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
  return core ?? take(make());
}

/** Gives a slot to another owner, and the state in it back to its own. */
export function takeSlot(slot: Slot, keeper?: Keeper): void {
  const before = slot.keeper;
  if (before !== undefined) before.state = copyOut(slot, before.state ?? new Uint32Array(slot.length));
  slot.keeper = keeper;
}

/** Copies a state into its slot, unless it is there. */
export function load(slot: Slot, keeper: Keeper): void {
  if (slot.keeper === keeper) return;
  takeSlot(slot, keeper);
  copyIn(slot, keeper.state as Uint32Array);
}

/** The state of an owner as it is now. */
export function stateOf(slot: Slot, keeper: Keeper): Uint32Array {
  if (slot.keeper === keeper) takeSlot(slot);
  return keeper.state as Uint32Array;
}

/** Nobody asks for this state again. */
export function forget(slot: Slot, keeper: Keeper): void {
  if (slot.keeper === keeper) slot.keeper = undefined;
}

let loaded: Uint32Array | undefined;

/** Lays a policy on the memory, unless it lies there. */
export function loadPolicy(policy: Uint32Array): void {
  if (loaded !== policy) {
    words.set(policy, POLICY.at);
    loaded = policy;
  }
}

function copyIn({ at }: Slot, state: Uint32Array): void {
  for (let i = 0; i < state.length; i++) words[at + i] = state[i] as number;
}

function copyOut({ at }: Slot, state: Uint32Array): Uint32Array {
  for (let i = 0; i < state.length; i++) state[i] = words[at + i] as number;
  return state;
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
