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
  declare readonly code: number;
  /** The word for it, such as `log_gap`. */
  declare readonly word: string;
  /** The number of the event, from 1; for a gap the first missing event; 0 if it is not known. */
  declare readonly sequence: number;
  /** The field that is wrong; empty when it is about the event as a whole. */
  declare readonly path: string;
  /** The rule in words. */
  declare readonly rule: string;
  /** The nearest valid name or word, if there is one. */
  declare readonly nearest: string | undefined;
  /** The event that came. */
  declare readonly recorded: Event | undefined;
  /** The event that the policy expects instead, if known. */
  declare readonly computed: Event | undefined;

  /** @internal */
  constructor(message: string, { cause, ...parts }: ReplayParts) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, { path: "", nearest: undefined, recorded: undefined, computed: undefined }, parts);
  }
}
