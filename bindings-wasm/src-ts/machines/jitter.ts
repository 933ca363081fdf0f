/** Jitter by itself, for programs with delays of their own. */
import { exact, like } from "../border.js";
import { type Same, type Time, wordsOf } from "../machine.js";
import type { Policy } from "../policy.js";
import { desk } from "./desk.js";

/** A policy's jitter applied to a delay in nanoseconds, at most `max`, for the draw `u` from [0, 1). */
export function applyJitter<T extends Time>(policy: Policy, delay: T, max: Time, u: number): Same<T> {
  const words = wordsOf(policy);
  desk().give(exact(delay, "delay"), exact(max, "max"));
  desk().giveDouble(2, u);
  desk().lay("policy", words);
  desk().core.jitter();
  return like(delay, desk().got());
}
