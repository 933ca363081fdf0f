/** Saved states of guards, at the host's time unless another is given. */
import { hostNow } from "../clock.js";
import type { Guards } from "../guards/guards.js";
import type { Time } from "../times.js";
import * as core from "./core.js";
import type { SavedGuards } from "./types.js";

/**
 * The states of a set of guards as bytes by the names of the guards, for another process or another clock; `now` is in nanoseconds.
 * Attempts in flight are not saved, so a bulkhead has no state. Throws a `ConfigError` about a value that is no set of guards.
 */
export const saveGuards = (guards: Guards, now: Time = hostNow()): SavedGuards => core.saveGuards(guards, now);

/**
 * Gives the guards of a set the states that were saved under configurations of the same kinds; guards without a saved state keep
 * theirs. Throws a `ConfigError` about a state that is damaged or another guard's, and changes nothing then.
 */
export const restoreGuards = (guards: Guards, saved: SavedGuards, now: Time = hostNow()): void =>
  core.restoreGuards(guards, saved, now);
