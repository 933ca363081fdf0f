/* What a policy does, for people. */
#include "check.h"

static void a_policy_is_explained_as_a_table(void) {
  holdoff_policy policy;
  char text[600];
  int length;
  holdoff_policy_default(&policy);
  length = holdoff_policy_explain(&policy, 0, NULL, 0);
  CHECK_NUMBER(holdoff_policy_explain(&policy, 0, text, sizeof text), (unsigned)length);
  CHECK(strstr(text, "exponential backoff from 100ms by 2 up to 5s, full jitter\n3 attempts, no deadline\n") == text);
  CHECK(strstr(text, "\n    1          0s        50ms       100ms ") != NULL);
  CHECK(strstr(text, "\n    2          0s       100ms       200ms ") != NULL);
  CHECK(strstr(text, "\n    3 ") == NULL);
  holdoff_policy_explain(&policy, 1, text, sizeof text);
  CHECK(strstr(text, "and 1 more") != NULL);
  CHECK_NUMBER(holdoff_policy_explain(NULL, 0, text, sizeof text), 0);
}

static void rows_are_numbers(void) {
  holdoff_policy policy;
  holdoff_row row;
  holdoff_policy_default(&policy);
  CHECK(holdoff_policy_row(&policy, HOLDOFF_TRANSIENT, 2, &row));
  CHECK_NUMBER(row.retry, 2);
  CHECK_NUMBER(row.min_ns, 0);
  CHECK_NUMBER(row.typical_ns, 100 * MS);
  CHECK_NUMBER(row.typical_total_ns, 150 * MS);
  CHECK_NUMBER(row.in_time, HOLDOFF_IN_TIME_ALWAYS);
  CHECK(!holdoff_policy_row(&policy, HOLDOFF_TRANSIENT, 3, &row));
  CHECK(!holdoff_policy_row(&policy, HOLDOFF_TRANSIENT, 0, &row));
  CHECK(!holdoff_policy_row(&policy, 99, 1, &row));
}

static void what_is_questionable_is_said(void) {
  holdoff_policy policy = constant("1s", 12);
  uint64_t ns = 0;
  char line[200];
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_NEVER, 0, NULL, 0), HOLDOFF_LINT_NO_JITTER);
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_NEVER, HOLDOFF_LINT_NO_JITTER, NULL, 0), HOLDOFF_LINT_MANY_ATTEMPTS);
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_NEVER, HOLDOFF_LINT_MANY_ATTEMPTS, NULL, 0), 0);
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_NEVER, HOLDOFF_LINT_NO_JITTER, line, sizeof line),
               HOLDOFF_LINT_MANY_ATTEMPTS);
  CHECK_TEXT(line, "warning 304 many_attempts: many attempts keep a caller waiting and a struggling server busy "
                   "(12, limit 10)");
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_NEVER, HOLDOFF_LINT_MANY_ATTEMPTS, line, sizeof line), 0);
  CHECK_TEXT(line, "");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_LINT, HOLDOFF_LINT_LONG_WAIT), "long_wait");
  CHECK(holdoff_policy_total_wait(&policy, &ns));
  CHECK_NUMBER(ns, 11 * SECOND);
  holdoff_policy_preset(&policy, "temporal");
  CHECK(!holdoff_policy_total_wait(&policy, &ns));
}

static void what_is_around_a_policy_is_questioned(void) {
  holdoff_policy policies[2];
  holdoff_nesting nestings[2] = {{HOLDOFF_NESTED_ALLOW, 0}, {HOLDOFF_NESTED_OUTERMOST, 0}};
  uint64_t attempts = 0;
  char line[200];
  policies[0] = constant("1s", 3);
  policies[1] = constant("1s", 4);
  CHECK_NUMBER(holdoff_policy_lint(&policies[0], SECOND, HOLDOFF_LINT_NO_JITTER, line, sizeof line),
               HOLDOFF_LINT_WAIT_ABOVE_TIMEOUT);
  CHECK_TEXT(line, "warning 316 wait_above_timeout: the sleeps alone take longer than the caller waits, without jitter "
                   "(2s, limit 1s)");
  CHECK_NUMBER(holdoff_policy_lint(&policies[0], 2 * SECOND, HOLDOFF_LINT_NO_JITTER, line, sizeof line), 0);
  CHECK_NUMBER(holdoff_policy_lint(NULL, SECOND, 0, line, sizeof line), 0);
  holdoff_nested_lint(policies, NULL, 2, line, sizeof line);
  CHECK_TEXT(line, "warning 317 nested_retries: a retry inside a retry multiplies attempts (at most 12 in all)");
  CHECK(holdoff_nested_attempts(policies, NULL, 2, &attempts));
  CHECK_NUMBER(attempts, 12);
  CHECK(holdoff_nested_attempts(policies, nestings, 2, &attempts));
  CHECK_NUMBER(attempts, 3);
  CHECK_NUMBER(holdoff_nested_lint(policies, nestings, 2, line, sizeof line), 0);
  CHECK(holdoff_nested_attempts(NULL, NULL, 0, &attempts));
  CHECK_NUMBER(attempts, 1);
  CHECK(!holdoff_nested_attempts(NULL, NULL, 1, &attempts));
  holdoff_policy_preset(&policies[0], "temporal");
  CHECK(!holdoff_nested_attempts(policies, NULL, 2, &attempts));
  holdoff_nested_lint(policies, NULL, 2, line, sizeof line);
  CHECK(strstr(line, "(without an end)") != NULL);
  memset(&policies[1], 0, sizeof policies[1]);
  CHECK_NUMBER(holdoff_nested_lint(policies, NULL, 2, line, sizeof line), 0);
}

void explain_tests(void) {
  RUN(a_policy_is_explained_as_a_table);
  RUN(rows_are_numbers);
  RUN(what_is_questionable_is_said);
  RUN(what_is_around_a_policy_is_questioned);
}
