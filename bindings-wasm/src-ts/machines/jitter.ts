/** Jitter by itself, for programs with delays of their own. */

import { problem, WRONG_TYPE } from "../errors.js";
import { wordsOf } from "../machine.js";
import { exact, like } from "../memory.js";
import type { Policy } from "../policy.js";
import type { Same, Time } from "../times.js";
import { memory } from "./memory.js";

/** A policy's jitter applied to a delay in nanoseconds, at most `max`, for the draw `u` from [0, 1). */
export function applyJitter<T extends Time>(policy: Policy, delay: T, max: Time, u: number): Same<T> {
  const words = wordsOf(policy);
  memory().writeNumbers(exact(delay, "delay"), exact(max, "max"));
  memory().writeDouble(2, u);
  memory().write("policy", words);
  memory().core.jitter();
  return like(delay, memory().readNumber());
}

/**
 * A policy's bounded jitter applied to a delay in nanoseconds for a drawn whole number, a bigint of 64 bits with a sign or a
 * safe integer, in place of a uniform: `delay + (drawn mod bound)`, the remainder from 0 on. Exact where a bound has more
 * bits than a double. Other kinds leave the delay as it is.
 */
export function applyDrawn<T extends Time>(policy: Policy, delay: T, drawn: bigint | number): Same<T> {
  const words = wordsOf(policy);
  memory().writeNumbers(exact(delay, "delay"), signed(drawn));
  memory().write("policy", words);
  memory().core.jitter_drawn();
  return like(delay, memory().readNumber());
}

function signed(drawn: unknown): bigint {
  const whole = Number.isSafeInteger(drawn) ? BigInt(drawn as number) : drawn;
  if (typeof whole !== "bigint" || BigInt.asIntN(64, whole) !== whole) throw problem(WRONG_TYPE, "drawn", drawn);
  return BigInt.asUintN(64, whole);
}
