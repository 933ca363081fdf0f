/* The machines beside the call: wait backoff, loop backoff, periodic, layered, and a schedule that is pinned. */
#include "check.h"

static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};

static void a_stepped_backoff_is_its_own_state(void) {
  holdoff_wait_backoff wait_backoff, copy;
  CHECK_NUMBER(holdoff_wait_backoff_init(&wait_backoff, 10, 2.0, 0.5, 30, 9), HOLDOFF_OK);
  copy = wait_backoff;
  CHECK(holdoff_wait_backoff_draws(&wait_backoff));
  CHECK_NUMBER(holdoff_wait_backoff_step(&wait_backoff, 0.0), 10);
  CHECK_NUMBER(holdoff_wait_backoff_step(&wait_backoff, 0.5), 25);
  CHECK_NUMBER(holdoff_wait_backoff_duration(&wait_backoff), 30);
  CHECK_NUMBER(holdoff_wait_backoff_steps(&wait_backoff), 0);
  CHECK_NUMBER(holdoff_wait_backoff_cap(&wait_backoff), 30);
  CHECK_NUMBER(holdoff_wait_backoff_steps(&copy), 9);
  CHECK_NUMBER(holdoff_wait_backoff_restart(&wait_backoff, 10, 1), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_wait_backoff_step(&wait_backoff, 0.0), 10);
  CHECK_NUMBER(holdoff_wait_backoff_init(&wait_backoff, 10, -1.0, 0.5, 30, 9), HOLDOFF_ERROR_FACTOR_RANGE);
  CHECK_NUMBER(holdoff_wait_backoff_init(&wait_backoff, 10, 1.0, -0.5, 30, 9), HOLDOFF_ERROR_JITTER_FACTOR_RANGE);
  CHECK_NUMBER(holdoff_wait_backoff_init_kubernetes(&wait_backoff, 10, 1.0, -0.5, -1, -1), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_wait_backoff_cap(&wait_backoff), HOLDOFF_LONGEST_NS);
  CHECK_NUMBER(holdoff_wait_backoff_init_kubernetes_jitter(&wait_backoff, 8, -3.0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_wait_backoff_step(&wait_backoff, 0.25), 10);
  memset(&wait_backoff, 0, sizeof wait_backoff);
  CHECK_NUMBER(holdoff_wait_backoff_step(&wait_backoff, 0.0), HOLDOFF_NEVER);
}

static void a_loop_backoff_begins_again_by_itself(void) {
  const uint64_t at[] = {0, 0, 10, 21, 21}, wanted[] = {1, 2, 4, 1, 2};
  holdoff_loop_backoff loop_backoff, other;
  holdoff_wait_backoff wait_backoff;
  int n;
  CHECK_NUMBER(holdoff_wait_backoff_init_kubernetes(&wait_backoff, 1, 2.0, 0.0, INT32_MAX, 10), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_AFTER_QUIET, 10, 0), HOLDOFF_OK);
  holdoff_wait_backoff_init(&wait_backoff, 1, 2.0, 0.0, 10, 1000);
  CHECK_NUMBER(holdoff_loop_backoff_init(&other, &wait_backoff, HOLDOFF_RESET_AFTER_QUIET, 10, 0), HOLDOFF_OK);
  CHECK(!holdoff_loop_backoff_draws(&loop_backoff));
  for (n = 0; n < 5; n++) {
    CHECK_NUMBER(holdoff_loop_backoff_next(&loop_backoff, at[n], 0.0), wanted[n]);
    CHECK_NUMBER(holdoff_loop_backoff_next(&other, at[n], 0.0), wanted[n]);
  }
  CHECK_NUMBER(holdoff_loop_backoff_backoff(&loop_backoff, &wait_backoff), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_wait_backoff_duration(&wait_backoff), 4);
  CHECK_NUMBER(holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_OR_HOLD, 0, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_loop_backoff_next(&loop_backoff, 50, 0.0), 4);
  CHECK_NUMBER(holdoff_loop_backoff_next(&loop_backoff, 50, 0.0), 4);
  CHECK_NUMBER(holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, 77, 0, 0), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(holdoff_wait_backoff_init_kubernetes(&wait_backoff, 1000, 0.0, 0.5, 0, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_NEVER, 0, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_loop_backoff_next(&loop_backoff, 0, 0.5), 1250);
  CHECK_NUMBER(holdoff_loop_backoff_init(&loop_backoff, NULL, HOLDOFF_RESET_NEVER, 0, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_loop_backoff_next(NULL, 0, 0.0), HOLDOFF_NEVER);
}

static void draws_are_those_of_every_language(void) {
  uint64_t seed = 42;
  holdoff_policy policy;
  holdoff_schedule schedule, pinned;
  uint64_t ns = 0, other = 0;
  double u = holdoff_uniform(&seed);
  CHECK(u >= 0.0 && u < 1.0);
  CHECK(seed != 42);
  CHECK(!(holdoff_uniform(NULL) > 0.0));
  holdoff_policy_default(&policy);
  holdoff_schedule_init(&schedule, &policy, 42);
  holdoff_schedule_init(&pinned, &policy, 0);
  CHECK(holdoff_schedule_next(&schedule, &ns));
  CHECK(holdoff_schedule_next_at(&pinned, HOLDOFF_TRANSIENT, u, &other));
  CHECK_NUMBER(ns, other);
  CHECK_NUMBER(holdoff_policy_jitter(&policy, 100 * MS, 5 * SECOND, u), ns);
  CHECK(!holdoff_schedule_next_at(&pinned, 9, u, &other));
  holdoff_schedule_init_pinned(&pinned, &policy, UINT32_C(1) << 31);
  CHECK(holdoff_schedule_next(&pinned, &ns));
  CHECK_NUMBER(ns, 50 * MS);
}

static void a_drawn_number_is_added_to_the_last_bit(void) {
  const uint64_t bound = (UINT64_C(1) << 61) - 1;
  holdoff_options options;
  holdoff_policy policy;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "jitter", "bounded");
  holdoff_options_set_ns(&options, "jitter.bound", bound);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_jitter_drawn(&policy, 1, (INT64_C(1) << 60) + 1), (UINT64_C(1) << 60) + 2);
  CHECK_NUMBER(holdoff_policy_jitter_drawn(&policy, 0, -1), bound - 1);
  CHECK_NUMBER(holdoff_policy_jitter_drawn(&policy, HOLDOFF_LONGEST_NS, 7), HOLDOFF_LONGEST_NS);
  CHECK_NUMBER(holdoff_policy_jitter_drawn(NULL, 5, 7), 5);
  holdoff_policy_default(&policy);
  CHECK_NUMBER(holdoff_policy_jitter_drawn(&policy, 5, 7), 5);
}

static void a_kind_of_failure_may_have_delays_of_its_own(void) {
  holdoff_policy policy;
  holdoff_schedule schedule;
  uint64_t ns = 0;
  holdoff_policy_preset(&policy, "aws-standard-2.1");
  holdoff_schedule_init(&schedule, &policy, 0);
  CHECK(holdoff_schedule_next_at(&schedule, HOLDOFF_THROTTLED, 0.5, &ns));
  CHECK_NUMBER(ns, 500 * MS);
}

static void a_periodic_runs_again_and_again(void) {
  holdoff_wait_backoff wait_backoff;
  holdoff_loop_backoff loop_backoff;
  holdoff_periodic periodic;
  holdoff_periodic_options options = holdoff_periodic_until(true);
  holdoff_periodic_step step;
  holdoff_wait_backoff_init_kubernetes(&wait_backoff, 10, 0.0, 0.0, 0, 0);
  holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_NEVER, 0, 0);
  options.deadline_ns = 100;
  CHECK_NUMBER(holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_periodic_deadline(&periodic), 100);
  step = holdoff_periodic_tick(&periodic, 0);
  CHECK_NUMBER(step.kind, HOLDOFF_RUN);
  CHECK_NUMBER(step.run, 1);
  CHECK_NUMBER(holdoff_periodic_tick(&periodic, 1).kind, HOLDOFF_WAIT);
  step = holdoff_periodic_finish(&periodic, step.run, 5, HOLDOFF_ANSWER_AGAIN);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(step.at, 15);
  CHECK_NUMBER(holdoff_periodic_intervals(&periodic), 1);
  CHECK_NUMBER(holdoff_periodic_interval(&periodic), 10);
  step = holdoff_periodic_tick(&periodic, 15);
  CHECK_NUMBER(step.run, 2);
  step = holdoff_periodic_finish(&periodic, 2, 16, HOLDOFF_ANSWER_DONE);
  CHECK_NUMBER(step.kind, HOLDOFF_STOP);
  CHECK_NUMBER(step.ended, HOLDOFF_ENDED_DONE);
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_ENDED, step.ended), "done");
  CHECK_NUMBER(holdoff_periodic_runs(&periodic), 2);
  CHECK_NUMBER(holdoff_periodic_intervals(&periodic), 1);
  CHECK_NUMBER(holdoff_periodic_intervals(NULL), 0);
  CHECK_NUMBER(holdoff_periodic_interval(NULL), 0);
}

static void a_periodic_draws_what_a_test_says(void) {
  holdoff_wait_backoff wait_backoff;
  holdoff_loop_backoff loop_backoff;
  holdoff_periodic periodic;
  holdoff_periodic_options options = holdoff_periodic_until(true);
  holdoff_wait_backoff_init_kubernetes(&wait_backoff, 100, 0.0, 0.5, 0, 0);
  holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_NEVER, 0, 0);
  holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0);
  CHECK_NUMBER(holdoff_periodic_tick_with(&periodic, 0, 0.75).run, 1);
  CHECK_NUMBER(holdoff_periodic_interval(&periodic), 0);
  CHECK_NUMBER(holdoff_periodic_finish_with(&periodic, 1, 5, HOLDOFF_ANSWER_AGAIN, 0.5).at, 130);
  CHECK_NUMBER(holdoff_periodic_finish_with(&periodic, 1, 5, 9, 0.5).ended, HOLDOFF_ERROR_UNKNOWN_WORD);
  options.sliding = 0;
  holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0);
  holdoff_periodic_tick_with(&periodic, 0, 0.75);
  CHECK_NUMBER(holdoff_periodic_interval(&periodic), 137);
  CHECK_NUMBER(holdoff_periodic_tick_with(NULL, 0, 0.75).ended, HOLDOFF_ERROR_NULL_POINTER);
}

static void a_periodic_ends_as_it_is_told(void) {
  holdoff_wait_backoff wait_backoff;
  holdoff_loop_backoff loop_backoff;
  holdoff_periodic periodic;
  holdoff_periodic_options options = holdoff_periodic_while_steps_last();
  holdoff_periodic_step step;
  uint64_t now = 0, runs = 0;
  holdoff_wait_backoff_init(&wait_backoff, 10, 2.0, 0.0, HOLDOFF_LONGEST_NS, 3);
  holdoff_loop_backoff_init(&loop_backoff, &wait_backoff, HOLDOFF_RESET_NEVER, 0, 0);
  holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0);
  step = holdoff_periodic_tick(&periodic, now);
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_RUN) {
      runs++;
      step = holdoff_periodic_finish(&periodic, step.run, now, HOLDOFF_ANSWER_AGAIN);
    } else {
      now = step.at;
      step = holdoff_periodic_tick(&periodic, now);
    }
  }
  CHECK_NUMBER(step.ended, HOLDOFF_ENDED_STEPS);
  CHECK_NUMBER(runs, 3);
  CHECK_NUMBER(now, 30);
  options = holdoff_periodic_poll(&wait_backoff, true, false);
  CHECK_NUMBER(options.timer, HOLDOFF_TIMER_VARIABLE);
  options = holdoff_periodic_poll_legacy(false);
  CHECK_NUMBER(options.timer, HOLDOFF_TIMER_GRID_SKIPPING);
  CHECK_NUMBER(holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_periodic_tick(&periodic, 0).at, 10);
  step = holdoff_periodic_cancel(&periodic);
  CHECK_NUMBER(step.ended, HOLDOFF_ENDED_CANCELLED);
  options.timer = 9;
  CHECK_NUMBER(holdoff_periodic_init(&periodic, &loop_backoff, &options, 1, 0), HOLDOFF_ERROR_UNKNOWN_WORD);
  memset(&periodic, 0, sizeof periodic);
  step = holdoff_periodic_tick(&periodic, 0);
  CHECK_NUMBER(step.kind, HOLDOFF_STOP);
  CHECK_NUMBER(step.ended, HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_periodic_finish(NULL, 1, 0, 9).ended, HOLDOFF_ERROR_NULL_POINTER);
}

static void a_retry_inside_a_retry_has_one_cap(void) {
  holdoff_policy outer = constant("10s", 3), inner = constant("1s", 2);
  holdoff_layers layers;
  holdoff_layered layered;
  holdoff_step step;
  uint64_t now = 0, slept = 0;
  CHECK_NUMBER(holdoff_layers_init(&layers, &outer, &inner, 5), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_layers_attempts(&layers), 5);
  step = holdoff_layered_begin(&layered, &layers, 1, now);
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      step = holdoff_layered_fail(&layered, &layers, holdoff_step_ticket(step), now, lost, NULL);
    } else {
      slept += step.at - now;
      now = step.at;
      step = holdoff_layered_tick(&layered, &layers, now);
    }
  }
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(holdoff_layered_attempt(&layered), 5);
  CHECK_NUMBER(holdoff_layered_outer_attempt(&layered), 3);
  CHECK_NUMBER(holdoff_layered_inner_attempt(&layered), 1);
  CHECK_NUMBER(holdoff_layered_stopped_by(&layered), HOLDOFF_LEVEL_CAP);
  CHECK_NUMBER(holdoff_layered_inner_reason(&layered), HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(slept, 22 * SECOND);
}

static void the_levels_do_as_they_are_told(void) {
  holdoff_policy outer = constant("10s", 3), inner = constant("1s", 1);
  holdoff_failure permanent = holdoff_failure_of(HOLDOFF_PERMANENT);
  holdoff_layers layers;
  holdoff_layered layered;
  holdoff_layers_init(&layers, &outer, &inner, 0);
  CHECK_NUMBER(holdoff_layers_attempts(&layers), 3);
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK_NUMBER(holdoff_layered_fail(&layered, &layers, 1, 0, permanent, NULL).reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(holdoff_layered_stopped_by(&layered), HOLDOFF_LEVEL_INNER);
  CHECK_NUMBER(holdoff_layers_go_on_after(&layers, HOLDOFF_REASON_PERMANENT, true), HOLDOFF_OK);
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK_NUMBER(holdoff_layered_fail(&layered, &layers, 1, 0, permanent, NULL).at, 10 * SECOND);
  CHECK_NUMBER(holdoff_layered_remaining(&layered, 4 * SECOND), 6 * SECOND);
  CHECK_NUMBER(holdoff_layered_cancel(&layered, 1).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_layered_remaining(&layered, 4 * SECOND), 0);
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK_NUMBER(holdoff_layered_fail(&layered, &layers, 1, 0, lost, &permanent).reason, HOLDOFF_REASON_ATTEMPTS);
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK_NUMBER(holdoff_layered_succeed(&layered, 1, 0).outcome, HOLDOFF_SUCCEEDED);
}

static void an_inner_level_says_beforehand_why_it_would_give_up(void) {
  holdoff_policy outer = constant("10s", 3), inner = constant("1s", 2);
  holdoff_failure permanent = holdoff_failure_of(HOLDOFF_PERMANENT);
  holdoff_layers layers;
  holdoff_layered layered;
  holdoff_layers_init(&layers, &outer, &inner, 0);
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, &layers, 1, 0, lost), 0);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, &layers, 1, 0, permanent), HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, &layers, 2, 0, permanent), 0);
  holdoff_layered_fail(&layered, &layers, 1, 0, lost, NULL);
  holdoff_layered_tick(&layered, &layers, SECOND);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, &layers, 2, SECOND, lost), HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(holdoff_layered_inner_attempt(&layered), 2);
  CHECK_NUMBER(holdoff_layered_would_give_up(NULL, &layers, 2, SECOND, lost), 0);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, NULL, 2, SECOND, lost), 0);
  CHECK_NUMBER(holdoff_layered_would_give_up(&layered, &layers, 2, SECOND, holdoff_failure_of(0)), 0);
}

static void wrong_use_of_layers_stops(void) {
  holdoff_policy policy = constant("1s", 2);
  holdoff_layers layers;
  holdoff_layered layered;
  memset(&layers, 0, sizeof layers);
  memset(&layered, 0, sizeof layered);
  CHECK(is_invalid(holdoff_layered_begin(&layered, &layers, 1, 0), HOLDOFF_ERROR_NOT_A_POLICY));
  CHECK_NUMBER(holdoff_layers_init(&layers, &policy, NULL, 1), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_layers_init(&layers, &policy, &policy, UINT32_MAX), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  CHECK_NUMBER(holdoff_layers_init(&layers, &policy, &policy, 1), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_layers_go_on_after(&layers, 99, true), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK(is_invalid(holdoff_layered_tick(&layered, &layers, 0), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_layered_fail(NULL, &layers, 1, 0, lost, NULL), HOLDOFF_ERROR_NULL_POINTER));
  holdoff_layered_underway(&layered, &layers, 1, 0);
  CHECK(is_invalid(holdoff_layered_fail(&layered, &layers, 1, 0, holdoff_failure_of(0), NULL),
                   HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
}

static void a_step_of_kubernetes_fields_is_a_step_of_the_machine(void) {
  holdoff_kubernetes_backoff fields = {10 * MS, 3.0, 0.5, 4, (int64_t)(200 * MS)}, before;
  holdoff_wait_backoff machine;
  int step;
  CHECK_NUMBER(holdoff_wait_backoff_init_kubernetes(&machine, 10 * MS, 3.0, 0.5, 4, (int64_t)(200 * MS)), HOLDOFF_OK);
  for (step = 0; step < 7; step++) {
    double u = step / 8.0;
    CHECK_NUMBER(holdoff_kubernetes_step(&fields, u), holdoff_wait_backoff_step(&machine, u));
    CHECK_NUMBER(fields.duration_ns, holdoff_wait_backoff_duration(&machine));
    CHECK_NUMBER((uint64_t)fields.steps, holdoff_wait_backoff_steps(&machine));
  }
  fields.steps = -3;
  CHECK_NUMBER(holdoff_kubernetes_step(&fields, 0.0), 200 * MS);
  CHECK(fields.steps == -3);
  fields.factor = -1;
  before = fields;
  CHECK_NUMBER(holdoff_kubernetes_step(&fields, 0.0), HOLDOFF_NEVER);
  CHECK(memcmp(&fields, &before, sizeof fields) == 0);
  CHECK_NUMBER(holdoff_kubernetes_step(NULL, 0.0), HOLDOFF_NEVER);
}

static void a_periodic_gives_its_loop_backoff_back(void) {
  holdoff_loop_backoff given, taken, zeroed;
  holdoff_periodic_options options = holdoff_periodic_until(false);
  holdoff_periodic periodic;
  holdoff_wait_backoff growing;
  memset(&zeroed, 0, sizeof zeroed);
  CHECK_NUMBER(holdoff_wait_backoff_init(&growing, MS, 2.0, 0.0, HOLDOFF_LONGEST_NS, 5), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_loop_backoff_init(&given, &growing, HOLDOFF_RESET_NEVER, 0, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_periodic_init(&periodic, &given, &options, 1, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_periodic_backoff(&periodic, &taken), HOLDOFF_OK);
  CHECK(memcmp(&given, &taken, sizeof given) == 0);
  CHECK_NUMBER(holdoff_periodic_backoff(NULL, &taken), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_periodic_backoff(&periodic, NULL), HOLDOFF_ERROR_NULL_POINTER);
}

void machines_tests(void) {
  RUN(a_stepped_backoff_is_its_own_state);
  RUN(a_loop_backoff_begins_again_by_itself);
  RUN(draws_are_those_of_every_language);
  RUN(a_drawn_number_is_added_to_the_last_bit);
  RUN(a_kind_of_failure_may_have_delays_of_its_own);
  RUN(a_periodic_runs_again_and_again);
  RUN(a_periodic_draws_what_a_test_says);
  RUN(a_periodic_ends_as_it_is_told);
  RUN(a_retry_inside_a_retry_has_one_cap);
  RUN(the_levels_do_as_they_are_told);
  RUN(an_inner_level_says_beforehand_why_it_would_give_up);
  RUN(wrong_use_of_layers_stops);
  RUN(a_step_of_kubernetes_fields_is_a_step_of_the_machine);
  RUN(a_periodic_gives_its_loop_backoff_back);
}
