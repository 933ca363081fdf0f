/** The memory of operations without guards. It holds one policy, and the state of one operation at a time. */

import * as At from "./places.js";
import * as Field from "./table.js";
import type { Nanos } from "./values.js";

const FOREVER = 2 ** 32 - 1;

/** A number that is handed to the core: the field and the value. */
export type Given = readonly [field: number, value: Nanos];

/** True for a field whose number is no whole one. */
export const isReal = (field: number | undefined): boolean =>
  field === Field.BACKOFF_FACTOR || field === Field.BACKOFF_EXPONENT || field === Field.JITTER_FACTOR;

/** Writes 64 bits as two words. */
export function writeLong(words: Uint32Array, at: number, value: Nanos): void {
  if (typeof value === "bigint") {
    words[at] = Number(BigInt.asUintN(32, value));
    words[at + 1] = Number(value >> 32n);
  } else {
    // Infinity is written as 2^64-1.
    words[at] = value === Infinity ? FOREVER : value;
    words[at + 1] = value === Infinity ? FOREVER : value / 2 ** 32;
  }
}

/** Writes the number of a field. */
export function writeNumber(words: Uint32Array, at: number, field: number, value: Nanos): void {
  if (isReal(field)) words.set(new Uint32Array(new Float64Array([Number(value)]).buffer), at);
  else writeLong(words, at, value);
}

/** Two words as a number; 2^64-1 is Infinity. Above 2^53 it is the nearest double. */
export function readLong(words: Uint32Array, at: number): number {
  const low = words[at] as number;
  const high = words[at + 1] as number;
  return low === FOREVER && high === FOREVER ? Infinity : high * 2 ** 32 + low;
}

/** The owner of a state, which it holds while the slot has the state of another owner. */
export interface StateOwner {
  state: Uint32Array | undefined;
}

/**
 * A place in wasm memory for one state at a time. A state is a row of 32-bit words that its JavaScript object owns; it is copied there
 * before a transition, and back when another one needs the slot, so that nothing in wasm memory belongs to one object for good.
 */
export class Slot {
  readonly #memory: () => Uint32Array;
  readonly #at: number;
  readonly #length: number;
  #owner: StateOwner | undefined;

  /** `at` and `length` are in words of the memory. */
  constructor(memory: () => Uint32Array, at: number, length: number) {
    this.#memory = memory;
    this.#at = at;
    this.#length = length;
  }

  /** Puts the state there back to its owner, and this owner's there if it has begun. */
  load(owner: StateOwner | undefined): void {
    const before = this.#owner;
    const at = this.#at;
    const length = this.#length;
    if (before === owner) return;
    const words = this.#memory();
    if (before) copy((before.state ??= new Uint32Array(length)), 0, words, at, length);
    if (owner?.state) copy(words, at, owner.state, 0, length);
    this.#owner = owner;
  }

  /** The state of an owner as it is now. */
  stateOf(owner: StateOwner): Uint32Array {
    if (this.#owner === owner) this.load(undefined);
    return owner.state as Uint32Array;
  }

  /** Nobody asks for this state again. */
  forget(owner: StateOwner): void {
    if (this.#owner === owner) this.#owner = undefined;
  }
}

/** Copies words. Copying doubles would be quicker, but changes the bits of a NaN. */
function copy(into: Uint32Array, at: number, from: Uint32Array, first: number, length: number): void {
  for (let i = 0; i < length; i++) into[at + i] = from[first + i] as number;
}

/** Its functions; `hot()` before the first use. */
export let functions: At.HotExports;
let words: Uint32Array;

function take(exports: object): At.HotExports {
  functions = exports as At.HotExports;
  remap();
  return functions;
}

/** Finds the memory: at first, and again after it has grown for the log of a limiter. */
export function remap(): void {
  if (functions) words = new Uint32Array(functions.memory.buffer, functions.hot(), At.WORDS);
}

/** A wasm module that has these functions. */
export interface Module {
  make(): object;
  makeLater(): Promise<object>;
  /** Throws where it cannot be made. */
  checkWasm(): void;
  /** The most that a policy may need of it: 0, 1 for the backoffs that need a power function, or 2 for rules beside them. */
  readonly has: number;
}

let module: Module;
const brought: Module[] = [];

/** Brings the module of an entry: that of `holdoff`, or a larger one. The first one stays until a policy needs more. */
export function bring(entry: Omit<Module, "has">, has = 0): void {
  const by = { ...entry, has };
  module ??= by;
  brought.push(by);
}

/** Throws where no module can be made, so that an operation ends before its first attempt. */
export const checkModule = (): void => module.checkWasm();

/** Takes a module that has what a policy needs. Returns false if no imported entry has one. */
export function takeModule(needs: number): boolean {
  if (module.has >= needs) return true;
  const larger = brought.find(({ has }) => has >= needs);
  if (larger === undefined) return false;
  module = larger;
  // The owners of the states in the old module's memory take them along.
  call.load(undefined);
  budget.load(undefined);
  functions = policy = undefined as never;
  return true;
}

/** The module, compiled on first use: an import that is never used costs nothing. */
export const hot = (): At.HotExports => functions ?? take(module.make());

/**
 * Compiles the module without blocking. Never needed, except in browsers that refuse to compile more than 4 KB at once on
 * their main thread (Chrome before 115): await it there before anything else.
 */
export async function init(): Promise<void> {
  if (functions === undefined) {
    const exports = await module.makeLater();
    if (functions === undefined) take(exports);
  }
}

/** Writes a number of 64 bits. */
export const write = (at: number, value: Nanos): void => writeLong(words, at, value);

let policy: Uint32Array | undefined;

/** Writes a policy, unless it is there. */
export function writePolicy(wanted: Uint32Array): void {
  if (policy !== wanted) {
    words.set(wanted, At.POLICY);
    policy = wanted;
  }
}

/** The words of the policy that is in the memory now. */
const madePolicy = (): Uint32Array => (policy = words.slice(At.POLICY, At.POLICY + At.POLICY_WORDS));

/** The policy of these numbers, as the core has it. */
export function policyOf(given: readonly Given[]): Uint32Array {
  hot().begin();
  for (const [field, value] of given) {
    writeNumber(words, At.SEED, field, value);
    functions.give(field);
  }
  functions.given();
  return madePolicy();
}

/** The same policy with another deadline. */
export function wordsWithDeadline(wanted: Uint32Array, deadline: Nanos): Uint32Array {
  hot();
  writePolicy(wanted);
  write(At.SEED, deadline);
  functions.give(Field.DEADLINE);
  functions.given();
  return madePolicy();
}

/** Writes the policy under which a hint is the delay (spec 7.17). */
export function writeExactly(wanted: Uint32Array): void {
  writePolicy(wanted);
  functions.exactly();
  policy = undefined;
}

/** The call in the memory. */
export const call = new Slot(() => words, At.CALL, At.CALL_WORDS);

/** Kind, outcome, reason and cause of the step, a byte each from the lowest. */
export const stepCodes = (): number => words[At.STEP] as number;

/** The step in the memory. A time of Infinity is never. */
export const readStep = () => ({
  codes: stepCodes(),
  at: readLong(words, At.STEP + 2),
  wakeAt: Infinity,
  attempt: words[At.STEP + 1] as number,
});

/** The budget in the memory. */
export const budget = new Slot(() => words, At.BUDGET, At.BUDGET_WORDS);

/** The number of the latest refusal of the budget in the memory. */
export const readRefusals = (): number => words[At.BUDGET + At.REFUSALS] as number;

/** The words in which the core says why the budget refused a retry. */
export const readShortage = (): Uint32Array => words.subarray(At.SHORTAGE, At.SHORTAGE + At.SHORTAGE_WORDS);
