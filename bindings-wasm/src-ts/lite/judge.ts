/** The kind and hint of a failure: the answer of `when`, or else the facts of the error. */

import { PERMANENT, TRANSIENT } from "../codes.js";
import { kindOfStatus, natureOf, statusOfAws } from "../error_names.js";
import type { Verdict } from "./options.js";
import { broken } from "./policy.js";
import { KINDS } from "./rules.js";

interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  response?: { status?: unknown } | null;
  $metadata?: { httpStatusCode?: unknown } | null;
}

/** By its HTTP status if it has one, and else by its name. An error that throws when it is looked at is transient. */
function kindOf(error: unknown): number {
  try {
    const known = Object(error) as ErrorLike;
    const { name, code, status, statusCode, response } = known;
    for (const number of [status, statusCode, response?.status, statusOfAws(known)]) {
      const kind = typeof number === "number" && kindOfStatus(number);
      if (kind) return kind;
    }
    return natureOf(name, code, known);
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
  const hint = (verdict as { hint?: number | "never" | null }).hint;
  const kind = KINDS.indexOf(word) + 1;
  if (!kind) throw broken(204, "failure", word);
  if (typeof (hint ?? 0) !== "number" && hint !== "never") throw broken(103, "hint", hint);
  return [kind, hint === "never" ? -1 : Math.max(hint ?? NaN, 0)];
}
