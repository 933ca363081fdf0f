/** The delay that a function of the user chooses after a failure: it is obeyed exactly (spec 7.17). */
import { HookError, NOT_A_DURATION, problem } from "./errors.js";
import type { RetryEvent } from "./hooks.js";
import { type Duration, durationOf, type Nanos, NEVER } from "./times.js";

/** A failed attempt whose delay is not decided yet. */
export type DelayEvent<V = unknown> = Omit<RetryEvent<V>, "delayMs" | "cause">;

/** The answer of a function of delays: a delay, false to stop, or nothing for the policy's own delay. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without an answer returns void
export type DelayAnswer = Duration | false | null | undefined | void;

/** The answer of the user's function, as the failure's hint; undefined if it has none. */
export function askDelay(delay: (event: never) => unknown, event: object, lastError: unknown): Nanos | undefined {
  let answer: unknown;
  try {
    answer = delay(event as never);
  } catch (error) {
    throw new HookError("delay", error, lastError);
  }
  if (answer === undefined || answer === null) return undefined;
  const span = answer === false ? NEVER : durationOf(answer);
  if (span === undefined) throw problem(NOT_A_DURATION, "delay", answer);
  return span;
}
