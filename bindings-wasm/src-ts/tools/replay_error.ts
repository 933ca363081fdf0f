/** Errors of logs, and the event they are about. */
import type { Event } from "./types.js";

/** The parts of such an error. */
export interface ReplayParts {
  readonly code: number;
  readonly word: string;
  readonly rule: string;
  readonly sequence: number;
  readonly path?: string;
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
  constructor(message: string, parts: ReplayParts) {
    super(message, "cause" in parts ? { cause: parts.cause } : undefined);
    this.code = parts.code;
    this.word = parts.word;
    this.sequence = parts.sequence;
    this.path = parts.path ?? "";
    this.rule = parts.rule;
    this.nearest = parts.nearest;
    this.recorded = parts.recorded;
    this.computed = parts.computed;
  }
}
