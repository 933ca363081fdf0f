#include "check.h"

static void a_call_goes_from_its_first_attempt_to_its_end(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, &policy, 42, 100);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(step.attempt, 1);
  CHECK_NUMBER(step.at, HOLDOFF_NEVER);
  CHECK_NUMBER(step.wake_at, HOLDOFF_NEVER);
  step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), 200, lost);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(step.cause, HOLDOFF_CAUSE_BACKOFF);
  CHECK_NUMBER(step.at, 200 + SECOND);
  CHECK_NUMBER(holdoff_call_remaining(&call, 200), SECOND);
  step = holdoff_call_tick(&call, &policy, 200 + SECOND);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(step.attempt, 2);
  step = holdoff_call_succeed(&call, holdoff_step_ticket(step), 300 + SECOND);
  CHECK_NUMBER(step.kind, HOLDOFF_STOP);
  CHECK_NUMBER(step.outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(holdoff_call_attempt(&call), 2);
}

static void a_call_underway_answers_like_one_that_was_begun(void) {
  holdoff_policy policy;
  holdoff_call begun, underway;
  holdoff_step one, other;
  holdoff_policy_default(&policy);
  holdoff_call_begin(&begun, &policy, 7, 5);
  CHECK_NUMBER(holdoff_call_underway(&underway, 7, 5), HOLDOFF_OK);
  one = holdoff_call_fail(&begun, &policy, HOLDOFF_FIRST_TICKET, 9, holdoff_failure_of(HOLDOFF_TIMEOUT));
  other = holdoff_call_fail(&underway, &policy, HOLDOFF_FIRST_TICKET, 9, holdoff_failure_of(HOLDOFF_TIMEOUT));
  CHECK(memcmp(&one, &other, sizeof one) == 0);
  CHECK_NUMBER(one.kind, HOLDOFF_SLEEP);
}

static void giving_up_says_why_and_when_to_come_back(void) {
  holdoff_policy policy = constant("1s", 2);
  holdoff_failure asked = {HOLDOFF_THROTTLED, HOLDOFF_HINT_AFTER, 0, 3600 * SECOND};
  holdoff_call call;
  holdoff_step step;
  holdoff_call_begin(&call, &policy, 1, 10);
  step = holdoff_call_fail(&call, &policy, 1, 10, asked);
  CHECK_NUMBER(step.outcome, HOLDOFF_GAVE_UP);
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_HINT);
  CHECK_NUMBER(step.at, 10 + 3600 * SECOND);
  holdoff_call_begin(&call, &policy, 1, 10);
  step = holdoff_call_fail(&call, &policy, 1, 10, holdoff_failure_of(HOLDOFF_PERMANENT));
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(step.at, HOLDOFF_NEVER);
  holdoff_call_begin(&call, &policy, 1, 10);
  asked.hint = HOLDOFF_HINT_NEVER;
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 10, asked).reason, HOLDOFF_REASON_PERMANENT);
}

static void a_clock_that_was_set_back_makes_no_sleep_longer(void) {
  holdoff_policy policy = constant("5s", 3);
  holdoff_call call;
  uint64_t hour = 3600 * SECOND;
  holdoff_call_begin(&call, &policy, 1, 2 * hour);
  holdoff_call_fail(&call, &policy, 1, 2 * hour, holdoff_failure_of(HOLDOFF_TRANSIENT));
  CHECK_NUMBER(holdoff_call_remaining(&call, 2 * hour), 5 * SECOND);
  CHECK_NUMBER(holdoff_call_remaining(&call, hour), 5 * SECOND);
  CHECK_NUMBER(holdoff_call_remaining(&call, 2 * hour + 4 * SECOND), SECOND);
}

static void a_tick_counter_that_wraps_in_a_sleep_ends_it_in_time(void) {
  holdoff_policy policy = constant("5s", 3);
  holdoff_call call;
  uint32_t tick = UINT32_MAX - 2000, passed = 0;
  uint64_t latest = tick;
  holdoff_step step = holdoff_call_begin(&call, &policy, 1, latest * MS);
  step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), latest * MS, holdoff_failure_of(HOLDOFF_TRANSIENT));
  while (step.kind == HOLDOFF_SLEEP && passed < 60000) {
    passed += 100;
    latest = holdoff_widen_tick(latest, tick + passed);
    step = holdoff_call_tick(&call, &policy, latest * MS);
    /* Another processor reads the counter a little back. */
    CHECK_NUMBER(holdoff_widen_tick(latest, tick + passed - 3), latest);
  }
  CHECK_NUMBER(passed, 5000);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
}

static void calls_out_of_order_change_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call;
  holdoff_step step;
  holdoff_call_begin(&call, &policy, 1, 0);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 1).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_call_succeed(&call, 2, 1).kind, HOLDOFF_WAIT);
  step = holdoff_call_fail(&call, &policy, 1, 1, lost);
  CHECK_NUMBER(step.at, 1 + SECOND);
  step = holdoff_call_fail(&call, &policy, 1, 2, lost);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(step.at, 1 + SECOND);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, SECOND).kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 1 + SECOND).attempt, 2);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 1 + SECOND).kind, HOLDOFF_WAIT);
}

static void old_and_foreign_tickets_name_no_attempt(void) {
  holdoff_policy policy = constant("0s", 3);
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call;
  holdoff_call_begin(&call, &policy, 1, 0);
  holdoff_call_fail(&call, &policy, 1, 0, lost);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 0).attempt, 2);
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 0, lost).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_call_succeed(&call, 0, 0).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_call_succeed(&call, UINT64_MAX, 0).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_call_succeed(&call, (UINT64_C(1) << 32) + 2, 0).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_call_succeed(&call, 2, 0).outcome, HOLDOFF_SUCCEEDED);
}

static void the_end_is_final(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_call call;
  holdoff_call_begin(&call, &policy, 1, 0);
  CHECK_NUMBER(holdoff_call_cancel(&call, 5).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_succeed(&call, 1, 6).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, HOLDOFF_NEVER).outcome, HOLDOFF_CANCELLED);
  holdoff_call_begin(&call, &policy, 1, 0);
  holdoff_call_succeed(&call, 1, 1);
  CHECK_NUMBER(holdoff_call_cancel(&call, 5).outcome, HOLDOFF_SUCCEEDED);
}

static void a_clock_that_runs_backwards_stands_still(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call;
  holdoff_call_begin(&call, &policy, 1, 10 * SECOND);
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 0, lost).at, 11 * SECOND);
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 1).kind, HOLDOFF_SLEEP);
}

static void a_clock_at_the_end_of_time_saturates(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, &policy, 1, UINT64_MAX);
  int steps = 0;
  while (step.kind != HOLDOFF_STOP && steps++ < 100) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), UINT64_MAX, lost);
    } else {
      CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
      CHECK_NUMBER(step.at, UINT64_MAX - 1);
      step = holdoff_call_tick(&call, &policy, step.at);
    }
  }
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(holdoff_call_attempt(&call), 9);
}

static void a_copy_of_a_call_goes_on_by_itself(void) {
  holdoff_policy policy;
  holdoff_failure lost = holdoff_failure_of(HOLDOFF_TRANSIENT);
  holdoff_call call, copy;
  holdoff_step one, other;
  holdoff_policy_default(&policy);
  holdoff_call_begin(&call, &policy, 9, 0);
  copy = call;
  one = holdoff_call_fail(&call, &policy, 1, 3, lost);
  other = holdoff_call_fail(&copy, &policy, 1, 3, lost);
  CHECK(memcmp(&one, &other, sizeof one) == 0);
}

void call_tests(void) {
  RUN(a_call_goes_from_its_first_attempt_to_its_end);
  RUN(a_call_underway_answers_like_one_that_was_begun);
  RUN(giving_up_says_why_and_when_to_come_back);
  RUN(a_clock_that_was_set_back_makes_no_sleep_longer);
  RUN(a_tick_counter_that_wraps_in_a_sleep_ends_it_in_time);
  RUN(calls_out_of_order_change_nothing);
  RUN(old_and_foreign_tickets_name_no_attempt);
  RUN(the_end_is_final);
  RUN(a_clock_that_runs_backwards_stands_still);
  RUN(a_clock_at_the_end_of_time_saturates);
  RUN(a_copy_of_a_call_goes_on_by_itself);
}
