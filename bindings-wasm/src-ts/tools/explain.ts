/** Explanations of policies, for people. */

import { COUNT_RANGE, problem, WRONG_TYPE } from "../errors.js";
import { kindOf } from "../failure.js";
import type { PolicyFields, PresetName } from "../fields.js";
import { writeGuardFields } from "../guards/builder.js";
import { wordsOf } from "../machine.js";
import { FOREVER, type Length, nanos } from "../memory.js";
import { Policy } from "../policy.js";
import { type FailureKind, IN_TIME, type InTime } from "../words.js";
import { memory } from "./memory.js";

/** One retry: what is waited before it and until then in all, in milliseconds, if attempts take no time. */
export interface Row {
  /** Which, from 1. */
  readonly retry: number;
  /** The shortest delay, whatever the draws before. */
  readonly min: number;
  /** The delay when every draw is 1/2. */
  readonly typical: number;
  readonly max: number;
  readonly minTotal: number;
  readonly typicalTotal: number;
  readonly maxTotal: number;
  /** The place of the retry before or after the deadline. */
  readonly inTime: InTime;
}

/** Something valid that is hardly meant. */
export interface Lint {
  /** Its number, the same in every language. */
  readonly code: number;
  /** The word for it, such as `no_jitter`. */
  readonly word: string;
  readonly text: string;
  /** The number in the policy, and the limit it is compared with; times in milliseconds. */
  readonly found: number | undefined;
  readonly limit: number | undefined;
}

/** An explanation: its rows as data, and everything as text. */
export interface Explanation {
  readonly rows: readonly Row[];
  readonly lints: readonly Lint[];
  /** The policy in words, a table of its retries, and what the linter says. The same text in every language. */
  toString(): string;
}

type AnyPolicy = Policy | PolicyFields | PresetName;

/** Writes a policy and its guards into the module's memory. */
function writeAny(values: AnyPolicy): void {
  const policy = values instanceof Policy ? values : new Policy(values);
  memory().write("policy", wordsOf(policy));
  writeGuardFields(memory(), policy.guardFields ?? []);
}

const AS_USUAL = 0xffffffff;
/** The most rows in the module's memory. */
const ROWS = 128;
const COLUMNS = 8;

/**
 * Explains a policy, its fields or a preset: at most `rows` retries (all of them up to 100, 10 of one without an end), after
 * failures of the kind `after` (transient, and in the text every kind that has delays of its own).
 */
export function explain(policy: AnyPolicy, options: { rows?: number; after?: FailureKind } = {}): Explanation {
  const { rows = AS_USUAL, after } = options;
  if (!(Number.isInteger(rows) && rows >= 0 && rows <= AS_USUAL)) throw problem(WRONG_TYPE, "rows", rows);
  const kind = after === undefined ? 0 : kindOf(after);
  writeAny(policy);
  const { core } = memory();
  const text = memory().readText(core.explain(rows, kind));
  const found: Row[] = [];
  let count = 0;
  do {
    count = core.explain_rows(rows, kind, found.length);
    for (let row = 0; row < count; row++) found.push(readRow(row * COLUMNS));
  } while (count === ROWS);
  return { rows: found, lints: readLints(FOREVER), toString: () => text };
}

function readRow(from: number): Row {
  const { buffer, byteOffset } = memory().words.rows;
  const numbers = Array.from(new BigUint64Array(buffer, byteOffset + from * 8, COLUMNS), Number);
  const [min, typical, max, minTotal, typicalTotal, maxTotal] = numbers.map((nanos) => nanos / 1e6) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [retry, inTime] = numbers.slice(6) as [number, 1];
  return { retry, min, typical, max, minTotal, typicalTotal, maxTotal, inTime: IN_TIME[inTime] as InTime };
}

/** The lints of a policy, its fields or a preset, for a caller that waits `within` at most. */
export function lints(policy: AnyPolicy, options: { within?: Length } = {}): Lint[] {
  const within = nanos(options.within, "within", FOREVER);
  writeAny(policy);
  return readLints(within);
}

/**
 * The lint of nested retries, the outermost first: their attempts multiply. `found`
 * is how often the innermost operation runs at most, undefined for ever.
 */
export function lintNested(policies: readonly AnyPolicy[]): Lint | undefined {
  for (const [at, policy] of policies.entries()) {
    writeAny(policy);
    if (memory().core.nest(at) === 0) throw problem(COUNT_RANGE, "policies", policies.length);
  }
  return readLines(memory().core.lint_nested(policies.length))[0];
}

/**
 * How long all sleeps take together if no draw spreads them, in milliseconds; undefined without an end. The deadline is not
 * looked at.
 */
export function totalWait(policy: AnyPolicy): number | undefined {
  const total = totalWaitNanos(policy);
  return total === undefined ? undefined : Number(total) / 1e6;
}

/** The same in exact nanoseconds. */
export function totalWaitNanos(policy: AnyPolicy): bigint | undefined {
  writeAny(policy);
  return memory().core.total_wait() === 0 ? undefined : memory().readNumber();
}

const LINES = 5;

function readLints(within: bigint): Lint[] {
  memory().writeNumbers(within);
  return readLines(memory().core.lints());
}

function readLines(length: number): Lint[] {
  const lines = memory().readText(length).split("\n");
  const plain = (text = "") =>
    text === "" ? undefined : text.startsWith("t") ? Number(text.slice(1)) / 1e6 : Number(text.slice(1));
  const found: Lint[] = [];
  for (let at = 0; at + LINES <= lines.length; at += LINES) {
    const [code, word, text, what, limit] = lines.slice(at, at + LINES) as [string, string, string, string, string];
    found.push({ code: Number(code), word, text, found: plain(what), limit: plain(limit) });
  }
  return found;
}

/** The names of the presets. */
export const presets = (): PresetName[] =>
  memory().readText(memory().core.presets()).trimEnd().split("\n") as PresetName[];
