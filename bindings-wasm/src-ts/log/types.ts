/** The types of events. */
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
