/** The nature of an error by its name alone. */
import { PERMANENT, TIMEOUT, TRANSIENT } from "./codes.js";

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
