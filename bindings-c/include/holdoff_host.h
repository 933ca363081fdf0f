/*
 * The program around a call in the loop of holdoff_loop.h: the host with its hooks, clock and guards, the attempt that an operation
 * gets, and the result.
 */
#ifndef HOLDOFF_HOST_H
#define HOLDOFF_HOST_H

#include "holdoff_posix.h"
#include "holdoff/classify.h"
#include "holdoff_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The seeds of a program that is to be repeated: the k-th operation that fails, or that begins under guards, k from 0, gets
 * holdoff_seed_at(n, k).
 * May be shared by threads; then which operation is the k-th depends on them.
 */
typedef struct holdoff_seeds {
  uint64_t n;
  uint64_t k;
} holdoff_seeds;

/** The facts about an attempt for its operation. */
typedef struct holdoff_attempt {
  /** Its number, from 1. */
  uint32_t number;
  /** When it has to be over, HOLDOFF_NEVER without a limit: the operation sees to it, see holdoff_attempt_left_ms. */
  uint64_t abort_at;
  /** The host of its call, with the way to cancel and the clock; for a host that is NULL a zeroed one. */
  const struct holdoff_host *host;
  /** The facts about its error, which the operation writes for the host's rules: status, codes, message. Zeroed before each
   * attempt but for the host's non_idempotent; a message stays where it is until the operation has returned and been judged,
   * in the context for instance. */
  holdoff_facts *facts;
  /** The token to send to another program: of this attempt with a host's `nesting`, else that of the retry around;
   * perhaps NULL. */
  const holdoff_token *token;
} holdoff_attempt;

/**
 * One attempt. `context` is the one of holdoff_run: results and the last error go there.
 *
 * Returns true for a success; for a failure false, described in `failure`, which is transient without a hint unless
 * changed. An attempt that is still transient after its abort_at counts as a timeout. Then the host's rules judge it; a
 * failure of an operation that may not run twice is permanent unless it is throttled or `facts->unsent`, or a rule says so.
 */
typedef bool (*holdoff_operation)(void *context, const holdoff_attempt *attempt, holdoff_failure *failure);

/** Failure kind, for an operation in holdoff_run only: a fault of the caller's own program. Permanent unless a rule that
 * retries names its type, and guards learn nothing of it. */
#define HOLDOFF_FAULT UINT32_C(65535)

/** A retry that is about to be slept for. */
typedef struct holdoff_retrying {
  /** The attempt that failed, from 1; 0 when guards let the first one wait. */
  uint32_t attempt;
  /** A HOLDOFF_CAUSE_ number. */
  uint32_t cause;
  /** How it failed; of kind 0 when none did. */
  holdoff_failure failure;
  /** How long the sleep is, and until when, in nanoseconds. */
  uint64_t delay_ns;
  uint64_t until;
} holdoff_retrying;

/** Time, for tests that do not want to wait. */
typedef struct holdoff_clock {
  /** Returns the time in nanoseconds. */
  uint64_t (*now)(void *state);
  /** Waits until then, or until cancelled. */
  void (*sleep_until)(void *state, uint64_t until, const holdoff_cancel *cancel);
  void *state;
} holdoff_clock;

/** The program around a call. Most programs need it only zeroed, or NULL in its place. */
typedef struct holdoff_host {
  /** How to cancel; NULL for not at all. */
  const holdoff_cancel *cancel;
  /** The rules that judge each failure, by the facts that the operation leaves in its attempt; NULL for no rules. */
  const holdoff_rules *rules;
  /** True if the operation may not run twice: only throttled or unsent failures, or by a rule, are then retried. */
  bool non_idempotent;
  /** Called before each sleep with the context of holdoff_run; NULL for nothing. */
  void (*on_retry)(void *context, const holdoff_retrying *retrying);
  /** Chooses the delay after a failure that is not permanent, before the policy decides; NULL for nothing. It gets the context
   * of holdoff_run, and attempt and failure in `failed`. Returns true and writes `delay_ns`: the delay, exactly, which the
   * deadline alone bounds, or HOLDOFF_NEVER to stop. Or returns false to leave the delay to the policy. */
  bool (*delay)(void *context, const holdoff_retrying *failed, uint64_t *delay_ns);
  /** The seed of this call; NULL for one of `seeds`. */
  const uint64_t *seed;
  /** The seeds of this program; NULL for seeds from the operating system. */
  holdoff_seeds *seeds;
  /** The clock; NULL for the monotonic one. */
  const holdoff_clock *clock;
  /** The guards of the call; NULL for none. Not with a hedge: a thread runs one attempt at a time. */
  const holdoff_guards *guards;
  /** The budget for retries that all calls to this server share; NULL for none. A budget among the guards takes its place. */
  holdoff_loop_budget *budget;
  /** The lock of shared guards and of the budget; NULL if one thread at a time uses them, and then no thread waits for a
   * place in a bulkhead or a breaker that another thread gives back. */
  holdoff_shared *shared;
  /** The rule for a retry inside another one; NULL for HOLDOFF_NESTED_ALLOW, and for attempts without a token of their
   * own. */
  const holdoff_nesting *nesting;
  /** The attempt of the retry around in which this call runs; NULL for none. Its token counts, and holdoff_given_up tells it
   * how this call ended. */
  const holdoff_attempt *around;
  /** The token of a retry around that is elsewhere, out of a header; NULL for none. */
  const holdoff_token *token;
} holdoff_host;

/** How a call ended. */
typedef struct holdoff_result {
  /** HOLDOFF_SUCCEEDED, HOLDOFF_GAVE_UP, HOLDOFF_CANCELLED or HOLDOFF_INVALID. */
  uint8_t outcome;
  /** Gave up, cancelled: a HOLDOFF_REASON_ number. Invalid: a HOLDOFF_ERROR_ number. */
  uint8_t reason;
  /** How many attempts were made. */
  uint32_t attempts;
  /** Gave up: when another try might succeed; HOLDOFF_NEVER when nobody knows. */
  uint64_t retry_at;
  /** The last failure; of kind 0 when no attempt failed. */
  holdoff_failure failure;
} holdoff_result;

static inline uint64_t holdoff_host_now(const holdoff_host *host) {
  return host->clock != NULL ? host->clock->now(host->clock->state) : holdoff_now();
}

/** Tells whether the attempt is to end early because its call was cancelled. */
static inline bool holdoff_attempt_cancelled(const holdoff_attempt *attempt) {
  return holdoff_cancelled(attempt->host->cancel);
}

/**
 * Tells whether the latest retry inside this attempt that named it as `around` ended without success: it gave up. A retry with
 * HOLDOFF_NESTED_INNERMOST does not repeat such an attempt, whatever error the operation makes of it.
 */
static inline bool holdoff_given_up(const holdoff_attempt *attempt) {
  return attempt->facts->given_up != 0;
}

/** Returns the milliseconds left to an attempt by its host's clock, rounded up and at most an hour: what poll wants to know. 0 when
 * its time is over and -1 without a limit; SO_RCVTIMEO and CURLOPT_TIMEOUT_MS take 0 for "no limit", so fail at 0 and set neither at
 * -1. */
static inline int holdoff_attempt_left_ms(const holdoff_attempt *attempt) {
  return attempt->abort_at == HOLDOFF_NEVER ? -1 : holdoff_ms_until(attempt->abort_at, holdoff_host_now(attempt->host));
}

static inline uint64_t holdoff_host_seed(const holdoff_host *host) {
  if (host->seed != NULL) {
    return *host->seed;
  }
  if (host->seeds != NULL) {
    return holdoff_seed_at(host->seeds->n, __atomic_fetch_add(&host->seeds->k, 1, __ATOMIC_RELAXED));
  }
  return holdoff_os_seed();
}

static inline void holdoff_host_sleep(const holdoff_host *host, uint64_t until) {
  if (host->clock != NULL) {
    host->clock->sleep_until(host->clock->state, until, host->cancel);
  } else {
    holdoff_sleep_until(until, host->cancel);
  }
}

/* An attempt that is about to begin: nothing is known of its error yet. */
static inline void holdoff_facts_clear(const holdoff_host *host, holdoff_facts *facts) {
  memset(facts, 0, sizeof *facts);
  facts->non_idempotent = host->non_idempotent;
}

/* A result that says nothing yet but how it ended. */
static inline void holdoff_result_set(holdoff_result *result, uint8_t outcome, uint8_t reason, uint32_t attempts) {
  if (result != NULL) {
    memset(result, 0, sizeof *result);
    result->outcome = outcome;
    result->reason = reason;
    result->attempts = attempts;
    result->retry_at = HOLDOFF_NEVER;
  }
}

/* Tells the attempt around how a call inside it ended. */
static inline void holdoff_host_ended(const holdoff_host *host, uint8_t outcome) {
  if (host->around != NULL && (outcome == HOLDOFF_SUCCEEDED || outcome == HOLDOFF_GAVE_UP)) {
    host->around->facts->given_up = outcome == HOLDOFF_GAVE_UP;
  }
}

/* Resets the failure that an operation describes: written in one piece, because it is read in one. */
static inline void holdoff_failure_clear(holdoff_failure *failure) {
  static const holdoff_failure transient = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
  *failure = transient;
}

/* Makes a failure what the machines are told of it. */
static inline void holdoff_judge(const holdoff_host *host, const holdoff_attempt *attempt, holdoff_failure *failure,
                                 uint64_t now) {
  if (failure->kind == HOLDOFF_FAULT) {
    *failure = holdoff_failure_of(HOLDOFF_PERMANENT);
    attempt->facts->program_fault = 1;
  } else if (failure->kind == HOLDOFF_TRANSIENT && now >= attempt->abort_at) {
    failure->kind = HOLDOFF_TIMEOUT;
  }
  if (host->rules != NULL || host->non_idempotent || attempt->facts->should_retry != 0) {
    *failure = holdoff_rules_judge(host->rules, attempt->facts, *failure);
  }
  if (host->nesting != NULL && holdoff_given_up(attempt)) {
    *failure = holdoff_nesting_after_inner(host->nesting, *failure);
  }
}

/* Returns the token of the retry around; perhaps NULL. */
static inline const holdoff_token *holdoff_host_token(const holdoff_host *host) {
  return host->around != NULL ? host->around->token : host->token;
}

/* Sets the token that an attempt hands down. */
static inline void holdoff_attempt_nest(const holdoff_policy *policy, const holdoff_host *host, holdoff_attempt *attempt,
                                        holdoff_token *token) {
  attempt->token = holdoff_host_token(host);
  if (host->nesting != NULL) {
    *token = holdoff_token_child(attempt->token, attempt->number, holdoff_policy_attempts(policy));
    attempt->token = token;
  }
}

#ifdef __cplusplus
}
#endif

#endif
