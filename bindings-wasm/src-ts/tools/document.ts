/** Policies as text: our own document, and what other systems write. */

import { NOT_JSON, problem, UNKNOWN_WORD, WRONG_TYPE } from "../errors.js";
import type { Rules } from "../failure.js";
import { writeGuardFields } from "../guards/builder.js";
import { wordsOf } from "../machine.js";
import { FOREVER } from "../memory.js";
import { type Policy, policyOf } from "../policy.js";
import { collect, type FieldValue, LIST, NUMBER, TEXT } from "../values.js";
import type { FormName } from "../words.js";
import { memory } from "./memory.js";

/** The policy as a JSON document, which is the same in every language and reads back to the same policy. */
export function toJson(policy: Policy): string {
  writePolicy(policy);
  const text = memory().readText(memory().core.document());
  const rules = policy.rules;
  if (rules === undefined) return text;
  const document = JSON.parse(text) as { retry_on: Lists & { non_idempotent?: Lists } };
  const [all, nonIdempotent] = rules.patterns;
  if (document.retry_on.patterns) document.retry_on.patterns = all;
  if (document.retry_on.non_idempotent?.patterns) document.retry_on.non_idempotent.patterns = nonIdempotent;
  return JSON.stringify(document);
}

interface Lists {
  patterns?: readonly string[];
}

const NO_RULES = new Uint32Array(40);

function writePolicy(policy: Policy): void {
  memory().write("policy", wordsOf(policy));
  memory().write("rules", policy.rules?.words ?? NO_RULES);
  writeGuardFields(memory(), policy.guardFields ?? []);
}

function codeOf(form: FormName): number {
  if (typeof form !== "string") throw problem(WRONG_TYPE, "form", form);
  const code = memory().core.form_named(memory().writeName(form));
  if (code === 0) throw problem(UNKNOWN_WORD, "form", form);
  return code;
}

/** A policy read from a foreign document. */
export interface FromForm {
  readonly policy: Policy;
  /** The names of the types of errors that are never retried (Temporal). */
  readonly errorTypes: readonly string[];
}

// The bits of a value that the core keeps; anything else is the length of a problem.
const PATTERN = 0x80000000;
const ERROR_TYPE = 0x80000001;
const ANY = 0xffffffff;
/** A whole number of 64 bits. */
const NANOS = 5;

/**
 * Reads a policy that another system wrote: JSON as text, or what was read from it. A gRPC service config with several
 * policies needs the index of one, `entry`.
 */
export function fromForm(
  form: FormName,
  document: string | object,
  { entry = ANY }: { entry?: number } = {},
): FromForm {
  const code = codeOf(form);
  const values: FieldValue[] = [];
  collect(values, "", parsed(document), NUMBER, 0);
  const { core } = memory();
  core.form_start(code, entry);
  const [patterns, errorTypes]: [string[], string[]] = [[], []];
  for (const { path, value, kind } of values) {
    if (kind === LIST) continue;
    const exact = typeof value === "bigint" && value >= 0n && value <= FOREVER;
    if (exact) memory().writeNumbers(value);
    else if (kind === NUMBER) memory().writeDouble(0, value as number);
    const size = kind === TEXT ? memory().writeText(value as string) : 0;
    const answer = core.form_set(memory().writeName(path), exact ? NANOS : kind, size) >>> 0;
    if (answer === PATTERN) patterns.push(value as string);
    else if (answer === ERROR_TYPE) errorTypes.push(value as string);
    else memory().check(answer, path, value, true);
  }
  memory().check(core.form_build());
  const words = memory().copy("rules");
  const rules: Rules | undefined = words.some(Boolean) ? { words, patterns: [patterns, []] } : undefined;
  const limit = memory().readNumber() === FOREVER ? Infinity : Number(memory().readNumber());
  const builder = memory().copy("builder");
  const guardFields = builder.some(Boolean) ? { guardFields: builder } : undefined;
  return { policy: policyOf({ words: memory().copy("policy"), limit, rules, ...guardFields }), errorTypes };
}

/** The policy as another system writes it. Throws a ConfigError when it cannot be said there. */
export function toForm(
  form: FormName,
  policy: Policy,
  { errorTypes = [] }: { errorTypes?: readonly string[] } = {},
): string {
  const code = codeOf(form);
  writePolicy(policy);
  const answer = memory().core.form_write(code) >>> 0;
  if (answer >= PATTERN) memory().check(answer - PATTERN);
  const text = memory().readText(answer);
  const added =
    form === "langgraphgo-graph"
      ? { RetryableErrors: policy.rules?.patterns[0] ?? [] }
      : form === "temporal" && errorTypes.length > 0
        ? { nonRetryableErrorTypes: errorTypes }
        : undefined;
  // Whole numbers of the others may have more bits than a double.
  return added === undefined ? text : JSON.stringify({ ...JSON.parse(text), ...added });
}

/** JSON whose whole numbers keep all their bits: Go writes its longest time as 2^63-1. */
function parsed(document: unknown): unknown {
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
