/** What the answer of a language model says in its body: that a quota is spent, or that a stream failed before its content. */
import { SPENT } from "../client_table.js";
import { JSON_TYPE, nothing, reads } from "./request.js";

/** The most bytes of an answer that are read to find out. */
const MOST = 65_536;

/** Events of a stream that come before its first content, by their `type`. */
const PREFACE =
  /^(message_start|content_block_start|ping|response\.(created|queued|in_progress|output_item\.added|content_part\.added))$/;

type Fields = Record<string, unknown>;

/** The error in a body or in an event. */
export type ModelError = { code?: unknown; type?: unknown; message?: unknown };

/** True if the JSON of an answer, or of an error, says that a paid quota is spent. */
export const isSpent = (data: unknown): boolean => {
  const { error } = Object(data) as { error?: ModelError };
  return SPENT.test(String(error?.code)) || SPENT.test(String(error?.type));
};

/** The same for an answer with a small body. */
export async function saysSpent(answer: Response): Promise<boolean> {
  if (answer.status !== 429 || !JSON_TYPE.test(String(answer.headers.get("content-type")))) return false;
  const copy = answer.clone();
  if (await reads(answer.clone(), MOST, 500)) return isSpent(await copy.json().catch(nothing));
  copy.body?.cancel().catch(nothing);
  return false;
}

/** True for a field of a choice that holds content: a text, calls of tools, the reason of the end. */
const isContent = ([name, value]: [string, unknown]): boolean =>
  !/^(role|index|delta)$/.test(name) && !!value && (typeof value !== "object" || Object.keys(value).length > 0);

/** Reads the data of an event: its error, `{}` for content, undefined for what comes before the content. */
function readEvent(data: string): { error?: ModelError } | undefined {
  let event: Fields = {};
  try {
    event = Object(JSON.parse(data));
  } catch {
    // The end of a stream is no JSON.
  }
  const { type, choices, error = type === "error" ? event : undefined } = event;
  if (error) return { error };
  if (choices === undefined) return PREFACE.test(String(type)) ? undefined : {};
  const parts = [choices].flat().flatMap((choice) => [choice, (Object(choice) as Fields)["delta"]]);
  return parts.some((part) => Object.entries(Object(part)).some(isContent)) ? {} : undefined;
}

/**
 * Waits for the first content of a stream of events, and returns the error that came instead. Throws if the stream breaks off before. The
 * answer stays as the client gave it.
 */
export async function errorBeforeContent(answer: Response): Promise<ModelError | undefined> {
  if (!/^text\/event-stream/i.test(String(answer.headers.get("content-type")))) return undefined;
  const reader = answer.clone().body?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let left = MOST; reader && left > 0; ) {
      const { done, value } = await reader.read();
      if (done) break;
      left -= value.byteLength;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|[\r\n]/);
      rest = lines.pop() as string;
      for (const line of lines) {
        const said = line.startsWith("data:") ? readEvent(line.slice(5)) : undefined;
        if (said) return said.error;
      }
    }
  } finally {
    reader?.cancel().catch(nothing);
  }
  return undefined;
}
