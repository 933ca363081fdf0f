/** The kind and hint of a failure: the answer of `when`, or else the facts of the error. */

import { PERMANENT, TIMEOUT, TRANSIENT } from "../codes.js";
import { kindOfStatus, NETWORK } from "../error_names.js";
import { clean } from "../values.js";
import type { Verdict } from "./options.js";
import { broken } from "./policy.js";
import { KINDS } from "./rules.js";

interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  response?: { status?: unknown; statusCode?: unknown } | null;
  $metadata?: { httpStatusCode?: unknown } | null;
}

/** The names of errors about the program itself, and of an abort; clients have names of their own for it. */
const PROGRAM_ERRORS =
  /^(Type|Reference|Syntax|Range|Eval|URI|Assertion|Config|(\w+User)?Abort|Cancell?(ed)?|DataClone)Error$/;

/** The names of errors of AWS by which a service asks for less; their statuses are 400 and others. */
const THROTTLED_NAMES = /Throttl|TooManyRequests|LimitExceeded|ThroughputExceeded|SlowDown/;

/** The kind of an error with this name and code. */
function natureOf({ name, code, message }: ErrorLike): number {
  if (/TimeoutError$/.test(String(name)) || code === "ETIMEDOUT") return TIMEOUT;
  if (!PROGRAM_ERRORS.test(String(name))) return TRANSIENT;
  return name === "TypeError" && NETWORK.test(String(message)) ? TRANSIENT : PERMANENT;
}

/** By its HTTP status if it has one, and else by its name. An error that throws when it is looked at is transient. */
function kindOf(error: unknown): number {
  try {
    // The reason of an abort.
    if (/^[sn]/.test(typeof error)) return PERMANENT;
    const known = clean<ErrorLike>(Object(error));
    const { name, status, statusCode, $metadata } = known;
    const response = clean(known.response);
    const ofAws = $metadata && (THROTTLED_NAMES.test(String(name)) ? 429 : $metadata.httpStatusCode);
    for (const number of [status, statusCode, response?.status, response?.statusCode, ofAws]) {
      const kind = typeof number === "number" && kindOfStatus(number);
      if (kind) return kind;
    }
    return natureOf(known);
  } catch {
    return TRANSIENT;
  }
}

/** The number of its kind, and its hint in milliseconds: -1 for never, NaN for none. */
export function judged(verdict: Verdict, error: unknown): [kind: number, hint: number] {
  if (verdict == null || typeof verdict === "boolean") {
    const kind = verdict === false ? PERMANENT : kindOf(error);
    return [verdict && kind === PERMANENT ? TRANSIENT : kind, NaN];
  }
  const word = typeof verdict === "string" ? verdict : verdict.kind;
  const { hint } = clean<{ hint?: number | "never" | null }>(Object(verdict));
  const kind = KINDS.indexOf(word) + 1;
  if (!kind) throw broken(204, "failure", word);
  if (typeof (hint ?? 0) !== "number" && hint !== "never") throw broken(103, "hint", hint);
  return [kind, hint === "never" ? -1 : Math.max(hint ?? NaN, 0)];
}
