/*
 * The retry loop for POSIX programs: clock, sleep, cancellation and seeds around the machine of holdoff.h.
 *
 * Everything here is inline, so that an operation which succeeds at its first attempt never calls into the library. C99 and
 * C++17. Times are nanoseconds of the monotonic clock. Pointers are not NULL where nothing else is said.
 */
#ifndef HOLDOFF_LOOP_H
#define HOLDOFF_LOOP_H

#include "holdoff_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps code that a first success does not need out of its way. Not `cold`, which is to be small, and sets memory byte by byte. */
#define HOLDOFF_APART __attribute__((noinline, unused))
#define HOLDOFF_INLINE __attribute__((always_inline, unused)) inline

/* The seed of a call under guards, which has one from its beginning: of a sequence that starts at a number from the
 * operating system, so that a success does not ask for one. The time tells a child process from its parent. */
static inline uint64_t holdoff_guarded_seed(const holdoff_host *host, uint64_t now) {
  static uint64_t first, count;
  uint64_t start = __atomic_load_n(&first, __ATOMIC_RELAXED);
  if (host->seed != NULL || host->seeds != NULL) {
    return holdoff_host_seed(host);
  }
  if (start == 0) {
    uint64_t drawn = holdoff_os_seed() | 1;
    start = __atomic_compare_exchange_n(&first, &start, drawn, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? drawn : start;
  }
  return holdoff_seed_at(start ^ now, __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED));
}

/* A call in the loop, with guards or without. */
typedef struct holdoff_loop {
  const holdoff_policy *policy;
  const holdoff_host *host;
  holdoff_waiter waiter;
  /* The last failure, and the sleep that the hook was told of. */
  holdoff_failure last;
  uint64_t told_at;
  uint8_t told_cause;
  bool ended;
  union {
    holdoff_call unguarded;
    holdoff_guarded_call guarded;
  } call;
} holdoff_loop;

/* The inputs of a call. */
enum {
  HOLDOFF_PUT_BEGIN,
  HOLDOFF_PUT_SUCCEED,
  HOLDOFF_PUT_FAIL,
  HOLDOFF_PUT_ABANDON,
  HOLDOFF_PUT_TICK,
  HOLDOFF_PUT_CANCEL
};

/* A first attempt succeeded while tokens were missing. */
HOLDOFF_APART static void holdoff_loop_budget_reward(const holdoff_host *host) {
  uint64_t now = holdoff_host_now(host);
  if (host->shared != NULL) {
    holdoff_shared_lock(host->shared);
  }
  holdoff_budget_succeed(&host->budget->budget, now, NULL);
  holdoff_loop_budget_look(host->budget);
  if (host->shared != NULL) {
    holdoff_shared_unlock(host->shared);
  }
}

/* Returns the guard at which a call waits for others; NULL for none. */
static inline const void *holdoff_awaited(const holdoff_guards *guards, const holdoff_guarded_call *call) {
  switch (holdoff_guarded_call_turn(call)) {
    case HOLDOFF_TURN_BULKHEAD:
      return guards->bulkhead;
    case HOLDOFF_TURN_BREAKER:
      return guards->breaker;
    case HOLDOFF_TURN_LIMITER:
      return guards->limiter;
    case HOLDOFF_TURN_ADAPTIVE:
      return guards->adaptive;
    default:
      return NULL;
  }
}

/* One transition of a call under guards, locked; keeps it in the list of waiters for as long as it waits for a place. */
HOLDOFF_APART static holdoff_step holdoff_put_guarded(holdoff_loop *loop, int input, uint64_t ticket, uint64_t now,
                                                      holdoff_failure failure) {
  holdoff_guarded_call *call = &loop->call.guarded;
  const holdoff_policy *policy = loop->policy;
  const holdoff_guards *guards = loop->host->guards;
  holdoff_shared *shared = loop->host->shared;
  holdoff_waiter *waiter = &loop->waiter;
  holdoff_step step;
  if (shared != NULL) {
    holdoff_shared_lock(shared);
  }
  switch (input) {
    case HOLDOFF_PUT_BEGIN:
      step = holdoff_guarded_call_begin(call, policy, guards, holdoff_guarded_seed(loop->host, now), now);
      break;
    case HOLDOFF_PUT_SUCCEED:
      step = holdoff_guarded_call_succeed(call, guards, ticket, now);
      break;
    case HOLDOFF_PUT_FAIL:
      step = holdoff_guarded_call_fail(call, policy, guards, ticket, now, failure);
      break;
    case HOLDOFF_PUT_ABANDON:
      step = holdoff_guarded_call_abandon(call, guards, ticket, now);
      break;
    case HOLDOFF_PUT_TICK:
      step = holdoff_guarded_call_tick(call, policy, guards, now);
      break;
    default:
      step = holdoff_guarded_call_cancel(call, guards, now);
  }
  if (step.kind == HOLDOFF_STOP && step.outcome == HOLDOFF_INVALID && input != HOLDOFF_PUT_BEGIN) {
    /* Wrong use changes nothing, and here it ends the call. */
    holdoff_guarded_call_cancel(call, guards, now);
  }
  holdoff_loop_budget_look(loop->host->budget);
  if (shared != NULL) {
    const void *guard = holdoff_awaited(guards, call);
    holdoff_waiter **link = &shared->waiters;
    if (guard != waiter->guard) {
      while (*link != NULL) {
        if (*link == waiter) {
          *link = waiter->next;
        } else {
          link = &(*link)->next;
        }
      }
      if (guard != NULL) {
        *link = waiter;
      }
      waiter->next = NULL;
      waiter->guard = guard;
    }
    waiter->woken = false;
    holdoff_shared_wake(shared, guards);
    holdoff_shared_unlock(shared);
  }
  return step;
}

/* One transition of a call, or its end when the host has cancelled. Which of the two machines and which input are known when
 * this is compiled. */
HOLDOFF_INLINE static void holdoff_put(holdoff_step *step, holdoff_loop *loop, bool guarded, int input, uint64_t ticket,
                                       uint64_t now, holdoff_failure failure) {
  bool ends = input != HOLDOFF_PUT_BEGIN && input != HOLDOFF_PUT_SUCCEED && holdoff_cancelled(loop->host->cancel);
  if (guarded) {
    *step = holdoff_put_guarded(loop, ends ? HOLDOFF_PUT_CANCEL : input, ticket, now, failure);
  } else if (ends) {
    *step = holdoff_call_cancel(&loop->call.unguarded, now);
  } else if (input == HOLDOFF_PUT_SUCCEED) {
    *step = holdoff_call_succeed(&loop->call.unguarded, ticket, now);
  } else if (input == HOLDOFF_PUT_TICK) {
    *step = holdoff_call_tick(&loop->call.unguarded, loop->policy, now);
  } else {
    *step = holdoff_call_fail(&loop->call.unguarded, loop->policy, ticket, now, failure);
  }
}

/* Asks the host for the delay after a failure, and decides by its answer. Returns false if it has none. */
HOLDOFF_APART static bool holdoff_put_chosen(holdoff_step *step, holdoff_loop *loop, bool guarded, uint32_t number,
                                             uint64_t ticket, uint64_t now, holdoff_failure failure, void *context) {
  const holdoff_policy *own = loop->policy;
  holdoff_policy exact = *own;
  holdoff_retrying failed;
  uint64_t delay_ns = HOLDOFF_NEVER;
  memset(&failed, 0, sizeof failed);
  failed.attempt = number;
  failed.failure = failure;
  if (!loop->host->delay(context, &failed, &delay_ns)) {
    return false;
  }
  failure.hint = delay_ns == HOLDOFF_NEVER ? HOLDOFF_HINT_NEVER : HOLDOFF_HINT_AFTER;
  failure.hint_ns = delay_ns == HOLDOFF_NEVER ? 0 : delay_ns;
  holdoff_policy_set_exact_hints(&exact);
  loop->policy = &exact;
  holdoff_put(step, loop, guarded, HOLDOFF_PUT_FAIL, ticket, now, failure);
  loop->policy = own;
  return true;
}

/* Waits until then, until cancelled, or until a place may be free. */
static inline void holdoff_queue_wait(const holdoff_host *host, holdoff_waiter *waiter, uint64_t until) {
  struct pollfd wakes[2];
  char byte;
  int left;
  bool woken = false;
  if (waiter->wake[0] == -1) {
    int ends[2] = {-1, -1};
    if (holdoff_pipe(ends) == 0) {
      holdoff_shared_lock(host->shared);
      memcpy(waiter->wake, ends, sizeof ends);
      woken = waiter->woken;
      holdoff_shared_unlock(host->shared);
    }
  }
  if (woken || holdoff_cancelled(host->cancel)) {
    return;
  }
  memset(wakes, 0, sizeof wakes);
  wakes[0].fd = waiter->wake[0];
  wakes[1].fd = host->cancel != NULL ? holdoff_cancel_fd(host->cancel) : -1;
  wakes[0].events = wakes[1].events = POLLIN;
  left = holdoff_ms_until(until, holdoff_now());
  /* Without a descriptor to be woken by, look again and again. */
  poll(wakes, 2, waiter->wake[0] == -1 && left > 5 ? 5 : left);
  /* Before the next look at the guard: a wake after it is for the next wait. */
  while (waiter->wake[0] != -1 && read(waiter->wake[0], &byte, 1) == 1) {
  }
}

/* Gives back what a call under guards holds, also when its operation or a hook does not return: by an exception, or by the
 * cancellation of its thread where C is compiled with -fexceptions. A call without guards holds nothing: NULL. */
static inline void holdoff_loop_leave(holdoff_loop **guarded) {
  holdoff_loop *loop = *guarded;
  if (loop != NULL && !loop->ended) {
    holdoff_put_guarded(loop, HOLDOFF_PUT_CANCEL, 0, holdoff_host_now(loop->host), loop->last);
  }
  if (loop != NULL && loop->waiter.wake[0] != -1) {
    close(loop->waiter.wake[0]);
    close(loop->waiter.wake[1]);
  }
}

/* The loop of every call. A call under guards is in it from its beginning; any other comes after its first attempt has failed,
 * and `attempt` has a number. `started` is HOLDOFF_NEVER if no clock was read before that attempt; `noted` is the number of the
 * latest refusal of the host's budget then. */
HOLDOFF_INLINE static bool holdoff_run_loop(const holdoff_policy *policy, const holdoff_host *host, bool guarded,
                                            holdoff_operation operation, void *context, holdoff_result *result,
                                            uint64_t started, uint32_t noted, holdoff_attempt attempt,
                                            holdoff_failure failure) {
  uint64_t now = holdoff_host_now(host), ticket = HOLDOFF_FIRST_TICKET;
  bool failed = attempt.number != 0;
  holdoff_token token;
  holdoff_step step;
  holdoff_loop loop;
  __attribute__((cleanup(holdoff_loop_leave))) holdoff_loop *leaving = NULL;
  loop.policy = policy;
  loop.host = host;
  loop.told_at = loop.told_cause = 0;
  memset(&loop.last, 0, sizeof loop.last);
  if (guarded) {
    memset(&loop.waiter, 0, sizeof loop.waiter);
    loop.waiter.wake[0] = loop.waiter.wake[1] = -1;
    loop.ended = false;
    bool was_clocked = failed && started != HOLDOFF_NEVER;
    holdoff_put(&step, &loop, guarded, HOLDOFF_PUT_BEGIN, ticket, was_clocked ? started : now, loop.last);
    if (failed) {
      /* It began before its first attempt. */
      holdoff_guarded_call_note(&loop.call.guarded, noted);
    }
    leaving = &loop;
  } else {
    holdoff_call_underway(&loop.call.unguarded, holdoff_host_seed(host), started == HOLDOFF_NEVER ? now : started);
  }
  for (;;) {
    if (failed) {
      bool fault = failure.kind == HOLDOFF_FAULT;
      holdoff_judge(host, &attempt, &failure, now);
      fault &= failure.kind == HOLDOFF_PERMANENT;
      loop.last = failure;
      loop.told_cause = 0;
      if (host->delay == NULL || failure.kind == HOLDOFF_PERMANENT ||
          !holdoff_put_chosen(&step, &loop, guarded, attempt.number, ticket, now, failure, context)) {
        holdoff_put(&step, &loop, guarded, fault ? HOLDOFF_PUT_ABANDON : HOLDOFF_PUT_FAIL, ticket, now, failure);
      }
    }
    while (step.kind == HOLDOFF_SLEEP) {
      if (host->on_retry != NULL && (step.at != loop.told_at || step.cause != loop.told_cause)) {
        holdoff_retrying retrying;
        retrying.attempt = attempt.number;
        retrying.cause = loop.told_cause = step.cause;
        retrying.failure = loop.last;
        retrying.delay_ns = step.at > now ? step.at - now : 0;
        retrying.until = loop.told_at = step.at;
        host->on_retry(context, &retrying);
      }
      if (guarded && loop.waiter.guard != NULL && host->clock == NULL) {
        holdoff_queue_wait(host, &loop.waiter, step.at);
      } else if (!holdoff_cancelled(host->cancel)) {
        /* The hook may have cancelled, and not every clock looks. */
        holdoff_host_sleep(host, step.at);
      }
      now = holdoff_host_now(host);
      holdoff_put(&step, &loop, guarded, HOLDOFF_PUT_TICK, ticket, now, loop.last);
    }
    if (step.kind != HOLDOFF_ATTEMPT) {
      break;
    }
    ticket = holdoff_step_ticket(step);
    attempt.number = step.attempt;
    attempt.abort_at = step.at;
    holdoff_attempt_nest(policy, host, &attempt, &token);
    holdoff_facts_clear(host, attempt.facts);
    holdoff_failure_clear(&failure);
    failed = !operation(context, &attempt, &failure);
    now = holdoff_host_now(host);
    if (!failed) {
      holdoff_put(&step, &loop, guarded, HOLDOFF_PUT_SUCCEED, ticket, now, loop.last);
      break;
    }
  }
  loop.ended = true;
  holdoff_host_ended(host, step.outcome);
  holdoff_result_set(result, step.outcome, step.outcome == HOLDOFF_CANCELLED ? HOLDOFF_REASON_CANCELLED : step.reason,
                     attempt.number);
  if (result != NULL) {
    result->retry_at = step.at;
    result->failure = loop.last;
  }
  return step.outcome == HOLDOFF_SUCCEEDED;
}

/* A call under guards and the host's budget, which is in their place among them. */
HOLDOFF_APART static bool holdoff_run_under(const holdoff_policy *policy, const holdoff_host *host,
                                            holdoff_operation operation, void *context, holdoff_result *result,
                                            uint64_t started, uint32_t noted, holdoff_attempt attempt,
                                            holdoff_failure failure) {
  holdoff_host budgeted = *host;
  holdoff_guards guards;
  memset(&guards, 0, sizeof guards);
  if (host->guards != NULL) {
    guards = *host->guards;
  }
  if (guards.budget == NULL) {
    guards.budget = &host->budget->budget;
  }
  budgeted.guards = &guards;
  return holdoff_run_loop(policy, &budgeted, true, operation, context, result, started, noted, attempt, failure);
}

/* A call without guards, from the failure of its first attempt on. */
HOLDOFF_APART static bool holdoff_run_on(const holdoff_policy *policy, const holdoff_host *host,
                                         holdoff_operation operation, void *context, holdoff_result *result,
                                         uint64_t started, uint32_t noted, holdoff_attempt attempt,
                                         holdoff_failure failure) {
  if (host->budget != NULL) {
    return holdoff_run_under(policy, host, operation, context, result, started, noted, attempt, failure);
  }
  return holdoff_run_loop(policy, host, false, operation, context, result, started, noted, attempt, failure);
}

/* The whole call without guards. */
static inline bool holdoff_run_unguarded(const holdoff_policy *policy, const holdoff_host *host, holdoff_operation operation,
                                     void *context, holdoff_result *result, holdoff_attempt attempt) {
  uint64_t started = HOLDOFF_NEVER;
  uint32_t noted = host->budget != NULL ? __atomic_load_n(&host->budget->refusals, __ATOMIC_RELAXED) : 0;
  holdoff_failure failure;
  if (policy->first_limit_ns != HOLDOFF_NEVER) {
    started = holdoff_host_now(host);
    /* HOLDOFF_NEVER - 1 is no limit: something else counts from here. */
    attempt.abort_at = started < HOLDOFF_NEVER - 1 - policy->first_limit_ns ? started + policy->first_limit_ns : HOLDOFF_NEVER;
  }
  holdoff_facts_clear(host, attempt.facts);
  holdoff_failure_clear(&failure);
  if (__builtin_expect(operation(context, &attempt, &failure), true)) {
    holdoff_result_set(result, HOLDOFF_SUCCEEDED, 0, 1);
    holdoff_host_ended(host, HOLDOFF_SUCCEEDED);
    if (host->budget != NULL && __atomic_load_n(&host->budget->is_short, __ATOMIC_RELAXED)) {
      holdoff_loop_budget_reward(host);
    }
    return true;
  }
  return holdoff_run_on(policy, host, operation, context, result, started, noted, attempt, failure);
}

/* The whole call of a host that has guards or a nesting. */
HOLDOFF_APART static bool holdoff_run_among(const holdoff_policy *policy, const holdoff_host *host,
                                            holdoff_operation operation, void *context, holdoff_result *result,
                                            holdoff_attempt attempt) {
  holdoff_failure failure;
  holdoff_policy nested;
  holdoff_token token;
  if (host->nesting != NULL) {
    nested = *policy;
    holdoff_policy_set_attempts(&nested,
                                holdoff_nesting_attempts(host->nesting, holdoff_host_token(host), holdoff_policy_attempts(policy)));
    policy = &nested;
    holdoff_attempt_nest(policy, host, &attempt, &token);
  }
  if (host->guards == NULL) {
    return holdoff_run_unguarded(policy, host, operation, context, result, attempt);
  }
  if (host->guards->hedge != NULL) {
    holdoff_result_set(result, HOLDOFF_INVALID, HOLDOFF_ERROR_NOT_SUPPORTED, 0);
    return false;
  }
  holdoff_failure_clear(&failure);
  attempt.number = 0;
  if (host->budget != NULL) {
    return holdoff_run_under(policy, host, operation, context, result, HOLDOFF_NEVER, 0, attempt, failure);
  }
  return holdoff_run_loop(policy, host, true, operation, context, result, HOLDOFF_NEVER, 0, attempt, failure);
}

/**
 * Runs an operation until it succeeds, the policy gives up, or the host cancels; sleeps on the calling thread.
 *
 * `host` may be NULL. `context` goes to the operation and to on_retry, and keeps whatever they put there: the last error is
 * still in it afterwards. How it ended is written to `result`, which may be NULL.
 *
 * Under guards the call may end before its first attempt: HOLDOFF_GAVE_UP, no attempts, the reason of the guard, and in
 * `retry_at` when it would let the attempt through.
 *
 * Returns whether an attempt succeeded. A success is one even when it comes after a limit or a cancellation; a failure
 * under cancellation ends the call as cancelled. Without a policy or an operation nothing runs: HOLDOFF_INVALID. Nor does it
 * under guards with a hedge, HOLDOFF_ERROR_NOT_SUPPORTED: that takes two attempts at once, see holdoff_guarded_call.
 */
static inline bool holdoff_run(const holdoff_policy *policy, const holdoff_host *host, holdoff_operation operation,
                               void *context, holdoff_result *result) {
  static holdoff_host none;
  holdoff_attempt attempt;
  holdoff_facts facts;
  host = host != NULL ? host : &none;
  if (policy == NULL || operation == NULL) {
    holdoff_result_set(result, HOLDOFF_INVALID, HOLDOFF_ERROR_NULL_POINTER, 0);
    return false;
  }
  if (policy->magic != HOLDOFF_POLICY_MAGIC) {
    holdoff_result_set(result, HOLDOFF_INVALID, HOLDOFF_ERROR_NOT_A_POLICY, 0);
    return false;
  }
  attempt.number = 1;
  attempt.abort_at = HOLDOFF_NEVER;
  attempt.host = host;
  attempt.facts = &facts;
  attempt.token = host->token;
  if (holdoff_cancelled(host->cancel)) {
    holdoff_result_set(result, HOLDOFF_CANCELLED, HOLDOFF_REASON_CANCELLED, 0);
    return false;
  }
  if (__builtin_expect(host->guards != NULL || host->nesting != NULL, false)) {
    return holdoff_run_among(policy, host, operation, context, result, attempt);
  }
  return holdoff_run_unguarded(policy, host, operation, context, result, attempt);
}

#ifdef __cplusplus
}
#endif

#endif
