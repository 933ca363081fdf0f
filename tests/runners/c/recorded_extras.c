/*
 * Recordings of the rest of langgraphgo's retry.go: its jittered retry, its breaker and its limiter as configurations of
 * ours.
 *
 * The breaker has two quirks that ours has not: its limit of half-open calls counts all of them but the first, and passing
 * it opens it again with an old time. From such a call on the two go apart until they meet again; what was recorded in
 * between has to be what the original's own rules give, so that a wrong recording is no deviation.
 */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *node_of(const cJSON *config) {
  const char *node = word(config, "node");
  return *node != 0 ? node : "N";
}

/* Makes the options of the retry: exponential by 2, jittered by a quarter of what the cap leaves. */
static void retry_options(holdoff_options *options, int64_t base, int64_t tries) {
  char text[32];
  sprintf(text, "%" PRId64 "ns", base);
  holdoff_options_init(options);
  holdoff_options_set_text(options, "backoff.kind", "exponential");
  holdoff_options_set_text(options, "backoff.initial", text);
  holdoff_options_set_number(options, "backoff.factor", 2);
  holdoff_options_set_text(options, "backoff.max", "none");
  holdoff_options_set_text(options, "jitter.kind", "proportional");
  holdoff_options_set_number(options, "jitter.factor", 0.25);
  holdoff_options_set_text(options, "cap", "before_jitter");
  if (tries > UINT32_MAX) {
    holdoff_options_set_text(options, "attempts", "forever");
  } else {
    holdoff_options_set_number(options, "attempts", (double)tries);
  }
}

/* Whether the options are refused for this field and reason. */
static bool refused(const holdoff_options *options, const char *path, int code) {
  holdoff_policy policy;
  holdoff_problem problem;
  return holdoff_policy_build(&policy, options, &problem) == code && strcmp(problem.path, path) == 0;
}

/* The function's loop: no look at the context before a call, and the last error as it is. */
static bool execute(scripted *run, const cJSON *config, const holdoff_policy *policy) {
  holdoff_schedule schedule, before;
  const cJSON *draw = first(get(config, "uniforms"));
  uint64_t delay, until;
  holdoff_schedule_init(&schedule, policy, 0);
  for (;;) {
    if (!scripted_call(run)) {
      return false;
    }
    before = schedule;
    if (strcmp(run->last, "ok") == 0 || !holdoff_schedule_next(&schedule, &delay)) {
      return true;
    }
    schedule = before;
    if (draw == NULL || !holdoff_schedule_next_at(&schedule, HOLDOFF_TRANSIENT, real_of(draw), &delay)) {
      fail("a draw for each wait", "none", run->calls);
      return false;
    }
    draw = draw->next;
    until = delay < HOLDOFF_NEVER - 1 - run->now ? run->now + delay : HOLDOFF_NEVER - 1;
    if (scripted_wait(run, until)) {
      return true;
    }
  }
}

/* What a recording of the execution says. */
static cJSON *recorded(const scripted *run) {
  bool is_ok = !run->cancelled && strcmp(run->last, "ok") == 0;
  return scripted_result(run, is_ok ? "ok" : NULL, run->cancelled ? context_error(run) : run->last, NULL);
}

/* A delay doubled so often, at most the largest integer. */
static int64_t doubled(int64_t base, int times) {
  while (times-- > 0) {
    base = base > INT64_MAX / 2 ? INT64_MAX : base * 2;
  }
  return base;
}

/* Whether the doubled delay leaves the range of an integer, or what was recorded shows that its jitter does. */
static bool wraps(int64_t base, int times, const cJSON *delay) {
  return (base > 0 && (times > 62 || base > INT64_MAX >> times)) || whole_of(delay) < 0;
}

/* Where the original's delay leaves the range of an integer, ours stays at its end. */
static verdict saturated(const scripted *run, const cJSON *config, int64_t base, const cJSON *expected) {
  const cJSON *one = first(get(expected, "delays")), *other = run->delays->child, *draw = first(get(config, "uniforms"));
  int at;
  for (at = 0; one != NULL && other != NULL; at++) {
    int64_t promised = whole_of(one);
    if (wraps(base, at, one)) {
      int64_t most = doubled(base, at), extra = (int64_t)((double)most * 0.25 * (2 * real_of(draw) - 1));
      promised = extra > INT64_MAX - most ? INT64_MAX : most + extra;
      counted.deviations++;
    }
    if (promised != whole_of(other)) {
      return fail("the delay at the end of an integer's range", "another", at);
    }
    one = one->next;
    other = other->next;
    draw = draw != NULL ? draw->next : NULL;
  }
  if (whole(config, "cancel_at") < 0 && whole(expected, "calls") != run->calls) {
    return fail("as many calls", "another number", -1);
  }
  return PASSED;
}

static verdict run_ebr(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected")), *delay;
  int64_t base = whole(config, "base_delay"), tries = whole(config, "max_attempts");
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  verdict judged = FAILED;
  scripted run;
  cJSON *got;
  bool apart = false, ends = false;
  int at = 0;
  scripted_begin(&run, get(item, "inputs"), config);
  run.last = "max attempts reached";
  if (tries < 1) {
    /* An operation that is never tried: a wrong number of attempts here. */
    retry_options(&options, base > 0 ? base : 0, tries);
    got = recorded(&run);
    judged = !refused(&options, "attempts", HOLDOFF_ERROR_ATTEMPTS_RANGE) ? fail("attempts_range", "another error", -1)
             : cJSON_Compare(expected, got, true)                         ? OUT_OF_DOMAIN
                                                                          : differ(expected, got, -1);
    cJSON_Delete(got);
    goto done;
  }
  retry_options(&options, base, tries);
  if (base < 0) {
    /* Waits below zero are none; they are those of the positive number, mirrored. */
    if (!refused(&options, "backoff.initial", HOLDOFF_ERROR_NOT_A_DURATION)) {
      fail("not_a_duration", "another error", -1);
      goto done;
    }
    retry_options(&options, base == INT64_MIN ? INT64_MAX : -base, tries);
    ends = run.ends != HOLDOFF_NEVER;
    run.ends = HOLDOFF_NEVER;
  }
  if (holdoff_policy_build(&policy, &options, &problem) != 0) {
    fail("a valid policy", problem.rule, -1);
    goto done;
  }
  if (!execute(&run, config, &policy)) {
    goto done;
  }
  if (base < 0) {
    const cJSON *other = run.delays->child;
    delay = first(get(expected, "delays"));
    while (delay != NULL && other != NULL && whole_of(delay) == -whole_of(other)) {
      delay = delay->next;
      other = other->next;
    }
    /* A context ends where it ends: without a wait there are fewer or more calls. */
    judged = (delay == NULL && other == NULL) || (ends && (delay == NULL || other == NULL))
                 ? OUT_OF_DOMAIN
                 : fail("the mirrored waits", "others", -1);
    goto done;
  }
  cJSON_ArrayForEach(delay, get(expected, "delays")) { apart = wraps(base, at++, delay) || apart; }
  if (apart) {
    judged = saturated(&run, config, base, expected);
    goto done;
  }
  got = recorded(&run);
  judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
  cJSON_Delete(got);
done:
  cJSON_Delete(run.delays);
  return judged;
}

/* The original's breaker. */
typedef struct original {
  int64_t failure_threshold, success_threshold, timeout, most, failures, successes, calls, last_failure;
  uint32_t state;
  /* The latest call found the limit of half-open calls. */
  bool passed_its_limit;
} original;

/* What is recorded of a call. */
static cJSON *original_call(original *its, const char *node, int64_t start, int64_t took, const char *result) {
  char error[512] = "";
  cJSON *got = cJSON_CreateObject();
  const char *refuses = NULL;
  its->passed_its_limit = false;
  if (its->state == HOLDOFF_BREAKER_OPEN) {
    if (start - its->last_failure > its->timeout) {
      its->state = HOLDOFF_BREAKER_HALF_OPEN;
      its->calls = 0;
    } else {
      refuses = "open";
    }
  } else if (its->state == HOLDOFF_BREAKER_HALF_OPEN) {
    if (its->calls >= its->most) {
      its->state = HOLDOFF_BREAKER_OPEN;
      its->passed_its_limit = true;
      refuses = "half-open limit reached";
    } else {
      its->calls++;
    }
  }
  if (refuses != NULL) {
    snprintf(error, sizeof error, "circuit breaker %s for %s", refuses, node);
  } else if (strcmp(result, "ok") == 0) {
    its->successes++;
    its->failures = 0;
    if (its->state == HOLDOFF_BREAKER_HALF_OPEN && its->successes >= its->success_threshold) {
      its->state = HOLDOFF_BREAKER_CLOSED;
    }
  } else {
    its->failures++;
    its->successes = 0;
    its->last_failure = start > INT64_MAX - took ? INT64_MAX : start + took;
    if (its->failures >= its->failure_threshold) {
      its->state = HOLDOFF_BREAKER_OPEN;
    }
    snprintf(error, sizeof error, "circuit breaker error in %s: %s", node, result);
  }
  cJSON_AddItemToObject(got, "error", *error != 0 ? cJSON_CreateString(error) : cJSON_CreateNull());
  cJSON_AddBoolToObject(got, "ran", refuses == NULL);
  cJSON_AddStringToObject(got, "state", holdoff_word(HOLDOFF_WORD_BREAKER, its->state));
  cJSON_AddItemToObject(got, "failures", made(its->failures));
  cJSON_AddItemToObject(got, "successes", made(its->successes));
  cJSON_AddItemToObject(got, "half_open_calls", made(its->calls));
  return got;
}

/* Whether it and ours have met again: what both do from here on is the same. */
static bool is_as(const original *its, uint32_t state, uint32_t failures, uint64_t retry_at) {
  int64_t until = its->last_failure + its->timeout + 1;
  bool in_state = state == HOLDOFF_BREAKER_CLOSED ||
                  (state == HOLDOFF_BREAKER_OPEN && retry_at == (until > 0 ? (uint64_t)until : 0));
  return in_state && state == its->state && its->failures == (int64_t)failures;
}

/* A threshold below 1 is one of 1. */
static double threshold(const cJSON *config, const char *name) {
  int64_t count = whole(config, name);
  return count < 1 ? 1 : count > UINT32_MAX ? UINT32_MAX : (double)count;
}

static verdict run_circuit(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected;
  const char *node = node_of(config);
  holdoff_options options;
  holdoff_breaker breaker;
  holdoff_problem problem;
  original its;
  int64_t timeout = whole(config, "timeout");
  bool apart = false;
  int at = 0;
  if (timeout < 0) {
    char text[32];
    sprintf(text, "%" PRId64 "ns", timeout);
    holdoff_options_init(&options);
    holdoff_options_set_text(&options, "breaker.open_for", text);
    if (!refused(&options, "breaker.open_for", HOLDOFF_ERROR_NOT_A_DURATION)) {
      return fail("not_a_duration of breaker.open_for", "another error", -1);
    }
  }
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "breaker.failures", threshold(config, "failure_threshold"));
  /* It is open for the timeout, that instant included. */
  holdoff_options_set_ns(&options, "breaker.open_for",
                         timeout < 0           ? 0
                         : timeout < INT64_MAX ? (uint64_t)timeout + 1
                                               : INT64_MAX);
  holdoff_options_set_number(&options, "breaker.probes", threshold(config, "half_open_max_calls"));
  holdoff_options_set_number(&options, "breaker.successes", threshold(config, "success_threshold"));
  holdoff_options_set_text(&options, "breaker.reopen", "streak");
  if (holdoff_breaker_init(&breaker, &options, 0, 0, &problem) != 0) {
    return fail("a valid breaker", problem.rule, -1);
  }
  memset(&its, 0, sizeof its);
  its.failure_threshold = whole(config, "failure_threshold");
  its.success_threshold = whole(config, "success_threshold");
  its.timeout = timeout;
  its.most = whole(config, "half_open_max_calls");
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    uint64_t start = number(input, "at"), took = number(input, "took"), now = start;
    const char *result = word(input, "result"), *recorded_error = cJSON_GetStringValue(get(expected, "error"));
    char error[512] = "";
    uint32_t permit, failures, state;
    bool ran = holdoff_breaker_acquire(&breaker, now, &permit, NULL), same;
    cJSON *theirs;
    if (ran) {
      now += took;
      holdoff_breaker_record(&breaker, permit, now, strcmp(result, "ok") != 0, took);
      if (strcmp(result, "ok") != 0) {
        snprintf(error, sizeof error, "circuit breaker error in %s: %s", node, result);
      }
    } else {
      snprintf(error, sizeof error, "circuit breaker open for %s", node);
    }
    holdoff_breaker_rates(&breaker, now, &failures, NULL, NULL);
    state = holdoff_breaker_state(&breaker, now);
    theirs = original_call(&its, node, (int64_t)start, (int64_t)took, result);
    same = strcmp(recorded_error != NULL ? recorded_error : "", error) == 0 && truth(expected, "ran") == ran &&
           strcmp(word(expected, "state"), holdoff_word(HOLDOFF_WORD_BREAKER, state)) == 0 &&
           whole(expected, "failures") == (int64_t)failures && get(expected, "failures") != NULL;
    if (!same) {
      /* Without a time to be open it reads as half-open from the first instant on. */
      bool at_once = timeout < 0 && state == HOLDOFF_BREAKER_HALF_OPEN && strcmp(word(expected, "state"), "open") == 0;
      if (!(apart || its.passed_its_limit || at_once) || !cJSON_Compare(expected, theirs, true)) {
        differ(expected, theirs, at);
        cJSON_Delete(theirs);
        return FAILED;
      }
      counted.deviations++;
    }
    cJSON_Delete(theirs);
    apart = (apart || its.passed_its_limit) && !is_as(&its, state, failures, holdoff_breaker_retry_at(&breaker));
  }
  return PASSED;
}

/* So many units and their parts, as Go writes them. */
static void part(uint64_t nanos, uint64_t unit, const char *name, char *out) {
  char digits[48];
  size_t length = (size_t)sprintf(digits, "%" PRIu64 ".%09" PRIu64, nanos / unit, nanos % unit * (1000000000 / unit));
  while (digits[length - 1] == '0') {
    digits[--length] = 0;
  }
  if (digits[length - 1] == '.') {
    digits[--length] = 0;
  }
  sprintf(out, "%s%s", digits, name);
}

/* A duration as Go writes it. */
static void go_duration(uint64_t nanos, char *out) {
  uint64_t minutes = nanos / UINT64_C(60000000000);
  char seconds[64];
  part(nanos % UINT64_C(60000000000), 1000000000, "s", seconds);
  if (nanos == 0) {
    strcpy(out, "0s");
  } else if (nanos < 1000) {
    sprintf(out, "%" PRIu64 "ns", nanos);
  } else if (nanos < 1000000) {
    part(nanos, 1000, "\xc2\xb5s", out);
  } else if (nanos < 1000000000) {
    part(nanos, 1000000, "ms", out);
  } else if (minutes == 0) {
    strcpy(out, seconds);
  } else if (minutes < 60) {
    sprintf(out, "%" PRIu64 "m%s", minutes, seconds);
  } else {
    sprintf(out, "%" PRIu64 "h%" PRIu64 "m%s", minutes / 60, minutes % 60, seconds);
  }
}

static verdict run_rate(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected;
  int64_t most = whole(config, "max_calls"), window = whole(config, "window"), inputs;
  holdoff_options options;
  holdoff_limiter limiter;
  holdoff_problem problem;
  verdict judged = FAILED;
  uint64_t *room = NULL;
  size_t length;
  int code, at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  inputs = cJSON_GetArraySize(get(item, "inputs")) + 1;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "limiter", "log");
  /* More calls than there are limit nothing. A window below zero is as good as none. */
  holdoff_options_set_number(&options, "limiter.limit", (double)(most < 0 ? 0 : most > inputs ? inputs : most));
  holdoff_options_set_ns(&options, "limiter.per", window > 0 ? (uint64_t)window : 0);
  length = holdoff_guards_words(&options);
  room = calloc(length + 1, sizeof *room);
  code = holdoff_limiter_init(&limiter, &options, 0, room, length, &problem);
  if (most < 1) {
    /* There it panics. */
    judged = code == HOLDOFF_ERROR_COUNT_RANGE ? OUT_OF_DOMAIN : fail("count_range", problem.rule, -1);
    goto done;
  }
  if (code != 0) {
    fail("a valid limiter", problem.rule, -1);
    goto done;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    uint64_t now = cJSON_IsObject(input) ? number(input, "at") : number_of(input), retry_at = now;
    bool ran = holdoff_limiter_take(&limiter, 1, now, &retry_at);
    char after[128], error[512];
    cJSON *got = cJSON_CreateObject();
    go_duration(span_until(retry_at, now), after);
    snprintf(error, sizeof error, "rate limit exceeded for %s, retry after %s", node_of(config), after);
    cJSON_AddItemToObject(got, "error", ran ? cJSON_CreateNull() : cJSON_CreateString(error));
    cJSON_AddBoolToObject(got, "ran", ran);
    if (!cJSON_Compare(expected, got, true)) {
      differ(expected, got, at);
      cJSON_Delete(got);
      goto done;
    }
    cJSON_Delete(got);
  }
  judged = PASSED;
done:
  free(room);
  return judged;
}

verdict run_extras(const cJSON *item) {
  const char *op = word(get(item, "config"), "op");
  if (strcmp(op, "ExponentialBackoffRetry") == 0) {
    return run_ebr(item);
  }
  if (strcmp(op, "CircuitBreaker") == 0) {
    return run_circuit(item);
  }
  return strcmp(op, "RateLimiter") == 0 ? run_rate(item) : fail("an operation that is known", op, -1);
}
