#include "check.h"

static void a_retry_decides_what_a_call_decides(void) {
  holdoff_policy policy;
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_retry retry;
  holdoff_call call;
  holdoff_step decision, step;
  uint64_t now = 10;
  holdoff_policy_default(&policy);
  CHECK_NUMBER(holdoff_retry_init(&retry, 3, now), HOLDOFF_OK);
  step = holdoff_call_begin(&call, &policy, 3, now);
  do {
    decision = holdoff_retry_on_failure(&retry, &policy, now, lost);
    step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), now, lost);
    CHECK(memcmp(&decision, &step, sizeof step) == 0);
    now = step.at;
    step = holdoff_call_tick(&call, &policy, now);
  } while (decision.kind == HOLDOFF_SLEEP);
  CHECK_NUMBER(decision.reason, HOLDOFF_REASON_ATTEMPTS);
}

static void a_schedule_has_one_delay_fewer_than_attempts(void) {
  holdoff_policy policy;
  holdoff_schedule schedule;
  holdoff_retry retry;
  uint64_t delay = 0, delays = 0;
  holdoff_policy_default(&policy);
  holdoff_retry_init(&retry, 5, 0);
  CHECK_NUMBER(holdoff_schedule_init(&schedule, &policy, 5), HOLDOFF_OK);
  while (holdoff_schedule_next(&schedule, &delay)) {
    CHECK_NUMBER(holdoff_retry_on_failure(&retry, &policy, 0, holdoff_failure_of(HOLDOFF_TRANSIENT)).at, delay);
    delays++;
  }
  CHECK_NUMBER(delays, 2);
  CHECK(!holdoff_schedule_next(&schedule, &delay));
}

static void an_http_answer_becomes_a_failure(void) {
  holdoff_failure failure;
  CHECK(holdoff_failure_from_http(503, "120", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(failure.hint, HOLDOFF_HINT_AFTER);
  CHECK_NUMBER(failure.hint_ns, 120 * SECOND);
  CHECK(holdoff_failure_from_http(429, "99999999999999999999", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_THROTTLED);
  CHECK_NUMBER(failure.hint_ns, HOLDOFF_LONGEST_NS);
  CHECK(holdoff_failure_from_http(404, "soon \xff", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_PERMANENT);
  CHECK_NUMBER(failure.hint, HOLDOFF_HINT_NONE);
  CHECK(!holdoff_failure_from_http(204, "5", &failure));
  CHECK_NUMBER(failure.kind, HOLDOFF_PERMANENT);
}

static void a_duration_is_read_with_its_unit(void) {
  uint64_t ns = 7;
  CHECK_NUMBER(holdoff_parse_duration("1.5s", &ns), HOLDOFF_OK);
  CHECK_NUMBER(ns, 1500 * MS);
  CHECK_NUMBER(holdoff_parse_duration("-1s", &ns), HOLDOFF_ERROR_NOT_A_DURATION);
  CHECK_NUMBER(holdoff_parse_duration("", &ns), HOLDOFF_ERROR_NOT_A_DURATION);
  CHECK_NUMBER(holdoff_parse_duration("\xffs", &ns), HOLDOFF_ERROR_NOT_A_DURATION);
  CHECK_NUMBER(holdoff_parse_duration("9223372036854775808ns", &ns), HOLDOFF_ERROR_NOT_A_DURATION);
  CHECK_NUMBER(ns, 1500 * MS);
  CHECK_NUMBER(holdoff_parse_duration("2m", NULL), HOLDOFF_OK);
}

static void seeds_are_those_of_every_language(void) {
  CHECK_NUMBER(holdoff_seed_at(1234567, 0), UINT64_C(6457827717110365317));
  CHECK_NUMBER(holdoff_seed_at(1234567, 1), UINT64_C(3203168211198807973));
}

static void numbers_have_words(void) {
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_REASON, HOLDOFF_REASON_DEADLINE), "deadline");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_REASON_TEXT, HOLDOFF_REASON_ATTEMPTS), "all attempts are used");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_CAUSE, HOLDOFF_CAUSE_CLIP), "clip");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_FAILURE, HOLDOFF_THROTTLED), "throttled");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_OUTCOME, HOLDOFF_GAVE_UP), "gave_up");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_STEP, HOLDOFF_ATTEMPT), "attempt");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_ERROR, HOLDOFF_ERROR_ATTEMPTS_RANGE), "attempts_range");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_ERROR_RULE, HOLDOFF_ERROR_NULL_POINTER), "a pointer is null");
  CHECK_TEXT(holdoff_version(), HOLDOFF_VERSION);
}

static void numbers_without_a_word_are_unknown(void) {
  const uint32_t numbers[] = {50, 99, 256, 260, UINT32_MAX};
  unsigned at;
  for (at = 0; at < sizeof numbers / sizeof *numbers; at++) {
    CHECK_TEXT(holdoff_word(HOLDOFF_WORD_REASON, numbers[at]), "unknown");
    CHECK_TEXT(holdoff_word(HOLDOFF_WORD_CAUSE, numbers[at]), "unknown");
    CHECK_TEXT(holdoff_word(HOLDOFF_WORD_ERROR, numbers[at]), "unknown");
  }
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_STEP, 257), "unknown");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_OUTCOME, 257), "unknown");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_FAILURE, 257), "unknown");
  CHECK_TEXT(holdoff_word(0, HOLDOFF_REASON_DEADLINE), "unknown");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_STEP + 1, 1), "unknown");
}

static void zero_is_none_where_it_is_no_number(void) {
  uint32_t list;
  for (list = HOLDOFF_WORD_REASON; list <= HOLDOFF_WORD_STEP; list++) {
    const char *first = list == HOLDOFF_WORD_BREAKER ? "closed" : list == HOLDOFF_WORD_ENDED ? holdoff_word(list, 0) : "none";
    CHECK_TEXT(holdoff_word(list, 0), first);
  }
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_REASON_TEXT, 0), "none");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_REASON_TEXT, HOLDOFF_REASON_ATTEMPTS), "all attempts are used");
}

void pieces_tests(void) {
  RUN(zero_is_none_where_it_is_no_number);
  RUN(a_retry_decides_what_a_call_decides);
  RUN(a_schedule_has_one_delay_fewer_than_attempts);
  RUN(an_http_answer_becomes_a_failure);
  RUN(a_duration_is_read_with_its_unit);
  RUN(seeds_are_those_of_every_language);
  RUN(numbers_have_words);
  RUN(numbers_without_a_word_are_unknown);
}
