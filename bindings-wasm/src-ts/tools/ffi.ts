/** Reads policies, and makes objects and errors, for the wasm module of tools. */

import { ConfigError, NOT_JSON, problem, shown, WRONG_TYPE } from "../errors.js";
import type { Rules } from "../failure.js";
import { Policy, policyOf as policyFrom } from "../policy.js";
import { type FieldValue, isFields, NUMBER } from "../values.js";
import type { InTime } from "../words.js";
import type { AnyPolicy, Explanation, FromForm, Lint, Row } from "./types.js";

export { isFields };

export const configError = (
  code: number,
  word: string,
  path: string,
  value: unknown,
  unit: string,
  rule: string,
  nearest?: string,
): ConfigError =>
  new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}${unit}`, rule, nearest);

export const policyOf = (value: AnyPolicy): Policy => (value instanceof Policy ? value : new Policy(value));

/** Throws unless it is a policy. */
export function checkPolicy(policy: unknown): Policy {
  if (!(policy instanceof Policy)) throw problem(WRONG_TYPE, "policy", policy);
  return policy;
}

/** The nanoseconds in one where a field is a number: of milliseconds in code; a document has no times without a unit. */
export const unitOf = ({ kind }: FieldValue): number => (kind === NUMBER ? 1e6 : Number.NaN);

export function makePolicy(
  words: Uint32Array,
  limit: number,
  ruleWords: Uint32Array | undefined,
  patterns: string[],
  guardFields: Uint32Array | undefined,
): Policy {
  const rules: Rules | undefined = ruleWords && { words: ruleWords, patterns: [patterns, []] };
  return policyFrom({ words, limit, rules, ...(guardFields && { guardFields }) });
}

export const makeFromForm = (policy: Policy, errorTypes: readonly string[]): FromForm => ({ policy, errorTypes });

export const makeExplanation = (rows: readonly Row[], lints: readonly Lint[], text: string): Explanation => ({
  rows,
  lints,
  toString: () => text,
});

export const makeLint = (
  code: number,
  word: string,
  text: string,
  found: number | undefined,
  limit: number | undefined,
): Lint => ({ code, word, text, found, limit });

export function makeRow(retry: number, inTime: InTime, spans: ArrayLike<number>): Row {
  const [min, typical, max, minTotal, typicalTotal, maxTotal] = Array.from(spans) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { retry, min, typical, max, minTotal, typicalTotal, maxTotal, inTime };
}

/** JSON whose whole numbers keep all their bits: Go writes its longest time as 2^63-1. Other values stay what they are. */
export function parseDocument(document: unknown): unknown {
  if (typeof document !== "string") return document;
  const long = new Map<string, bigint>();
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = document.replace(token, (part) => {
    if (!/^\d{16,19}$/.test(part)) return part;
    const mark = `\u0000${part}`;
    long.set(mark, BigInt(part));
    return JSON.stringify(mark);
  });
  try {
    return JSON.parse(marked, (_, value) => (typeof value === "string" ? (long.get(value) ?? value) : value));
  } catch (cause) {
    throw problem(NOT_JSON, "", document, cause);
  }
}
