/** The names that both entries export which have guards. */
export {
  type Acquired,
  Adaptive,
  type AdaptiveStart,
  Breaker,
  type BreakerState,
  Budget,
  Bulkhead,
  type Entry,
  type GuardOptions,
  Hedge,
  Limiter,
  Stretch,
} from "./alone.js";
export { GuardedCall } from "./call.js";
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
export { Guards, type GuardsOptions, type SavedGuards } from "./guards.js";
export { KeyedGuards, type KeyedOptions } from "./keyed.js";
export { carryTokensBy, currentToken, nestedAttempts, nestedFailure, Token } from "./nested.js";
export { Refused } from "./refused.js";
