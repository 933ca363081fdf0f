/** A value that looks like an HTTP answer: a `Response`, or what other clients make of one. */
import type { Clock } from "./clock.js";
import { clean, isObject } from "./values.js";

/** The most bytes of a body that is read to its end, and the most milliseconds. */
const SMALL = 65536;
const LONGEST_DRAIN = 500;

export interface Answer {
  readonly status: number;
  readonly headers: unknown;
}

/** The status and the headers of an answer; undefined for a value without a status. */
export function answerOf(value: unknown): Answer | undefined {
  if (!isObject(value)) return undefined;
  const { status, statusCode, headers } = clean(value as { status?: unknown; statusCode?: unknown; headers?: unknown });
  for (const one of [status, statusCode]) if (typeof one === "number") return { status: one, headers };
  return undefined;
}

const nothing = () => {};

/** The part of a web stream, or of undici's, that is used. */
interface Body {
  readonly locked?: boolean;
  getReader?(): { read(): Promise<{ done: boolean; value?: { byteLength: number } }>; cancel(): Promise<void> };
  dump?(limits: { limit: number }): unknown;
  cancel?(): unknown;
}

interface WithBody {
  readonly body?: Body | null;
  readonly bodyUsed?: boolean;
  clone?(): WithBody;
}

const cancel = async (body: Body | null | undefined) => body?.cancel?.();

/**
 * Frees the connection of an answer that nobody will read, which runtimes otherwise keep until the answer is collected. A small body
 * is read to its end, so that the connection serves the next attempt, and stays readable where the answer can be cloned; any other
 * is cancelled. A body that somebody has begun to read is theirs.
 */
export function discard(value: unknown, clock: Clock): void {
  try {
    const answer = value as WithBody;
    const { body } = answer;
    if (answerOf(value) === undefined || !body || answer.bodyUsed || body.locked) return;
    const freed = body.getReader ? drain(answer, clock) : (body.dump?.({ limit: SMALL }) ?? cancel(body));
    Promise.resolve(freed).catch(nothing);
  } catch {
    // An answer that cannot be freed is no reason to stop.
  }
}

async function drain(answer: WithBody, clock: Clock): Promise<void> {
  const copy = answer.clone?.();
  const reader = ((copy ?? answer).body as Required<Body>).getReader();
  const leave = () => {
    reader.cancel().catch(nothing);
    if (copy) cancel(answer.body).catch(nothing);
  };
  const timer = clock.setTimeout(leave, LONGEST_DRAIN);
  (timer as { unref?(): void } | undefined)?.unref?.();
  try {
    for (let left = SMALL; left >= 0; ) {
      const { done, value } = await reader.read();
      if (done) return;
      left -= (value as { byteLength: number }).byteLength;
    }
    leave();
  } finally {
    clock.clearTimeout(timer);
  }
}
