/* Recordings of langgraphgo's RetryNode, driven as a host drives a call. */
#define _POSIX_C_SOURCE 200809L

#include "runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void set_signed(holdoff_options *options, const char *path, int64_t ns) {
  char text[32];
  sprintf(text, "%" PRId64 "ns", ns);
  holdoff_options_set_text(options, path, text);
}

void set_exponential(holdoff_options *options, const char *stage, int64_t initial, double factor, int64_t max) {
  char path[32];
  sprintf(path, "%s.kind", stage);
  holdoff_options_set_text(options, path, "exponential");
  sprintf(path, "%s.initial", stage);
  set_signed(options, path, initial);
  sprintf(path, "%s.factor", stage);
  holdoff_options_set_number(options, path, factor);
  sprintf(path, "%s.max", stage);
  if (max == INT64_MAX) {
    holdoff_options_set_text(options, path, "none");
  } else {
    set_signed(options, path, max);
  }
}

void set_attempts(holdoff_options *options, int64_t attempts) {
  if (attempts > UINT32_MAX) {
    holdoff_options_set_text(options, "attempts", "forever");
  } else {
    holdoff_options_set_number(options, "attempts", (double)attempts);
  }
}

/*
 * A RetryConfig as a policy. MaxDelay holds from the second delay on, so one below InitialDelay is a chain: the first delay
 * once, and then what it grows to, at most MaxDelay.
 */
static int node_policy(const cJSON *config, holdoff_policy *policy, holdoff_problem *problem) {
  int64_t initial = whole(config, "initial_delay"), max = whole(config, "max_delay");
  double factor = real(config, "backoff_factor");
  holdoff_options options;
  uint64_t grown;
  int code;
  if (truth(config, "config_nil")) {
    return holdoff_policy_preset(policy, "langgraphgo");
  }
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "jitter", "none");
  set_attempts(&options, whole(config, "max_attempts"));
  if (max >= initial || max < 0) {
    set_exponential(&options, "backoff", initial, factor, max);
    return holdoff_policy_build(policy, &options, problem);
  }
  set_exponential(&options, "backoff", initial, factor, INT64_MAX);
  code = holdoff_policy_build(policy, &options, problem);
  if (code != 0) {
    return code;
  }
  grown = holdoff_policy_base_at(policy, 1);
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "jitter", "none");
  set_attempts(&options, whole(config, "max_attempts"));
  holdoff_options_set_text(&options, "backoff[0]", "constant");
  set_signed(&options, "backoff[0].delay", initial);
  holdoff_options_set_number(&options, "backoff[0].times", 1);
  set_exponential(&options, "backoff[1]", grown < (uint64_t)max ? (int64_t)grown : max, factor, max);
  return holdoff_policy_build(policy, &options, problem);
}

/* Whether the configuration is outside the domain; if so, held against the error that it must give. */
static bool outside(const cJSON *config, verdict *judged) {
  double factor = real(config, "backoff_factor");
  bool wrong_factor = !isfinite(factor) || factor < 0;
  holdoff_policy policy;
  holdoff_problem problem;
  holdoff_options options;
  const struct {
    bool wrong;
    const char *path;
    int code;
  } faults[] = {
      {whole(config, "max_attempts") < 1, "attempts", HOLDOFF_ERROR_ATTEMPTS_RANGE},
      {whole(config, "initial_delay") < 0, "backoff.initial", HOLDOFF_ERROR_NOT_A_DURATION},
      {whole(config, "max_delay") < 0, "backoff.max", HOLDOFF_ERROR_NOT_A_DURATION},
      {wrong_factor, "backoff.factor", HOLDOFF_ERROR_FACTOR_RANGE},
  };
  unsigned at;
  int code;
  if (truth(config, "config_nil")) {
    return false;
  }
  if (!faults[0].wrong && !faults[1].wrong && !faults[2].wrong && !faults[3].wrong) {
    return false;
  }
  if (!isfinite(factor)) {
    /* No document can say it, but a program can. */
    holdoff_options_init(&options);
    holdoff_options_set_number(&options, "backoff.factor", factor);
    code = holdoff_policy_build(&policy, &options, &problem);
    *judged = code == HOLDOFF_ERROR_FACTOR_RANGE ? OUT_OF_DOMAIN : fail("factor_range", problem.rule, -1);
    return true;
  }
  code = node_policy(config, &policy, &problem);
  for (at = 0; at < sizeof faults / sizeof *faults; at++) {
    if (faults[at].wrong && code == faults[at].code && strcmp(problem.path, faults[at].path) == 0) {
      *judged = OUT_OF_DOMAIN;
      return true;
    }
  }
  *judged = fail("the error of a field that is wrong", holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), -1);
  return true;
}

/* Whether a RetryConfig's predicate retries an error; false with what is wrong for one that is not known. */
static bool judged_by(const cJSON *config, const char *text, holdoff_failure *failure) {
  const char *rule = truth(config, "config_nil") ? "all" : word(config, "retryable");
  bool is_one = strncmp(rule, "equals ", 7) == 0;
  bool retried = *rule == 0 || strcmp(rule, "nil") == 0 || strcmp(rule, "all") == 0;
  if (!retried && !is_one && strcmp(rule, "none") != 0) {
    fail("a predicate that is known", rule, -1);
    return false;
  }
  retried = retried || (is_one && strcmp(rule + 7, text) == 0);
  *failure = holdoff_failure_of(retried ? HOLDOFF_TRANSIENT : HOLDOFF_PERMANENT);
  return true;
}

/* One execution: what was called and slept so far, when the context ends, and how it went. */
typedef struct run {
  const cJSON *config, *input;
  uint64_t now, ends;
  int calls;
  cJSON *delays;
  char error[1024];
  const char *wraps;
  bool failed, cancelled;
} run;

static void cancel(run *run, holdoff_call *call, const char *during) {
  run->wraps = truth(run->config, "cancel_is_deadline") ? "context deadline exceeded" : "context canceled";
  run->failed = run->cancelled = holdoff_call_cancel(call, run->now).outcome == HOLDOFF_CANCELLED;
  snprintf(run->error, sizeof run->error, "retry cancelled%s: %s", during, run->wraps);
}

/* RetryNode.Execute; false when it was said what is wrong. */
static bool execute(run *run, const holdoff_policy *policy) {
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, policy, 0, run->now);
  const char *last = "", *node = word(run->config, "node");
  holdoff_failure failure;
  uint64_t took;
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      uint64_t ticket = holdoff_step_ticket(step);
      if (run->now >= run->ends) {
        cancel(run, &call, "");
        return true;
      }
      if (run->input == NULL) {
        fail("as many calls as recorded", "more", run->calls);
        return false;
      }
      run->calls++;
      took = number(run->input, "took");
      run->now = took < HOLDOFF_NEVER - run->now ? run->now + took : HOLDOFF_NEVER - 1;
      last = word(run->input, "result");
      run->input = run->input->next;
      if (!judged_by(run->config, last, &failure)) {
        return false;
      }
      step = strcmp(last, "ok") == 0 ? holdoff_call_succeed(&call, ticket, run->now)
                                     : holdoff_call_fail(&call, policy, ticket, run->now, failure);
      continue;
    }
    cJSON_AddItemToArray(run->delays, made((int64_t)holdoff_call_remaining(&call, run->now)));
    if (run->now >= run->ends || run->ends < step.at) {
      run->now = run->now >= run->ends ? run->now : run->ends;
      cancel(run, &call, " during backoff");
      return true;
    }
    run->now = step.at;
    step = holdoff_call_tick(&call, policy, run->now);
  }
  if (step.outcome == HOLDOFF_GAVE_UP) {
    run->failed = true;
    run->wraps = last;
    if (step.reason == HOLDOFF_REASON_PERMANENT) {
      snprintf(run->error, sizeof run->error, "non-retryable error in %s: %s", node, last);
    } else {
      snprintf(run->error, sizeof run->error, "max retries (%" PRIu32 ") exceeded for %s: %s",
               holdoff_call_attempt(&call), node, last);
    }
  }
  return true;
}

/* What a recording of the execution says. */
static cJSON *recorded(const run *run) {
  bool is_deadline = truth(run->config, "cancel_is_deadline");
  cJSON *got = cJSON_CreateObject(), *wraps;
  cJSON_AddNumberToObject(got, "calls", run->calls);
  cJSON_AddItemToObject(got, "delays", cJSON_Duplicate(run->delays, true));
  cJSON_AddItemToObject(got, "now", made((int64_t)run->now));
  if (!run->failed) {
    cJSON_AddNullToObject(got, "error");
    cJSON_AddStringToObject(got, "value", "s!");
    return got;
  }
  cJSON_AddStringToObject(got, "error", run->error);
  wraps = cJSON_AddArrayToObject(got, "unwraps_to");
  cJSON_AddItemToArray(wraps, cJSON_CreateString(run->wraps));
  cJSON_AddBoolToObject(got, "is_canceled", run->cancelled && !is_deadline);
  cJSON_AddBoolToObject(got, "is_deadline", run->cancelled && is_deadline);
  cJSON_AddBoolToObject(got, "value_is_zero", true);
  return got;
}

/* Where the original's product leaves the range of an integer, ours is the longest delay. */
static verdict saturated(const run *run, const cJSON *expected) {
  const cJSON *one = run->delays->child, *other = first(get(expected, "delays"));
  uint64_t clock = 0;
  /* Waits that go past the end of time are as long as there is time. */
  while (clock < HOLDOFF_LONGEST_NS && one != NULL && other != NULL) {
    int64_t wanted = whole_of(other) < 0 ? whole(run->config, "max_delay") : whole_of(other);
    if (whole_of(one) != wanted) {
      return differ(other, one, -1);
    }
    clock = number_of(one) < HOLDOFF_LONGEST_NS - clock ? clock + number_of(one) : HOLDOFF_LONGEST_NS;
    one = one->next;
    other = other->next;
  }
  /* A context ends in the wait that the original skips. */
  if (clock < HOLDOFF_LONGEST_NS && (one != NULL || (other != NULL && run->ends == HOLDOFF_NEVER))) {
    return fail("as many delays as recorded", one != NULL ? "more" : "fewer", -1);
  }
  return OUT_OF_DOMAIN;
}

verdict run_retrynode(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected"));
  const cJSON *ends = get(config, "cancel_at");
  holdoff_policy policy;
  holdoff_problem problem;
  run run;
  verdict judged;
  if (outside(config, &judged)) {
    return judged;
  }
  if (node_policy(config, &policy, &problem) != 0) {
    return fail("a valid policy", problem.rule, -1);
  }
  memset(&run, 0, sizeof run);
  run.config = config;
  run.input = first(get(item, "inputs"));
  run.ends = ends == NULL || cJSON_IsNull(ends) || whole_of(ends) < 0 ? HOLDOFF_NEVER : number_of(ends);
  run.delays = cJSON_CreateArray();
  if (!execute(&run, &policy)) {
    judged = FAILED;
  } else if (truth(config, "impl_defined")) {
    judged = saturated(&run, expected);
  } else {
    cJSON *got = recorded(&run);
    judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
    cJSON_Delete(got);
  }
  cJSON_Delete(run.delays);
  return judged;
}
