/** The kind of a failure by its HTTP status, or by the error's name alone. */
import { PERMANENT, THROTTLED, TIMEOUT, TRANSIENT } from "./codes.js";

/** How browsers and runtimes word a lost connection, for which they all throw a TypeError. */
const NETWORK =
  /^(fetch failed|failed to fetch|networkerror|network error|network request failed|network connection lost|a network error|load failed|terminated|the (internet|network) connection)/i;

/** The names of errors about the program itself, and of an abort. */
const PROGRAM_ERRORS = /^(Type|Reference|Syntax|Range|Eval|URI|Assertion|Config|Abort|DataClone)Error$/;

/** The kind of an error with this name and code: a timeout, a mistake of the program's own, which is permanent, or another. */
export function natureOf(name: unknown, code: unknown, error: { message?: unknown }): number {
  if (name === "TimeoutError" || code === "ETIMEDOUT") return TIMEOUT;
  if (name === "Error" || typeof name !== "string" || !PROGRAM_ERRORS.test(name)) return TRANSIENT;
  return name === "TypeError" && NETWORK.test(String(error.message)) ? TRANSIENT : PERMANENT;
}

/** The kind of an HTTP status, 0 when it is no failure (spec 8.2). */
export function kindOfStatus(status: number): number {
  if (status >= 100 && status < 400) return 0;
  if (status === 408 || status === 504) return TIMEOUT;
  if (status === 429) return THROTTLED;
  return status === 425 || (status >= 500 && status < 600 && status !== 501 && status !== 505) ? TRANSIENT : PERMANENT;
}
