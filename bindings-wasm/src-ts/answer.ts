/** A value that looks like an HTTP answer: a `Response`, or what other clients make of one. */

export interface Answer {
  readonly status: number;
  readonly headers: unknown;
}

/** The status and the headers of an answer; undefined for a value without a status. */
export function answerOf(value: unknown): Answer | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { status, statusCode, headers } = value as { status?: unknown; statusCode?: unknown; headers?: unknown };
  for (const one of [status, statusCode]) if (typeof one === "number") return { status: one, headers };
  return undefined;
}

const nothing = () => {};

/**
 * Frees the connection of an answer that nobody will read, which runtimes otherwise keep until the answer is collected.
 * A body that somebody has begun to read is theirs.
 */
export function discard(value: unknown): void {
  try {
    if (answerOf(value) === undefined) return;
    const { body, bodyUsed } = value as { body?: { locked?: unknown; cancel?: unknown } | null; bodyUsed?: unknown };
    if (bodyUsed === true || typeof body?.cancel !== "function" || body.locked === true) return;
    Promise.resolve(body.cancel()).catch(nothing);
  } catch {
    // An answer that cannot be freed is no reason to stop.
  }
}
