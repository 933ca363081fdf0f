/** The kind of a failure by its HTTP status, or by the error's name alone. */
import { PERMANENT, THROTTLED, TIMEOUT, TRANSIENT } from "./codes.js";

/** How browsers and runtimes word a lost connection, for which they all throw a TypeError. */
const NETWORK =
  /^(fetch failed|failed to fetch|networkerror|network error|network request failed|network connection lost|a network error|load failed|terminated|the (internet|network) connection)/i;

/** The names of errors about the program itself, and of an abort; axios and got have names of their own for it. */
const PROGRAM_ERRORS = /^(Type|Reference|Syntax|Range|Eval|URI|Assertion|Config|Abort|Cancell?(ed)?|DataClone)Error$/;

/** The names of errors of AWS by which a service asks for less; their statuses are 400 and others. */
const THROTTLED_NAMES = /Throttl|TooManyRequests|LimitExceeded|ThroughputExceeded|SlowDown/;

/**
 * The HTTP status of an error of the AWS SDK, 429 where the service throttles; undefined for another error.
 */
export function statusOfAws(error: { name?: unknown; $metadata?: { httpStatusCode?: unknown } | null }): unknown {
  const { $metadata, name } = error;
  return $metadata && (THROTTLED_NAMES.test(String(name)) ? 429 : $metadata.httpStatusCode);
}

/**
 * True if two attempts in a row failed with the same `DOMException`: it is the reason of a signal that the attempts got from
 * elsewhere, and that stays aborted.
 */
export const isAbortAgain = (error: unknown, latest: unknown): boolean =>
  error === latest && error instanceof DOMException;

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
