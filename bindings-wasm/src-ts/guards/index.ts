/**
 * Guards that many calls share, so that a fleet stays alive when a dependency is ill, and all of `holdoff` over the same
 * wasm module. Importing it lets policies have guards.
 */
import { bring } from "../hot.js";
import { NEEDS_RULES } from "../options.js";
import { runUnder } from "./engine.js";
import { letPoliciesHaveGuards } from "./guards.js";
import { checkWasm, make, makeLater } from "./memory.js";

export { currentToken } from "../host.js";
export * from "../main.js";
export type { AdaptiveStart } from "./adaptive.js";
export type { Acquired, BreakerState } from "./breaker.js";
export { GuardedCall } from "./call.js";
export * from "./classes.js";
export { Refused } from "./engine.js";
export type * from "./fields.js";
export type { GuardOptions } from "./guard.js";
export { Guards, type GuardsOptions } from "./guards.js";
export { KeyedGuards, type KeyedOptions } from "./keyed.js";
export type { Entry } from "./methods.js";
export { nestedAttempts, nestedFailure, Token } from "./nested.js";

bring({ make, makeLater, checkWasm }, NEEDS_RULES);
letPoliciesHaveGuards(runUnder);
