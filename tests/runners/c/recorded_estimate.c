/*
 * Recordings of Aster's linter of retries, checkRetrySemantics, on a policy's sum and lints: how long all waits take, and
 * whether that is too long. Only the words are here.
 */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The base delay of every clause, in milliseconds. */
#define BASE 1000

/* A duration in Aster's words: the nearest of the unit that suits it. */
static const char *words(bool is_finite, uint64_t ms, char *text) {
  static const struct {
    uint64_t below, unit;
    const char *word;
  } UNITS[] = {
      {1000, 1, "ms"},
      {600000, 1000, "秒"},
      {3600000, 60000, "分钟"},
      {86400000, 3600000, "小时"},
      {UINT64_MAX, 86400000, "天"},
  };
  size_t at = 0;
  if (!is_finite) {
    return strcpy(text, "不可估算");
  }
  while (ms >= UNITS[at].below) {
    at++;
  }
  sprintf(text, "%" PRIu64 "%s", (ms + UNITS[at].unit / 2) / UNITS[at].unit, UNITS[at].word);
  return text;
}

/* The policy of a retry clause, with milliseconds in this unit: no jitter, since the sum is one without. */
static int clause_policy(const cJSON *config, int64_t attempts, const char *unit, holdoff_policy *policy) {
  int64_t base = get(config, "base_ms") != NULL ? whole(config, "base_ms") : BASE;
  bool is_linear = strcmp(word(config, "backoff"), "linear") == 0;
  holdoff_options options;
  char text[32];
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff.kind", is_linear ? "linear" : "exponential");
  sprintf(text, "%" PRId64 "%s", base, unit);
  holdoff_options_set_text(&options, "backoff.initial", text);
  holdoff_options_set_text(&options, "backoff.max", "none");
  if (!is_linear) {
    holdoff_options_set_number(&options, "backoff.factor", 2);
  }
  holdoff_options_set_text(&options, "jitter", "none");
  holdoff_options_set_number(&options, "attempts", (double)attempts);
  if (whole(config, "timeout_ms") > 0) {
    sprintf(text, "%" PRId64 "%s", whole(config, "timeout_ms"), unit);
    holdoff_options_set_text(&options, "deadline", text);
  }
  return holdoff_policy_build(policy, &options, NULL);
}

static bool has_lint(const holdoff_policy *policy, uint32_t lint) {
  return holdoff_policy_lint(policy, HOLDOFF_NEVER, lint - 1, NULL, 0) == lint;
}

/* What Aster warns of, the first that applies; false for nothing. */
static bool warned(const cJSON *config, const holdoff_policy *policy, int64_t attempts, const char *shown, char *text) {
  char clause[64], timeout[48];
  bool is_linear = strcmp(word(config, "backoff"), "linear") == 0;
  snprintf(clause, sizeof clause, "retry(backoff=%.16s, maxAttempts=%" PRId64 ")", word(config, "backoff"), attempts);
  if (has_lint(policy, HOLDOFF_LINT_WAIT_ABOVE_DEADLINE)) {
    sprintf(text, "%s 预估累计等待 %s，超过 timeout=%s", clause, shown,
            words(true, number(config, "timeout_ms"), timeout));
  } else if (has_lint(policy, HOLDOFF_LINT_MANY_ATTEMPTS)) {
    sprintf(text, "%s 预计累计等待 %s，建议最多 10 次", clause, shown);
  } else if (has_lint(policy, HOLDOFF_LINT_LONG_WAIT)) {
    sprintf(text, "%s 预计累计等待 %s，超过推荐窗口 %s", clause, shown, is_linear ? "300秒" : "15分钟");
  } else {
    return false;
  }
  return true;
}

/* One number of attempts; a deviation where the original's result is no example. */
static verdict linted(const cJSON *config, int64_t attempts, const cJSON *expected, int at) {
  holdoff_policy policy, ticks;
  int code = clause_policy(config, attempts, "ms", &policy);
  /* Aster does not sum up more than 30 exponential waits and says infinity; the sum is finite and ours is it. */
  bool is_example = !cJSON_IsString(get(expected, "estimate_ms")) || *word(expected, "estimate_ms") == '#';
  char shown[48], warning[256];
  uint64_t total = 0;
  verdict judged;
  cJSON *got;
  if (code != 0) {
    counted.deviations++;
    return attempts < 1 && code == HOLDOFF_ERROR_ATTEMPTS_RANGE
               ? PASSED
               : fail("a valid policy", holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), at);
  }
  /* A sum in milliseconds may be longer than any span: there they run as ticks. */
  if (clause_policy(config, attempts, "ns", &ticks) != 0 || !holdoff_policy_total_wait(&ticks, &total)) {
    return fail("a sum", "none", at);
  }
  counted.deviations += !is_example;
  if (!is_example && whole(config, "timeout_ms") > 0 && !has_lint(&policy, HOLDOFF_LINT_WAIT_ABOVE_DEADLINE)) {
    /* Infinity is above every timeout, and the sum is not above this one. */
    return PASSED;
  }
  got = cJSON_CreateObject();
  cJSON_AddItemToObject(got, "estimate_ms", is_example ? made((int64_t)total) : cJSON_CreateString("Infinity"));
  if (warned(config, &policy, attempts, words(is_example, total, shown), warning)) {
    cJSON_AddStringToObject(got, "warning", warning);
  } else {
    cJSON_AddNullToObject(got, "warning");
  }
  judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, at);
  cJSON_Delete(got);
  return judged;
}

verdict run_aster_estimate(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected;
  bool describes = strcmp(word(config, "op"), "describeDuration") == 0;
  char text[48];
  int at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    bool is_finite = !cJSON_IsString(input) || strcmp(input->valuestring, "Infinity") != 0;
    const char *wanted = cJSON_GetStringValue(expected);
    verdict judged = describes ? compare(wanted != NULL ? wanted : "", words(is_finite, number_of(input), text), at)
                               : linted(config, whole_of(input), expected, at);
    if (judged != PASSED) {
      return judged;
    }
  }
  return PASSED;
}
