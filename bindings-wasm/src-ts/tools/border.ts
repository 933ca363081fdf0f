/**
 * The border to the second wasm module. As with the first, states are rows of words that JavaScript owns, laid on its desk
 * for a transition; here the module says itself where things lie.
 */
import hex from "../../dist/tools.wasm";
import { encoder } from "../core.js";
import { ConfigError, NOT_A_DURATION, problem, shown } from "../errors.js";
import type { Duration } from "../fields.js";
import { checkTime, parseNanos, type Same, type Time } from "../machine.js";
import { decoded } from "../module.js";

type Numbers = Record<
  | "bucket"
  | "bucket_reserve"
  | "bucket_tokens"
  | "desk"
  | "explain"
  | "explain_rows"
  | "gate"
  | "gate_failure"
  | "gate_forget"
  | "gate_look"
  | "gate_preset"
  | "gate_release_at"
  | "gate_success"
  | "jitter"
  | "layered_begin"
  | "layered_cancel"
  | "layered_fail"
  | "layered_look"
  | "layered_succeed"
  | "layered_tick"
  | "layered_underway"
  | "layered_would_give_up"
  | "layers"
  | "layers_attempts"
  | "layers_go_on"
  | "lints"
  | "pace"
  | "pace_exponential"
  | "pace_jittered"
  | "pace_look"
  | "pace_next"
  | "periodic"
  | "periodic_cancel"
  | "periodic_finish"
  | "periodic_look"
  | "periodic_tick"
  | "resume_call"
  | "resume_retry"
  | "save_call"
  | "save_retry"
  | "saved_bytes"
  | "saved_change"
  | "saved_json"
  | "saved_read"
  | "saved_set"
  | "saved_start"
  | "stepped"
  | "stepped_jitter"
  | "stepped_kubernetes"
  | "stepped_look"
  | "stepped_step",
  (...numbers: number[]) => number
>;

interface Exports extends Numbers {
  memory: { readonly buffer: ArrayBuffer };
  PLACES: { readonly value: number };
}

/** The fields of the desk in their order. */
const FIELDS = [
  "args",
  "problem",
  "step",
  "policy",
  "rules",
  "inner",
  "retry",
  "call",
  "saved",
  "stepped",
  "pace",
  "periodic",
  "gateConfig",
  "gate",
  "bucketConfig",
  "bucket",
  "layers",
  "layered",
  "rows",
  "name",
  "text",
] as const;

type Field = (typeof FIELDS)[number];

interface Desk {
  readonly core: Exports;
  /** Each field as words. */
  readonly words: Record<Field, Uint32Array>;
  readonly longs: BigUint64Array;
  readonly doubles: Float64Array;
  /** Of rows and of a problem. */
  readonly rows: BigUint64Array;
  readonly problem: Float64Array;
  readonly problemSpan: BigUint64Array;
  readonly name: Uint8Array;
  readonly text: Uint8Array;
}

let made: Desk | undefined;

/** The desk of the module, which is compiled on first use. */
export function desk(): Desk {
  return (made ??= make());
}

function make(): Desk {
  const core = new WebAssembly.Instance(new WebAssembly.Module(decoded(hex))).exports as unknown as Exports;
  const { buffer } = core.memory;
  const places = new Uint32Array(buffer, core.PLACES.value, FIELDS.length * 2);
  const begin = core.desk();
  const at = (field: Field): [offset: number, length: number] => {
    const index = FIELDS.indexOf(field) * 2;
    return [begin + (places[index] as number), places[index + 1] as number];
  };
  const view = (field: Field) => {
    const [offset, length] = at(field);
    return new Uint32Array(buffer, offset, length >> 2);
  };
  const words = Object.fromEntries(FIELDS.map((field) => [field, view(field)])) as Desk["words"];
  const [args, argsLength] = at("args");
  const [rows, rowsLength] = at("rows");
  const [wrong] = at("problem");
  return {
    core,
    words,
    longs: new BigUint64Array(buffer, args, argsLength >> 3),
    doubles: new Float64Array(buffer, args, argsLength >> 3),
    rows: new BigUint64Array(buffer, rows, rowsLength >> 3),
    problem: new Float64Array(buffer, wrong, 4),
    problemSpan: new BigUint64Array(buffer, wrong, 4),
    name: new Uint8Array(buffer, ...at("name")),
    text: new Uint8Array(buffer, ...at("text")),
  };
}

/** Lays a state on the desk. */
export const lay = (field: Field, state: Uint32Array): void => desk().words[field].set(state);

/** A state as it lies on the desk. */
export const taken = (field: Field): Uint32Array => desk().words[field].slice();

/** Takes a state back from the desk. */
export const take = (field: Field, state: Uint32Array): void => state.set(desk().words[field]);

/** Lays down a row of spans, times and counts. */
export function give(...numbers: bigint[]): void {
  const { longs } = desk();
  for (const [at, number] of numbers.entries()) longs[at] = number;
}

export function giveDouble(at: number, value: number): void {
  desk().doubles[at] = value;
}

export const got = (at = 0): bigint => desk().longs[at] as bigint;

const FOREVER = (1n << 64n) - 1n;

/** A time or another number of 64 bits on its way in. */
export function exact(value: Time, name: string): bigint {
  checkTime(value, name);
  return value === Infinity ? FOREVER : BigInt(typeof value === "number" ? Math.floor(value) : value);
}

/** On its way out: 2^64-1 is never. */
export const like = <T extends Time>(sample: T, value: bigint): Same<T> =>
  (typeof sample === "bigint" ? value : value === FOREVER ? Infinity : Number(value)) as Same<T>;

/** A time as options have it: milliseconds, text with a unit, or nanoseconds as a bigint. */
export type Length = Duration | bigint;

const LONGEST = (1n << 63n) - 1n;

/** A length of time in nanoseconds; `otherwise` when it is not given. */
export function nanos(value: Length | null | undefined, name: string, otherwise?: bigint): bigint {
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  if (typeof value === "string") {
    const read = parseNanos(value);
    if (read !== undefined) return read;
  } else if (typeof value === "bigint") {
    if (value >= 0n && value <= LONGEST) return value;
  } else if (typeof value === "number" && value >= 0 && value * 1e6 < 2 ** 63) {
    return BigInt(Math.floor(value * 1e6 + 0.5));
  }
  throw problem(NOT_A_DURATION, name, value);
}

/** The same, where `"none"` and, if that is the default, nothing at all are no limit. */
export const limit = (value: Length | null | undefined, name: string, otherwise?: bigint): bigint =>
  value === "none" ? FOREVER : nanos(value, name, otherwise);

export const NO_LIMIT = FOREVER;

function encode(text: string, into: Uint8Array): number {
  const { read, written } = encoder.encodeInto(text, into);
  return read === text.length ? written : encoder.encodeInto("?", into).written;
}

export const writeName = (name: string): number => encode(name, desk().name);
export const writeText = (text: string): number => encode(text, desk().text);

const decoder = new TextDecoder();

/** The text that the core has written. */
export const readText = (length: number): string => decoder.decode(desk().text.subarray(0, length));

/** Throws what is wrong, if so much text says that something is. `name` is what was given, `value` its value. */
export function check(length: number, name = "", value?: unknown): void {
  if (length === 0) return;
  const [word, path, rule, nearest] = readText(length).split("\n") as [string, string, string, string];
  const { words, problem, problemSpan } = desk();
  const [code, given] = words.problem as unknown as [number, number];
  const known = given === 2 ? problem[2] : given === 1 ? `${Number(problemSpan[1]) / 1e6}ms` : undefined;
  const text = value !== undefined ? shown(value) : known;
  throw new ConfigError(code, word, path || name, text === undefined ? "" : ` = ${text}`, rule, nearest || undefined);
}
