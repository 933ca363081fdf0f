/**
 * The memory of guards, which many calls share.
 *
 * A guard's configuration and state are rows of words that its JavaScript object owns, so that nothing is left behind when it is
 * collected. The guards used last stay in wasm memory until others need the place: a program with one set of guards
 * copies nothing.
 */
import source from "../../dist/guards.wasm";
import { NOT_SUPPORTED, problem } from "../errors.js";
import type { EngineStep } from "../host.js";
import { readLong, remap, writeLong } from "../hot.js";
import { ModuleMemory, once } from "../memory.js";
import { GUARDS_FIELDS, type GuardsExports } from "../places.js";
import { NAMES } from "./table.js";

export { NAMES } from "./table.js";

export type GuardName = (typeof NAMES)[number];

type GuardsMemory = ModuleMemory<GuardsExports, (typeof GUARDS_FIELDS)[number]>;

let made: GuardsMemory | undefined;
/** The functions of the module; call `memory()` before the first use. */
export let core: GuardsMemory["core"];

/** The memory of the module, which is compiled on first use. */
export const memory = (): GuardsMemory => made ?? compiled();

function compiled(): GuardsMemory {
  made = new ModuleMemory(make() as GuardsExports, GUARDS_FIELDS);
  core = made.core;
  return made;
}

const BUDGET = 0;
export const BREAKER = 1;
const LIMITER = 2;

/** A guard as wasm memory has it. */
export interface StoredGuard {
  /** Its place in {@link NAMES}. */
  readonly index: number;
  readonly config: Uint32Array;
  /** Its state. */
  readonly words: Uint32Array;
  /** The times of a limiter's log, or the places of a bulkhead's long queue: memory that the guard borrows for its state. */
  readonly storage: Uint32Array | undefined;
}

const CONFIGS = NAMES.map((name) => `${name}Config` as const);

/** The guard that is in wasm memory, for each index. */
const resident: (StoredGuard | undefined)[] = NAMES.map(() => undefined);

/** Reserves memory for that many times. Returns its address. */
function reserveTimes(times: number): number {
  const at = memory().core.reserve(times);
  if (at === 0) throw problem(NOT_SUPPORTED, "limiter.limit", times);
  // Memory that has grown is another buffer.
  if (memory().words.args.length === 0) {
    memory().remap();
    remap();
  }
  return at;
}

const EMPTY_LOG = new Uint32Array(0);
let log = EMPTY_LOG;

/** The log of a limiter in wasm memory. */
function logOf(length: number): Uint32Array {
  const at = reserveTimes(length / 2);
  if (log.byteOffset !== at || log.length < length || log.buffer !== memory().words.args.buffer) {
    log = memory().view(Uint32Array, at, length);
  }
  return log.subarray(0, length);
}

/** The words in wasm memory that a guard borrows. */
const storageOf = ({ length }: Uint32Array, index: number): Uint32Array =>
  index === LIMITER ? logOf(length) : memory().words.queue.subarray(0, length);

function writeBack(guard: StoredGuard): void {
  memory().read(NAMES[guard.index] as GuardName, guard.words);
  guard.storage?.set(storageOf(guard.storage, guard.index));
}

/** Copies a guard into wasm memory, unless it is there. */
export function load(guard: StoredGuard): void {
  const { index } = guard;
  const was = resident[index];
  if (was === guard) return;
  const { words } = memory();
  if (was) writeBack(was);
  words[CONFIGS[index] as (typeof CONFIGS)[number]].set(guard.config);
  words[NAMES[index] as GuardName].set(guard.words);
  if (guard.storage) storageOf(guard.storage, index).set(guard.storage);
  resident[index] = guard;
}

/** Copies all guards of a set into wasm memory. */
export function loadAll({ all }: { readonly all: readonly StoredGuard[] }): void {
  for (const guard of all) load(guard);
}

/** True if nothing is lost when these guards are made anew at that time. */
export function areAtRest(guards: readonly StoredGuard[], now: number): boolean {
  loadAll({ all: guards });
  writeArgument(0, now);
  return memory().core.guards_at_rest(guards.reduce((mask, { index }) => mask | (1 << index), 0)) === 1;
}

/** Copies all guards back: their states are up to date then, and new ones can be made in wasm memory. */
export function clear(): void {
  for (const [index, guard] of resident.entries()) {
    if (guard) writeBack(guard);
    resident[index] = undefined;
  }
}

/**
 * Runs a transition at the time in the first argument with the budget of a loop in the place of other budgets. `capacity` is its
 * capacity in tokens, `floor` the number of the latest refusal of a new one, `noted` that of the call's beginning. Writes its new
 * state, and returns true if it is full.
 */
export function withLoopBudget(
  budget: Uint32Array,
  capacity: number,
  floor: number | undefined,
  noted: number,
  transition: () => void,
): boolean {
  const was = resident[BUDGET];
  if (was) writeBack(was);
  resident[BUDGET] = undefined;
  core.budget_fill(capacity, floor ?? 0);
  if (floor === undefined) memory().write("budget", budget);
  core.call_note(noted);
  transition();
  memory().read("budget", budget);
  return core.budget_full() === 1;
}

/** The state of the guard with that index in wasm memory. */
export const stateAt = (index: number): Uint32Array => memory().copy(NAMES[index] as GuardName);

let loadedPolicy: Uint32Array | undefined;

/** Copies a policy into wasm memory, unless it is there. */
export function loadPolicy(policy: Uint32Array): void {
  if (loadedPolicy !== policy) {
    memory().words.policy.set(policy);
    loadedPolicy = policy;
  }
}

/** Makes the hints of the policy in memory exact for one failure (spec 7.17). */
export function loadExactly(): void {
  core.call_exactly();
  loadedPolicy = undefined;
}

/** The words of the policy in memory, which the core has changed. */
export function readPolicy(): Uint32Array {
  return (loadedPolicy = memory().copy("policy"));
}

const LOW = 4294967296;

/** Writes a whole number, or Infinity for "never". */
export function writeArgument(at: number, value: number): void {
  const { args } = memory().words;
  if (value === Infinity) {
    args[at * 2] = args[at * 2 + 1] = 0xffffffff;
  } else {
    args[at * 2] = value;
    args[at * 2 + 1] = value / LOW;
  }
}

/** Reads a whole number; Infinity for "never". */
export const readArgument = (at: number): number => readLong(memory().words.args, at * 2);

/** The words of the arguments from one on. */
export const argumentsFrom = (at: number): Uint32Array => memory().words.args.subarray(at * 2);

/** A step's numbers: kind, outcome, reason and cause, a byte each. */
export const stepCodes = (): number => memory().words.step[0] as number;

/** The step in memory. */
export function readStep(): EngineStep {
  const { step } = memory().words;
  return { codes: stepCodes(), attempt: step[1] as number, at: readLong(step, 2), wakeAt: readLong(step, 4) };
}

/** The first or the second time of the step, exactly. */
export function stepLong(first: boolean): bigint {
  const { step } = memory().words;
  const at = first ? 2 : 4;
  return (BigInt(step[at + 1] as number) << 32n) | BigInt(step[at] as number);
}

/** Writes the seed of an operation. */
export const writeSeed = (seed: number | bigint): void => writeLong(memory().words.args, 2, seed);

/** A random seed, which is not one of the seeds that `seed` makes repeatable. */
export const randomSeed = (): bigint =>
  (BigInt(Math.floor(Math.random() * 2 ** 32)) << 32n) | BigInt(Math.floor(Math.random() * 2 ** 32));

export const { make, makeLater, checkWasm } = once(source);
