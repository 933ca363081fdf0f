/**
 * Calls that leave a log behind, from which another process goes on with them; and all that `holdoff/guards` has, so that a
 * program that needs both loads one module.
 */
import { letPoliciesHaveGuards } from "../guards/guards.js";

export * from "../guards/names.js";
export { ReplayError } from "./error.js";
export { Event } from "./event.js";
export { attemptsOf, type Recorded, Recorder, type RecorderOptions } from "./recorder.js";
export { type Log, type ReplayOptions, replay } from "./replay.js";

letPoliciesHaveGuards();

export type { Digits } from "./types.js";
