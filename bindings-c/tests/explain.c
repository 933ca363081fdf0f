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
  CHECK_NUMBER(holdoff_policy_lint(&policy, 0), HOLDOFF_LINT_NO_JITTER);
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_LINT_NO_JITTER), HOLDOFF_LINT_MANY_ATTEMPTS);
  CHECK_NUMBER(holdoff_policy_lint(&policy, HOLDOFF_LINT_MANY_ATTEMPTS), 0);
  holdoff_policy_lint_text(&policy, HOLDOFF_LINT_MANY_ATTEMPTS, line, sizeof line);
  CHECK_TEXT(line, "warning 304 many_attempts: many attempts keep a caller waiting and a struggling server busy "
                   "(12, limit 10)");
  CHECK_NUMBER(holdoff_policy_lint_text(&policy, HOLDOFF_LINT_FOREVER, line, sizeof line), 0);
  CHECK_TEXT(holdoff_lint_name(HOLDOFF_LINT_LONG_WAIT), "long_wait");
  CHECK(holdoff_policy_total_wait(&policy, &ns));
  CHECK_NUMBER(ns, 11 * SECOND);
  holdoff_policy_preset(&policy, "temporal");
  CHECK(!holdoff_policy_total_wait(&policy, &ns));
}

void explain_tests(void) {
  RUN(a_policy_is_explained_as_a_table);
  RUN(rows_are_numbers);
  RUN(what_is_questionable_is_said);
}
