/**
 * Guards that many calls share, so that a fleet stays alive when a dependency is ill, and all of `holdoff` over the same
 * wasm module. Importing it lets policies have guards.
 */
import { bring } from "../hot.js";
import { runUnder } from "./engine.js";
import { letPoliciesHaveGuards } from "./guards.js";
import { checkWasm, make, makeLater } from "./memory.js";

export { currentToken } from "../host.js";
export * from "../main.js";
export { Adaptive, type AdaptiveStart } from "./adaptive.js";
export { type Acquired, Breaker, type BreakerState } from "./breaker.js";
export { Budget } from "./budget.js";
export { Bulkhead, type Entry } from "./bulkhead.js";
export { GuardedCall } from "./call.js";
export { Refused } from "./engine.js";
export type {
  AdaptiveFields,
  BreakerFields,
  BudgetFields,
  BulkheadFields,
  GuardFields,
  HedgeFields,
  LimiterFields,
  NestedFields,
  OpenForFields,
  Refusal,
  StretchFields,
} from "./fields.js";
export type { GuardOptions } from "./guard.js";
export { Guards, type GuardsOptions } from "./guards.js";
export { Hedge } from "./hedge.js";
export { KeyedGuards, type KeyedOptions } from "./keyed.js";
export { Limiter } from "./limiter.js";
export { nestedAttempts, nestedFailure, Token } from "./nested.js";
export { Stretch } from "./stretch.js";

bring({ make, makeLater, checkWasm, powers: true, rules: true });
letPoliciesHaveGuards(runUnder);
