/** The functions and the memory of the wasm modules. Generated from their sources by `cargo xtask generate`. */

export interface HotExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  hot(): number;
  begin(): void;
  give(field: number): void;
  given(): void;
  exactly(): void;
  advised(kind: number, shouldRetry: number, safe: number): number;
  underway(): void;
  fail(attempt: number, kind: number): void;
  tick(): void;
  hurry(): void;
  brings_budget(): number;
  fill(refusals: number): void;
  withdraw(kind: number): number;
  refund(price: number): number;
  reward(price: number): number;
}

export interface RulesExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  rules(): number;
  clear(): void;
  begin(rule: number): number;
  set_word(rule: number, word: number): void;
  begin_conditions(rule: number): number;
  alternative(rule: number, index: number): number;
  set_list(number: number, condition: number, begins: number): number;
  add(number: number, condition: number, entry: number): number;
  judge(kind: number, http: number, grpc: number, names: number, others: number): number;
  is_failure(status: number, idempotent: number): number;
}

export interface PoliciesExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  policies(): number;
  options_begin(): void;
  options_stage(rule: number, stage: number): number;
  options_give(rule: number, stage: number, field: number): number;
  options_listed(rule: number, stage: number): number;
  options_build(): number;
  options_need(): number;
}

export interface GuardsExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly PLACES: { readonly value: number };
  address(): number;
  reserve(times: number): number;
  call_exactly(): void;
  call_begin(guards: number): void;
  call_succeed(guards: number): void;
  call_fail(guards: number, kind: number): void;
  call_abandon(guards: number): void;
  call_tick(guards: number): void;
  call_hurry(): void;
  call_cancel(guards: number): void;
  call_turn(): number;
  call_permit(): number;
  call_underway(): void;
  call_noted(): number;
  call_note(refusals: number): void;
  call_succeeded(guards: number): void;
  nested_attempts(mode: number, cap: number, own: number): number;
  nested_policy(mode: number, cap: number): number;
  nested_failure(mode: number, kind: number): number;
  token_child(attempt: number, attempts: number): void;
  token_read(length: number, grpc: number): void;
  token_value(grpc: number): number;
  guards_new(guards: number): void;
  guard_hint(index: number): void;
  guard_refuses(index: number): number;
  guards_at_rest(guards: number): number;
  budget_fill(capacity: number, refusals: number): void;
  budget_full(): number;
  budget_shortage(kind: number): number;
  breaker_is_timeless(): number;
  adaptive_start(limits: number): void;
  budget_begin(): void;
  budget_admit(): number;
  budget_fail(kind: number): void;
  budget_withdraw(kind: number): number;
  budget_retried(): void;
  budget_refund(withdrawal: number): void;
  budget_succeed(withdrawal: number): void;
  budget_end(withdrawal: number): void;
  budget_balance(): number;
  budget_rejection(): number;
  breaker_acquire(): number;
  breaker_record(permit: number, verdict: number): void;
  breaker_abandon(permit: number): void;
  breaker_hint(): void;
  breaker_isolate(): void;
  breaker_force_close(): void;
  breaker_reset(): void;
  breaker_state(): number;
  breaker_retry_at(): void;
  breaker_rates(): void;
  breaker_openings(): number;
  limiter_take(count: number): number;
  limiter_look(count: number): number;
  limiter_give_back(count: number): void;
  bulkhead_enter(): number;
  bulkhead_enter_from(place: number): number;
  bulkhead_leave(): void;
  bulkhead_leave_queue(place: number): void;
  bulkhead_running(): number;
  bulkhead_waiting(): number;
  adaptive_take(cost: number): number;
  adaptive_give_back(cost: number): void;
  adaptive_update(throttled: number): void;
  adaptive_rate(): number;
  adaptive_measured(): number;
  adaptive_limits(): number;
  adaptive_tokens(): number;
  stretch_record(failed: number): void;
  stretch_stretch(): void;
  stretch_counts(): void;
  hedge_record(): void;
  hedge_quantile(): void;
  hedge_delay(): void;
  hedge_records(): number;
}

export interface WheelExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  out(): number;
  insert(low: number, high: number): number;
  cancel(low: number, high: number): number;
  pop(low: number, high: number): number;
  next_wake(): number;
  pending(): number;
  clear(): void;
}

export const GUARDS_FIELDS = ["args", "step", "policy", "call", "token", "queue", "text", "budgetConfig", "budget", "breakerConfig", "breaker", "limiterConfig", "limiter", "bulkheadConfig", "bulkhead", "adaptiveConfig", "adaptive", "stretchConfig", "stretch", "hedgeConfig", "hedge", "pauseConfig", "pause"] as const;

// The places of the fields in the memory of `hot.rs`, and their lengths, in words.
export const SEED = 0;
export const NOW = 2;
export const HINT = 4;
export const STEP = 6;
export const STEP_WORDS = 6;
export const POLICY = 12;
export const POLICY_WORDS = 616;
export const CALL = 628;
export const CALL_WORDS = 20;
export const ORIGIN = 648;
export const BUDGET = 650;
export const BUDGET_WORDS = 32;
export const SHORTAGE = 682;
export const SHORTAGE_WORDS = 8;
export const CAPACITY = 690;
export const NOTED = 692;
export const WORDS = 694;

// The places of the fields in the memory of `policies.rs`, and their lengths, in words.
export const BUILT_NUMBER = 0;
export const BUILT_PROBLEM = 2;
export const BUILT_PROBLEM_WORDS = 6;
export const BUILT_LIMITS = 8;
export const BUILT_LIMITS_WORDS = 8;
export const BUILT_RULES = 16;
export const BUILT_RULES_WORDS = 180;
export const BUILT_POLICY = 196;
export const BUILT_POLICY_WORDS = 616;
export const BUILT_WORDS = 812;
export const RULES_WORDS = 180;
/** The place of the number of the latest refusal in a budget. */
export const REFUSALS = 8;
