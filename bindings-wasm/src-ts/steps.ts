/** Steps, tickets and policies as the machines of `holdoff` and of `holdoff/guards` take and give them. */
import { wrongType } from "./errors.js";
import { Policy } from "./policy.js";
import type { Time } from "./times.js";
import { CAUSES, type Cause, REASONS, type StopReason } from "./words.js";

/** The next step of a loop. */
export type Step<T extends Time = number> =
  | {
      /** Run the operation, then say how it ended. */
      readonly kind: "attempt";
      readonly ticket: number;
      readonly attempt: number;
      /** When to abort it and report a timeout. */
      readonly abortAt: T;
      /** When to tick although it still runs. */
      readonly wakeAt: T;
    }
  /** Nothing is in flight: wait until then, then tick. */
  | { readonly kind: "sleep"; readonly until: T; readonly cause: Cause }
  /** An attempt is in flight: keep what you are doing. */
  | { readonly kind: "wait"; readonly until: T }
  | { readonly kind: "stop"; readonly outcome: "succeeded" | "cancelled" }
  | { readonly kind: "stop"; readonly outcome: "gave_up"; readonly reason: StopReason; readonly retryAt: T };

const SLEEP = 2;

/** A ticket that no attempt has is answered with the step that holds; only what is no number at all is a mistake. */
export function ticketOf(ticket: number | bigint): number {
  if (typeof ticket !== "number" && typeof ticket !== "bigint")
    throw wrongType("ticket", ticket, "a number or a bigint");
  const known = Number(ticket);
  return Number.isSafeInteger(known) && known > 0 ? known : 0;
}

/** The words of a policy that came from a program without types. */
export function wordsOf(policy: Policy): Uint32Array {
  if (!(policy instanceof Policy)) throw wrongType("policy", policy, "a Policy");
  return policy.words;
}

/** A step from its flat form; `time` reads its first or, asked for false, its second time. */
export function stepOf<T extends Time>(codes: number, attempt: number, time: (first: boolean) => T): Step<T> {
  switch (codes & 255) {
    case 1:
      return { kind: "attempt", ticket: attempt, attempt, abortAt: time(true), wakeAt: time(false) };
    case SLEEP:
      return { kind: "sleep", until: time(true), cause: CAUSES[codes >>> 24] as Cause };
    case 3:
      return { kind: "wait", until: time(true) };
    default:
      break;
  }
  const outcome = (codes >> 8) & 255;
  if (outcome !== 2) return { kind: "stop", outcome: outcome === 1 ? "succeeded" : "cancelled" };
  return { kind: "stop", outcome: "gave_up", reason: REASONS[(codes >> 16) & 255] as StopReason, retryAt: time(true) };
}
