/** For tests of programs that retry. Each switch is one of the whole process, and returns a function that ends it. */
import { ATTEMPTS_RANGE } from "../codes.js";
import { problem, wrongType } from "../errors.js";
import { turn } from "../switches.js";

export { VirtualClock } from "./virtual.js";

/** No retries: one attempt for each operation, as if nothing was wrapped. Guards and time limits stay. */
export const disabled = (): (() => void) => turn({ attempts: 1 });

/** At most so many attempts for each operation, the first one included, and no waits between them. */
export function limited(attempts: number): () => void {
  if (!Number.isInteger(attempts) || attempts < 1) throw problem(ATTEMPTS_RANGE, "attempts", attempts);
  return turn({ attempts, skipsSleeps: true });
}

/**
 * No budget for policies that name none: a suite that lets many calls fail would spend the budget of a policy that they share, and its
 * last tests would get no retries.
 */
export const withoutBudgets = (): (() => void) => turn({ bringsBudgets: false });

/** A function that fails in its first calls, and counts its calls. */
export interface Failing<Args extends readonly unknown[], R> {
  (...args: Args): R;
  /** The number of calls so far. */
  calls: number;
}

/** A function that throws the error in its first calls, and then does what `fn` does, or returns undefined. */
export function failing(times: number, error: unknown): Failing<readonly unknown[], undefined>;
export function failing<Args extends readonly unknown[], R>(
  times: number,
  error: unknown,
  fn: (...args: Args) => R,
): Failing<Args, R>;
export function failing(times: number, error: unknown, fn?: (...args: readonly unknown[]) => unknown): unknown {
  if (fn !== undefined && typeof fn !== "function") throw wrongType("fn", fn, "a function");
  const call: Failing<readonly unknown[], unknown> = (...args) => {
    call.calls++;
    if (call.calls <= times) throw error;
    return fn?.(...args);
  };
  call.calls = 0;
  return call;
}
