/** The words for the core's numbers, the same in every language. */

/** What went wrong, in the few kinds that change the decision. */
export type FailureKind = "transient" | "throttled" | "timeout" | "permanent";
/** Why an operation stopped without success. */
export type StopReason =
  | "permanent"
  | "attempts"
  | "deadline"
  | "budget"
  | "breaker"
  | "limiter"
  | "bulkhead"
  | "hint"
  | "cancelled";
/**
 * Why a sleep is as long as it is: the policy's backoff, the server's hint, or the deadline that cut it short; under guards
 * also what it waits for.
 */
export type Cause = "backoff" | "hint" | "clip" | "breaker" | "limiter" | "bulkhead";

export { PERMANENT, TIMEOUT, TRANSIENT } from "./codes.js";

const KINDS = ["", "transient", "throttled", "timeout", "permanent"] as const;
const GUARDS = ["budget", "breaker", "limiter", "bulkhead"] as const;
const REASONS = ["", "permanent", "attempts", "deadline", ...GUARDS, "hint", "cancelled"] as const;
const CAUSES = ["", "backoff", "hint", "clip", ...GUARDS] as const;

export const kindCode = (word: unknown): number => Math.max(0, KINDS.indexOf(word as FailureKind, 1));
export const kindWord = (code: number): FailureKind => KINDS[code] as FailureKind;
export const reasonWord = (code: number): StopReason => REASONS[code] as StopReason;
export const causeWord = (code: number): Cause => CAUSES[code] as Cause;

/** The number of a reason, 0 when it is none. */
export const reasonCode = (word: string): number => Math.max(0, REASONS.indexOf(word as StopReason, 1));
