/* Linked without the library: an operation that succeeds at once never enters it. */
#include "holdoff_loop.h"

#include <stdlib.h>

int holdoff_call_underway(struct holdoff_call *call, uint64_t seed, uint64_t started) {
  (void)call, (void)seed, (void)started;
  abort();
}

holdoff_step holdoff_call_succeed(struct holdoff_call *call, uint64_t ticket, uint64_t now) {
  (void)call, (void)ticket, (void)now;
  abort();
}

holdoff_step holdoff_call_fail(holdoff_call *call, const holdoff_policy *policy, uint64_t ticket, uint64_t now,
                               holdoff_failure failure) {
  (void)call, (void)policy, (void)ticket, (void)now, (void)failure;
  abort();
}

holdoff_step holdoff_call_tick(holdoff_call *call, const holdoff_policy *policy, uint64_t now) {
  (void)call, (void)policy, (void)now;
  abort();
}

holdoff_step holdoff_call_cancel(holdoff_call *call, uint64_t now) {
  (void)call, (void)now;
  abort();
}

holdoff_failure holdoff_rules_judge(const holdoff_rules *rules, const holdoff_facts *facts, holdoff_failure failure) {
  (void)rules, (void)facts, (void)failure;
  abort();
}

uint32_t holdoff_call_attempt(const holdoff_call *call) {
  (void)call;
  abort();
}

uint64_t holdoff_call_remaining(const holdoff_call *call, uint64_t now) {
  (void)call, (void)now;
  abort();
}

uint64_t holdoff_step_ticket(holdoff_step step) {
  (void)step;
  abort();
}

uint64_t holdoff_seed_at(uint64_t n, uint64_t k) {
  (void)n, (void)k;
  abort();
}

uint32_t holdoff_budget_refusals(const holdoff_budget *budget) {
  (void)budget;
  abort();
}

int holdoff_guarded_call_note(holdoff_guarded_call *call, uint32_t refusals) {
  (void)call, (void)refusals;
  abort();
}

uint32_t holdoff_limiter_to_wake(const holdoff_limiter *limiter) {
  (void)limiter;
  abort();
}

uint32_t holdoff_adaptive_to_wake(const holdoff_adaptive *adaptive) {
  (void)adaptive;
  abort();
}

uint32_t holdoff_guarded_call_turn(const holdoff_guarded_call *call) {
  (void)call;
  abort();
}

holdoff_failure holdoff_nesting_after_inner(const holdoff_nesting *nesting, holdoff_failure failure) {
  (void)nesting, (void)failure;
  abort();
}

int holdoff_policy_set_exact_hints(holdoff_policy *policy) {
  (void)policy;
  abort();
}

holdoff_failure holdoff_failure_of(uint32_t kind) {
  (void)kind;
  abort();
}

uint32_t holdoff_policy_attempts(const holdoff_policy *policy) {
  (void)policy;
  abort();
}

int holdoff_policy_set_attempts(holdoff_policy *policy, uint32_t attempts) {
  (void)policy, (void)attempts;
  abort();
}

uint32_t holdoff_nesting_attempts(const holdoff_nesting *nesting, const holdoff_token *token, uint32_t own) {
  (void)nesting, (void)token, (void)own;
  abort();
}

holdoff_token holdoff_token_child(const holdoff_token *parent, uint32_t attempt, uint32_t attempts) {
  (void)parent, (void)attempt, (void)attempts;
  abort();
}

uint32_t holdoff_bulkhead_running(const holdoff_bulkhead *bulkhead) {
  (void)bulkhead;
  abort();
}

uint32_t holdoff_bulkhead_limit(const holdoff_bulkhead *bulkhead) {
  (void)bulkhead;
  abort();
}

uint32_t holdoff_breaker_admits(const holdoff_breaker *breaker) {
  (void)breaker;
  abort();
}

holdoff_step holdoff_guarded_call_begin(holdoff_guarded_call *call, const holdoff_policy *policy, const holdoff_guards *guards,
                                   uint64_t seed, uint64_t now) {
  (void)call, (void)policy, (void)guards, (void)seed, (void)now;
  abort();
}

holdoff_step holdoff_guarded_call_succeed(holdoff_guarded_call *call, const holdoff_guards *guards, uint64_t ticket, uint64_t now) {
  (void)call, (void)guards, (void)ticket, (void)now;
  abort();
}

holdoff_step holdoff_guarded_call_fail(holdoff_guarded_call *call, const holdoff_policy *policy, const holdoff_guards *guards,
                                  uint64_t ticket, uint64_t now, holdoff_failure failure) {
  (void)call, (void)policy, (void)guards, (void)ticket, (void)now, (void)failure;
  abort();
}

holdoff_step holdoff_guarded_call_abandon(holdoff_guarded_call *call, const holdoff_guards *guards, uint64_t ticket, uint64_t now) {
  (void)call, (void)guards, (void)ticket, (void)now;
  abort();
}

holdoff_step holdoff_guarded_call_tick(holdoff_guarded_call *call, const holdoff_policy *policy, const holdoff_guards *guards,
                                  uint64_t now) {
  (void)call, (void)policy, (void)guards, (void)now;
  abort();
}

holdoff_step holdoff_guarded_call_cancel(holdoff_guarded_call *call, const holdoff_guards *guards, uint64_t now) {
  (void)call, (void)guards, (void)now;
  abort();
}

uint32_t holdoff_guarded_call_attempt(const holdoff_guarded_call *call) {
  (void)call;
  abort();
}

uint64_t holdoff_guarded_call_remaining(const holdoff_guarded_call *call, uint64_t now) {
  (void)call, (void)now;
  abort();
}

bool holdoff_budget_is_full(const holdoff_budget *budget) {
  (void)budget;
  abort();
}

int holdoff_budget_succeed(holdoff_budget *budget, uint64_t now, const uint32_t *withdrawal) {
  (void)budget, (void)now, (void)withdrawal;
  abort();
}

static bool succeed(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  (void)failure;
  *(uint64_t *)context = attempt->abort_at;
  return true;
}

int main(void) {
  holdoff_policy policy;
  holdoff_result result;
  holdoff_loop_budget budget;
  holdoff_host host;
  uint64_t abort_at = 0;
  policy.magic = HOLDOFF_POLICY_MAGIC;
  policy.first_limit_ns = HOLDOFF_NEVER;
  if (!holdoff_run(&policy, NULL, succeed, &abort_at, &result) || abort_at != HOLDOFF_NEVER || result.attempts != 1) {
    return 1;
  }
  policy.first_limit_ns = 1000000000;
  if (!holdoff_run(&policy, NULL, succeed, &abort_at, &result) || abort_at == HOLDOFF_NEVER) {
    return 2;
  }
  memset(&host, 0, sizeof host);
  host.budget = &budget;
  budget.is_short = false;
  if (!holdoff_run(&policy, &host, succeed, &abort_at, &result)) {
    return 3;
  }
  return 0;
}
