/**
 * Events of a call. An event is a plain frozen object whose JSON every language reads; times, seeds and fingerprints are decimal
 * text in it, because a double cannot hold them.
 */
import { problem, WRONG_TYPE } from "../errors.js";
import { CAUSES, type Cause, EVENT_TYPES, type FailureKind, KINDS, REASONS, type StopReason } from "../words.js";
import { ReplayError, wrong } from "./error.js";
import { memory } from "./memory.js";
import type { Event as AnyEvent, Digits } from "./types.js";

/** An event: the names and values of one line of a log. */
export type Event = AnyEvent;

/** The texts of an event, which are the program's. */
export interface Notes {
  readonly task?: string | null | undefined;
  readonly reason?: string | null | undefined;
}

/** A text that other languages can read: half a character, as a cut leaves it, is none. Throws for what is no text. */
export function textOf(text: string | null | undefined, name: string): string | undefined {
  if (text === undefined || text === null) return undefined;
  if (typeof text !== "string") throw problem(WRONG_TYPE, name, text);
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

/** A log's bytes, also those of another realm, which `instanceof` does not know. */
export const isBytes = (log: unknown): log is Uint8Array =>
  ArrayBuffer.isView(log) && "BYTES_PER_ELEMENT" in log && log.BYTES_PER_ELEMENT === 1;

/** The core's form of each event. Events are frozen, so it stays valid. */
const known = new WeakMap<object, Uint32Array>();

const NEVER = (1n << 64n) - 1n;
const NO_HINT = NEVER;
const HINT_NEVER = NEVER - 1n;

/** Where `event_look` leaves what an event says. */
const SEQUENCE = 0;
const AT = 1;
const UNTIL = 2;
const HINT = 3;
const SEED = 4;
const POLICY = 5;
const DELAY = 6;
const CODES = 7;
const GUARDED = 8;

/** The event in the module's memory, as an object. */
export function shownEvent({ task, reason }: Notes): Event {
  const { words, longs } = memory();
  const digits = (at: number): Digits => String(longs[at]);
  const codes = words.args[CODES * 2] as number;
  const type = EVENT_TYPES[codes & 255] as Event["type"];
  const event: Record<string, unknown> = {
    version: 1,
    sequence: Number(longs[SEQUENCE]),
    type,
    at: digits(AT),
    attemptNumber: words.args[CODES * 2 + 1],
  };
  if (type === "RETRY_SCHEDULED") event["backoffDelayMs"] = Number(longs[DELAY]);
  const hasReason = reason !== undefined && reason !== null;
  if (hasReason) event["failureReason"] = reason;
  if (task !== undefined && task !== null) {
    event["payload"] = Object.freeze(hasReason ? { taskId: task, reason } : { taskId: task });
  } else if (hasReason) {
    event["payload"] = Object.freeze({ reason });
  }
  switch (type) {
    case "STARTED":
      event["policy"] = digits(POLICY);
      event["seed"] = digits(SEED);
      event["guarded"] = Number(longs[GUARDED]);
      break;
    case "ATTEMPT_FAILED": {
      const hint = longs[HINT] as bigint;
      event["failure"] = KINDS[(codes >>> 8) & 255] as FailureKind;
      event["hint"] = hint === NO_HINT ? "none" : hint === HINT_NEVER ? "never" : String(hint);
      break;
    }
    case "RETRY_SCHEDULED":
      event["until"] = digits(UNTIL);
      event["cause"] = CAUSES[(codes >>> 16) & 255] as Cause;
      break;
    case "GAVE_UP":
      event["reason"] = REASONS[codes >>> 24] as StopReason;
      event["retryAt"] = longs[UNTIL] === NEVER ? "never" : digits(UNTIL);
      break;
    default:
      break;
  }
  known.set(event, memory().copy("event"));
  return Object.freeze(event) as unknown as Event;
}

/** An event that came from elsewhere: its fields, read before anything is laid down, because a getter may do so, too. */
export type EventValues = Uint32Array | readonly (readonly [name: string, value: unknown])[];

export function valuesOf(event: unknown, sequence?: number): EventValues {
  const fields = typeof event === "string" ? parsed(event, sequence) : event;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new ReplayError({ code: 142, word: "not_an_object", rule: "must be an object of fields", sequence });
  }
  const words = known.get(fields);
  if (words) return words;
  const values: [string, unknown][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const inner = name === "payload" && typeof value === "object" && value !== null && !Array.isArray(value);
    if (inner) for (const [key, text] of Object.entries(value)) values.push([`payload.${key}`, text]);
    else values.push([name, value]);
  }
  return values;
}

function parsed(text: string, sequence?: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ReplayError({ code: 141, word: "not_json", rule: "must be JSON", sequence, cause });
  }
}

const OTHER = 0;
const TEXT = 1;
const NUMBER = 2;
const NOTHING = 3;

/** Lays an event down, and says its texts. `sequence` is that of the log, which an error is about. */
export function writeEvent(values: EventValues, sequence?: number): Notes {
  const { core } = memory();
  if (values instanceof Uint32Array) {
    memory().write("event", values);
    return {};
  }
  core.event_start();
  const notes: { task?: string; reason?: string } = {};
  for (const [name, value] of values) {
    const [kind, size] = setting(value);
    const length = core.event_set(memory().writeName(name), kind, size);
    if (length !== 0) throw wrong(length, { name, value, sequence });
    const taken = memory().readNumber(1);
    if (taken === 1n && typeof value === "string") notes.task = value;
    if (taken === 2n && typeof value === "string") notes.reason = value;
  }
  const length = core.event_check();
  if (length !== 0) throw wrong(length, { sequence });
  return notes;
}

function setting(value: unknown): [kind: number, size: number] {
  if (value === undefined || value === null) return [NOTHING, 0];
  if (typeof value === "string" || typeof value === "bigint") return [TEXT, memory().writeText(String(value))];
  if (typeof value !== "number") return [OTHER, 0];
  memory().writeDouble(0, value);
  return [NUMBER, 0];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Forms of events. */
export const Event = Object.freeze({
  /** One event from its JSON form: text, or what was read from it. Throws a {@link ReplayError} about what is wrong. */
  fromJson(event: string | object): Event {
    const notes = notesOf(event, writeEvent(valuesOf(event)));
    memory().core.event_look();
    return shownEvent(notes);
  },

  /** As bytes: a log is one after the other. The text of its failure is its own unless another is values, and may be none. */
  toBytes(event: Event, reason?: string): Uint8Array {
    const own = notesOf(event, writeEvent(valuesOf(event)));
    const text = textOf(reason, "reason") ?? own.reason ?? "";
    const { words, core } = memory();
    const into = bytesOf(words.reason);
    // Text that does not fit is cut off, between two characters.
    const { written } = encoder.encodeInto(text, into);
    return bytesOf(words.bytes).slice(0, core.event_bytes(written));
  },

  /** The events of a log's bytes. Throws a {@link ReplayError} with the number of the event that cannot be read. */
  readAll(bytes: Uint8Array): Event[] {
    if (!isBytes(bytes)) throw problem(WRONG_TYPE, "bytes", bytes);
    const events: Event[] = [];
    readEach(bytes, (reason) => {
      events.push(shownEvent({ reason }));
    });
    return events;
  },
});

/** Lays down each event of a log's bytes, and hands over its text. */
export function readEach(bytes: Uint8Array, each: (reason: string | undefined) => void): void {
  const { words, core } = memory();
  const [window, text] = [bytesOf(words.bytes), bytesOf(words.reason)];
  let expected = 1;
  for (let at = 0; at < bytes.length; ) {
    const part = bytes.subarray(at, at + window.length);
    window.set(part);
    const length = core.event_read(part.length);
    const size = Number(memory().readNumber(9));
    if (length === 0) throw wrong(size, { expected });
    at += length;
    expected = Number(memory().readNumber(SEQUENCE)) + 1;
    each(size === 0 ? undefined : decoder.decode(text.subarray(0, size)));
  }
}

const bytesOf = (words: Uint32Array): Uint8Array => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

/** The texts of an event. */
function notesOf(event: string | object, laid: Notes): Notes {
  if (typeof event === "string" || !known.has(event)) return laid;
  const { failureReason: reason, payload } = event as Event;
  return { task: payload?.taskId, reason };
}
