/** The memory of operations without guards: one operation's call lies there at a time, under one policy. */

import { type Given, isReal, readLong, writeLong } from "./options.js";
import {
  BUDGET,
  BUDGET_WORDS,
  CALL_AT,
  CALL_WORDS,
  POLICY,
  POLICY_WORDS,
  REFUSALS,
  SEED,
  SHORTAGE,
  SHORTAGE_WORDS,
  STEP,
  WORDS,
} from "./places.js";
import { Slot } from "./slot.js";
import { DEADLINE } from "./table.js";
import type { Nanos } from "./times.js";
import { bareCopy } from "./values.js";

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  hot(): number;
  begin(): void;
  give(rule: number, field: number): void;
  given(): void;
  exactly(): void;
  advised(kind: number, shouldRetry: number, safe: number): number;
  underway(): void;
  fail(attempt: number, kind: number): void;
  tick(): void;
  hurry(): void;
  brings_budget(): number;
  fill(refusals: number): void;
  withdraw(kind: number): number;
  refund(price: number): number;
  reward(price: number): number;
}

/** Its functions; `hot()` before the first use. */
export let functions: Exports;
let words: Uint32Array;

function take(exports: object): Exports {
  functions = exports as Exports;
  remap();
  return functions;
}

/** Finds the memory: at first, and again after it has grown for the log of a limiter. */
export function remap(): void {
  if (functions) words = new Uint32Array(functions.memory.buffer, functions.hot(), WORDS);
}

/** A wasm module that has these functions. */
export interface Module {
  make(): object;
  makeLater(): Promise<object>;
  /** Throws where it cannot be made. */
  checkWasm(): void;
  /** True if it has the backoffs that need a power function. */
  readonly powers?: boolean;
  /** True if it has rules; then it has powers, too. */
  readonly rules?: boolean;
}

let module: Module;
const brought: Module[] = [];

/** Brings the module of an entry: that of `holdoff`, or a larger one. The first one stays until a policy needs more. */
export function bring(entry: Module): void {
  const by = bareCopy(entry);
  module ??= by;
  brought.push(by);
}

/** Throws where no module can be made, so that an operation ends before its first attempt. */
export const checkModule = (): void => module.checkWasm();

/** Makes sure that the module has what a policy needs; false if no entry has brought such a module. */
export function takeModule(needs: "powers" | "rules"): boolean {
  if (module[needs]) return true;
  const larger = brought.find((by) => by[needs]);
  if (larger === undefined) return false;
  module = larger;
  // The owners of the states in the old module's memory take them along.
  call.load(undefined);
  budget.load(undefined);
  functions = policy = undefined as never;
  return true;
}

/** The module, compiled on first use: an import that is never used costs nothing. */
export const hot = (): Exports => functions ?? take(module.make());

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
    words.set(wanted, POLICY);
    policy = wanted;
  }
}

/** The words of the policy that is in the memory now. */
const madePolicy = (): Uint32Array => (policy = words.slice(POLICY, POLICY + POLICY_WORDS));

/** The policy of these numbers, as the core has it. */
export function policyOf(given: readonly Given[]): Uint32Array {
  hot().begin();
  for (const [rule, field, value] of given) {
    if (isReal(field)) words.set(new Uint32Array(new Float64Array([Number(value)]).buffer), SEED);
    else write(SEED, value);
    functions.give(rule, field);
  }
  functions.given();
  return madePolicy();
}

/** The same policy with another deadline. */
export function redated(wanted: Uint32Array, deadline: Nanos): Uint32Array {
  hot();
  writePolicy(wanted);
  write(SEED, deadline);
  functions.give(0, DEADLINE);
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
export const call = new Slot(() => words, CALL_AT, CALL_WORDS);

/** Kind, outcome, reason and cause of the step, a byte each from the lowest. */
export const stepCodes = (): number => words[STEP] as number;

/** The step in the memory. A time of Infinity is never. */
export const readStep = () => ({
  codes: stepCodes(),
  at: readLong(words, STEP + 2),
  wakeAt: Infinity,
  attempt: words[STEP + 1] as number,
});

/** The budget in the memory. */
export const budget = new Slot(() => words, BUDGET, BUDGET_WORDS);

/** The number of the latest refusal of the budget in the memory. */
export const readRefusals = (): number => words[BUDGET + REFUSALS] as number;

/** The words in which the core says why the budget refused a retry. */
export const readShortage = (): Uint32Array => words.subarray(SHORTAGE, SHORTAGE + SHORTAGE_WORDS);
