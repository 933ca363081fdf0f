/* One timer for many. */
#include "check.h"

#include <stdlib.h>

static uint64_t inserted(holdoff_wheel *wheel, uint64_t at) {
  uint64_t key = 0;
  CHECK_NUMBER(holdoff_wheel_insert(wheel, at, &key), HOLDOFF_OK);
  CHECK(key != 0);
  return key;
}

static void timers_fire_by_time_and_then_in_the_order_of_insertion(void) {
  holdoff_wheel *wheel = holdoff_wheel_new();
  uint64_t late = inserted(wheel, 3 * SECOND), first = inserted(wheel, SECOND), second = inserted(wheel, SECOND);
  uint64_t key, at;
  CHECK(holdoff_timer_index(late) == 0 && holdoff_timer_index(first) == 1 && holdoff_timer_index(second) == 2);
  CHECK_NUMBER(holdoff_wheel_length(wheel), 3);
  CHECK(!holdoff_wheel_pop(wheel, SECOND - 1, &key, &at));
  CHECK(holdoff_wheel_pop(wheel, SECOND, &key, &at));
  CHECK_NUMBER(key, first);
  CHECK_NUMBER(at, SECOND);
  CHECK(holdoff_wheel_pop(wheel, 5 * SECOND, &key, NULL));
  CHECK_NUMBER(key, second);
  CHECK(holdoff_wheel_pop(wheel, 5 * SECOND, NULL, &at));
  CHECK_NUMBER(at, 3 * SECOND);
  CHECK(!holdoff_wheel_pop(wheel, HOLDOFF_NEVER, &key, &at));
  CHECK_NUMBER(holdoff_wheel_length(wheel), 0);
  holdoff_wheel_free(wheel);
}

static void the_next_wake_is_that_of_the_earliest_timer_that_lives(void) {
  holdoff_wheel *wheel = holdoff_wheel_new();
  uint64_t early, late, never;
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), HOLDOFF_NEVER);
  never = inserted(wheel, HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), HOLDOFF_NEVER);
  late = inserted(wheel, 86400 * SECOND + 1);
  early = inserted(wheel, 3600 * SECOND + 7);
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), 3600 * SECOND + 7);
  CHECK(holdoff_wheel_cancel(wheel, early));
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), 86400 * SECOND + 1);
  CHECK(holdoff_wheel_cancel(wheel, late));
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), HOLDOFF_NEVER);
  CHECK(!holdoff_wheel_pop(wheel, HOLDOFF_NEVER, NULL, NULL));
  CHECK_NUMBER(holdoff_wheel_length(wheel), 1);
  CHECK(holdoff_wheel_cancel(wheel, never));
  holdoff_wheel_free(wheel);
}

static void a_stale_key_cancels_nobody_else_s_timer(void) {
  holdoff_wheel *wheel = holdoff_wheel_new();
  uint64_t cancelled = inserted(wheel, SECOND), fired, again, key;
  CHECK(holdoff_wheel_cancel(wheel, cancelled));
  CHECK(!holdoff_wheel_cancel(wheel, cancelled));
  fired = inserted(wheel, SECOND);
  CHECK_NUMBER(holdoff_timer_index(fired), holdoff_timer_index(cancelled));
  CHECK(holdoff_wheel_pop(wheel, SECOND, &key, NULL));
  CHECK_NUMBER(key, fired);
  again = inserted(wheel, 2 * SECOND);
  CHECK(!holdoff_wheel_cancel(wheel, cancelled));
  CHECK(!holdoff_wheel_cancel(wheel, fired));
  CHECK(!holdoff_wheel_cancel(wheel, 0));
  CHECK(!holdoff_wheel_cancel(wheel, UINT64_MAX));
  CHECK_NUMBER(holdoff_wheel_length(wheel), 1);
  holdoff_wheel_clear(wheel);
  CHECK(!holdoff_wheel_cancel(wheel, again));
  CHECK_NUMBER(holdoff_wheel_length(wheel), 0);
  CHECK_NUMBER(holdoff_wheel_next_wake(wheel), HOLDOFF_NEVER);
  inserted(wheel, SECOND);
  CHECK_NUMBER(holdoff_wheel_length(wheel), 1);
  holdoff_wheel_free(wheel);
}

static void a_wheel_that_is_not_there_has_no_timers(void) {
  holdoff_wheel *wheel = holdoff_wheel_new();
  uint64_t key = 5, at = 6;
  CHECK_NUMBER(holdoff_wheel_insert(NULL, 1, &key), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(key, 5);
  CHECK(!holdoff_wheel_cancel(NULL, 1));
  CHECK(!holdoff_wheel_pop(NULL, 1, &key, &at));
  CHECK_NUMBER(at, 6);
  CHECK_NUMBER(holdoff_wheel_next_wake(NULL), HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_wheel_length(NULL), 0);
  holdoff_wheel_clear(NULL);
  holdoff_wheel_free(NULL);
  /* A timer without a key could be neither cancelled nor told from another. */
  CHECK_NUMBER(holdoff_wheel_insert(wheel, 1, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_wheel_length(wheel), 0);
  holdoff_wheel_free(wheel);
}

static void a_million_timers_fire_each_once_and_none_early(void) {
  enum { COUNT = 1000000 };
  holdoff_wheel *wheel = holdoff_wheel_new();
  uint64_t *due = (uint64_t *)calloc(COUNT, sizeof *due), *keys = (uint64_t *)calloc(COUNT, sizeof *keys);
  uint64_t now = 0, last = 0, fired = 0, cancelled = 0, key, at;
  size_t timer;
  CHECK(wheel != NULL && due != NULL && keys != NULL);
  for (timer = 0; timer < COUNT; timer++) {
    uint64_t when = holdoff_seed_at(1, timer) % (3600 * SECOND);
    bool is_new = holdoff_wheel_insert(wheel, when, &keys[timer]) == HOLDOFF_OK;
    uint32_t index = holdoff_timer_index(keys[timer]);
    CHECK(is_new && index < COUNT && due[index] == 0);
    due[index] = when + 1;
  }
  for (timer = 0; timer < COUNT; timer += 3) {
    CHECK(holdoff_wheel_cancel(wheel, keys[timer]));
    due[holdoff_timer_index(keys[timer])] = 0;
    cancelled++;
  }
  CHECK_NUMBER(holdoff_wheel_length(wheel), COUNT - cancelled);
  while ((now = holdoff_wheel_next_wake(wheel)) != HOLDOFF_NEVER) {
    /* As late as a busy host is. */
    now += SECOND;
    while (holdoff_wheel_pop(wheel, now, &key, &at)) {
      uint32_t index = holdoff_timer_index(key);
      CHECK(at >= last && at <= now && index < COUNT && due[index] == at + 1);
      due[index] = 0;
      last = at;
      fired++;
    }
  }
  CHECK_NUMBER(fired + cancelled, COUNT);
  CHECK_NUMBER(holdoff_wheel_length(wheel), 0);
  free(due);
  free(keys);
  holdoff_wheel_free(wheel);
}

/* Two hundred calls that always fail, and one wheel that says whose turn it is. */
static void one_wheel_wakes_many_calls(void) {
  enum { CALLS = 200 };
  holdoff_policy policy;
  holdoff_wheel *wheel = holdoff_wheel_new();
  static holdoff_call calls[CALLS];
  static size_t sleeper[CALLS];
  const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
  uint64_t now = 0, key;
  unsigned attempts = 0, ended = 0;
  size_t at;
  holdoff_policy_default(&policy);
  for (at = 0; at < CALLS; at++) {
    holdoff_call_begin(&calls[at], &policy, at, now);
    key = inserted(wheel, holdoff_call_fail(&calls[at], &policy, 1, now, lost).at);
    sleeper[holdoff_timer_index(key)] = at;
    attempts++;
  }
  while ((now = holdoff_wheel_next_wake(wheel)) != HOLDOFF_NEVER) {
    while (holdoff_wheel_pop(wheel, now, &key, NULL)) {
      holdoff_call *call = &calls[at = sleeper[holdoff_timer_index(key)]];
      holdoff_step step = holdoff_call_tick(call, &policy, now);
      CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
      attempts++;
      step = holdoff_call_fail(call, &policy, holdoff_step_ticket(step), now, lost);
      if (step.kind == HOLDOFF_SLEEP) {
        sleeper[holdoff_timer_index(inserted(wheel, step.at))] = at;
      } else {
        ended++;
      }
    }
  }
  CHECK_NUMBER(ended, CALLS);
  CHECK_NUMBER(attempts, CALLS * holdoff_policy_attempts(&policy));
  holdoff_wheel_free(wheel);
}

static void the_key_of_another_wheel_cancels_nothing(void) {
  holdoff_wheel *wheels[8];
  uint64_t keys[8][4];
  size_t of, at, other;
  for (of = 0; of < 8; of++) {
    wheels[of] = holdoff_wheel_new();
    for (at = 0; at < 4; at++) {
      keys[of][at] = inserted(wheels[of], SECOND);
    }
  }
  for (of = 0; of < 8; of++) {
    for (other = 0; other < 8; other++) {
      for (at = 0; other != of && at < 4; at++) {
        CHECK(!holdoff_wheel_cancel(wheels[of], keys[other][at]));
      }
    }
    CHECK_NUMBER(holdoff_wheel_length(wheels[of]), 4);
    CHECK(holdoff_wheel_cancel(wheels[of], keys[of][0]));
    holdoff_wheel_free(wheels[of]);
  }
}

void wheel_tests(void) {
  RUN(the_key_of_another_wheel_cancels_nothing);
  RUN(timers_fire_by_time_and_then_in_the_order_of_insertion);
  RUN(the_next_wake_is_that_of_the_earliest_timer_that_lives);
  RUN(a_stale_key_cancels_nobody_else_s_timer);
  RUN(a_wheel_that_is_not_there_has_no_timers);
  RUN(a_million_timers_fire_each_once_and_none_early);
  RUN(one_wheel_wakes_many_calls);
}
