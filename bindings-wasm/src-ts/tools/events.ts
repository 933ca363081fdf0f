/** The events of logs, and the error about a log. */
import type { Cause, FailureKind, StopReason } from "../words.js";

/** Nanoseconds, a seed or a fingerprint, in decimal digits. */
export type Digits = string;

interface Base<Type extends string> {
  readonly version: 1;
  /** Its place in the log of its call, from 1. */
  readonly sequence: number;
  readonly type: Type;
  /** When it happened. */
  readonly at: Digits;
  /** The number of the attempt that failed, is planned or begins; at an end the last attempt that ran, 0 for none. */
  readonly attemptNumber: number;
  /** The text of the failure. */
  readonly failureReason?: string;
  readonly payload?: { readonly taskId?: string; readonly reason?: string };
}

/** An event: the names and values of one line of a log. */
export type Event =
  | (Base<"STARTED"> & { readonly policy: Digits; readonly seed: Digits; readonly guarded: 0 | 1 })
  | (Base<"ATTEMPT_FAILED"> & { readonly failure: FailureKind; readonly hint: "none" | "never" | Digits })
  | (Base<"RETRY_SCHEDULED"> & {
      /** In whole milliseconds, rounded up. */
      readonly backoffDelayMs: number;
      /** When the attempt is due, exactly. */
      readonly until: Digits;
      readonly cause: Cause;
    })
  | Base<"RESUMED">
  | Base<"SUCCEEDED">
  | (Base<"GAVE_UP"> & { readonly reason: StopReason; readonly retryAt: "never" | Digits })
  | Base<"CANCELLED">;

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
