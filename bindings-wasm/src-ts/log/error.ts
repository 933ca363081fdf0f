/** Errors of logs, and the event they are about. */
import { shown } from "../errors.js";
import { memory } from "./memory.js";
import type { Event } from "./types.js";

interface Parts {
  readonly code: number;
  readonly word: string;
  readonly rule: string;
  readonly sequence?: number | undefined;
  readonly path?: string;
  /** The value at the path, as text. */
  readonly value?: string;
  readonly nearest?: string | undefined;
  readonly recorded?: Event | undefined;
  readonly computed?: Event | undefined;
  readonly cause?: unknown;
}

/** A log, or an event, that is none, or not that of the policy; nothing was made of it. */
export class ReplayError extends Error {
  override readonly name = "ReplayError";
  /** The number of the rule, the same in every language. */
  readonly code: number;
  /** The word for it, such as `log_gap`. */
  readonly word: string;
  /** The number of the event, from 1; for a gap the first missing event; 0 if it is not known. */
  readonly sequence: number;
  /** The field that is wrong; empty when it is about the event as a whole. */
  readonly path: string;
  /** The rule in words. */
  readonly rule: string;
  /** The nearest valid name or word, if there is one. */
  readonly nearest: string | undefined;
  /** The event that came. */
  readonly recorded: Event | undefined;
  /** The event that the policy expects instead, if known. */
  readonly computed: Event | undefined;

  /** @internal */
  constructor(parts: Parts) {
    super(message(parts), "cause" in parts ? { cause: parts.cause } : undefined);
    this.code = parts.code;
    this.word = parts.word;
    this.sequence = parts.sequence ?? 0;
    this.path = parts.path ?? "";
    this.rule = parts.rule;
    this.nearest = parts.nearest;
    this.recorded = parts.recorded;
    this.computed = parts.computed;
  }
}

const EMPTY = 160;
const START = 161;
const GAP = 162;
const IMPOSSIBLE = 165;
const DIVERGED = 168;

function message({ code, rule, sequence, path, value, nearest, recorded, computed }: Parts): string {
  if (code === EMPTY) return `the log ${rule}`;
  const which = sequence ? `event ${sequence}` : "event";
  const field = path ? `, ${path}${value ?? ""}` : "";
  const meant = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return `${which}${field}: ${rule}${meant}${compared(code, recorded, computed)}`;
}

function compared(code: number, recorded: Event | undefined, computed: Event | undefined): string {
  if (recorded === undefined) return "";
  if (code === START || code === GAP) return `; what came is event ${recorded.sequence}: ${shownEvent(recorded)}`;
  if (code !== IMPOSSIBLE && code !== DIVERGED) return "";
  const otherwise = code === DIVERGED ? "; the policy says nothing here" : "";
  return `: the log says ${shownEvent(recorded)}${computed ? `; the policy says ${shownEvent(computed)}` : otherwise}`;
}

function shownEvent(event: Event): string {
  const about = `${event.type}, attempt ${event.attemptNumber}`;
  switch (event.type) {
    case "ATTEMPT_FAILED":
      return `${about}, ${event.failure}`;
    case "RETRY_SCHEDULED":
      return `${about}, in ${Number(BigInt(event.until) - BigInt(event.at)) / 1e6}ms (${event.cause})`;
    case "GAVE_UP":
      return `${about}, ${event.reason}`;
    default:
      return about;
  }
}

/** Where the number of the event lies that an error is about. */
const SEQUENCE = 15;

/** The error that the module describes in `length` bytes of text, about the field `name` or an event of a log. */
export function wrong(
  length: number,
  about: {
    name?: string;
    value?: unknown;
    /** Its place in the log, where the event does not say it. */
    sequence?: number | undefined;
    /** Its place in the log, whatever it says. */
    expected?: number | undefined;
    recorded?: Event | undefined;
    computed?: Event | undefined;
  },
): ReplayError {
  const [word, field, rule, nearest] = memory().readText(length).split("\n") as [string, string, string, string];
  const code = memory().words.problem[0] as number;
  const own = Number(memory().readNumber(SEQUENCE));
  return new ReplayError({
    code,
    word,
    rule,
    sequence: about.expected ?? (own || about.sequence),
    path: field || (about.name ?? ""),
    ...(about.name === undefined ? {} : { value: ` = ${shown(about.value)}` }),
    nearest: nearest || undefined,
    recorded: about.recorded,
    computed: about.computed,
  });
}
