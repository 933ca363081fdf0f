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

int node_policy(const cJSON *config, holdoff_policy *policy, holdoff_problem *problem) {
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

bool judged_by(const cJSON *config, const char *text, holdoff_failure *failure) {
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

void node_error(char *text, size_t size, const char *node, uint32_t reason, uint32_t attempts, const char *last) {
  if (reason == HOLDOFF_REASON_PERMANENT) {
    snprintf(text, size, "non-retryable error in %s: %s", node, last);
  } else {
    snprintf(text, size, "max retries (%" PRIu32 ") exceeded for %s: %s", attempts, node, last);
  }
}

/* One execution, and how it went. */
typedef struct run {
  const cJSON *config;
  scripted node;
  char error[1024];
  const char *wraps;
  bool failed;
} run;

static void cancel(run *run, holdoff_call *call, const char *during) {
  run->wraps = context_error(&run->node);
  run->failed = run->node.cancelled = holdoff_call_cancel(call, run->node.now).outcome == HOLDOFF_CANCELLED;
  snprintf(run->error, sizeof run->error, "retry cancelled%s: %s", during, run->wraps);
}

/* RetryNode.Execute; false when it was said what is wrong. */
static bool execute(run *run, const holdoff_policy *policy) {
  scripted *node = &run->node;
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, policy, 0, node->now);
  holdoff_failure failure;
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      uint64_t ticket = holdoff_step_ticket(step);
      if (node->now >= node->ends) {
        cancel(run, &call, "");
        return true;
      }
      if (!scripted_call(node) || !judged_by(run->config, node->last, &failure)) {
        return false;
      }
      step = strcmp(node->last, "ok") == 0 ? holdoff_call_succeed(&call, ticket, node->now)
                                           : holdoff_call_fail(&call, policy, ticket, node->now, failure);
    } else if (step.at - node->now != holdoff_call_remaining(&call, node->now)) {
      fail("the rest of a sleep", "another", node->calls);
      return false;
    } else if (scripted_wait(node, step.at)) {
      cancel(run, &call, " during backoff");
      return true;
    } else {
      step = holdoff_call_tick(&call, policy, node->now);
    }
  }
  if (step.outcome == HOLDOFF_GAVE_UP) {
    run->failed = true;
    run->wraps = node->last;
    node_error(run->error, sizeof run->error, word(run->config, "node"), step.reason, holdoff_call_attempt(&call),
               node->last);
  }
  return true;
}

/* Where the original's product leaves the range of an integer, ours is the longest delay. */
static verdict saturated(const run *run, const cJSON *expected) {
  const cJSON *one = run->node.delays->child, *other = first(get(expected, "delays"));
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
  if (clock < HOLDOFF_LONGEST_NS && (one != NULL || (other != NULL && run->node.ends == HOLDOFF_NEVER))) {
    return fail("as many delays as recorded", one != NULL ? "more" : "fewer", -1);
  }
  return OUT_OF_DOMAIN;
}

verdict run_retrynode(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected"));
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
  scripted_begin(&run.node, get(item, "inputs"), config);
  if (!execute(&run, &policy)) {
    judged = FAILED;
  } else if (truth(config, "impl_defined")) {
    judged = saturated(&run, expected);
  } else {
    cJSON *got = scripted_result(&run.node, run.failed ? NULL : "s!", run.error, run.wraps);
    judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
    cJSON_Delete(got);
  }
  cJSON_Delete(run.node.delays);
  return judged;
}
