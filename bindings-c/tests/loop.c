/* The loop of holdoff_loop.h in virtual time: no test here waits. */
#include "check.h"
#include "holdoff_virtual.h"

/* A world: its clock, what the operation does in it, and what was seen. */
typedef struct world {
  uint64_t now, clock_reads, slept;
  int fail_first, calls, retries, last_error;
  holdoff_failure with;
  uint64_t attempt_takes, abort_at;
  holdoff_cancel *cancel;
  int cancel_in_attempt;
  bool cancel_in_retry, cancel_in_sleep;
  holdoff_loop_budget *budget;
  const holdoff_guards *guards;
  holdoff_retrying retrying;
} world;

static uint64_t world_now(void *state) {
  world *here = (world *)state;
  here->clock_reads++;
  return here->now;
}

static void world_sleep(void *state, uint64_t until, const holdoff_cancel *cancel) {
  world *here = (world *)state;
  (void)cancel;
  here->slept += until - here->now;
  here->now = until;
  if (here->cancel_in_sleep) {
    holdoff_cancel_fire(here->cancel);
  }
}

static bool operate(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  world *here = (world *)context;
  here->calls++;
  here->now += here->attempt_takes;
  here->abort_at = attempt->abort_at;
  if (here->cancel_in_attempt == here->calls) {
    holdoff_cancel_fire(here->cancel);
    CHECK(holdoff_attempt_cancelled(attempt));
  }
  if (here->calls > here->fail_first) {
    return true;
  }
  here->last_error = 100 + here->calls;
  if (here->with.kind != 0) {
    *failure = here->with;
  }
  return false;
}

static void see(void *context, const holdoff_retrying *retrying) {
  world *here = (world *)context;
  here->retries++;
  here->retrying = *retrying;
  if (here->cancel_in_retry) {
    holdoff_cancel_fire(here->cancel);
  }
}

static world a_world(int fail_first) {
  world here;
  memset(&here, 0, sizeof here);
  here.now = 1000;
  here.fail_first = fail_first;
  return here;
}

static bool run(const holdoff_policy *policy, world *here, holdoff_result *result) {
  holdoff_clock clock;
  holdoff_host host;
  uint64_t seed = 42;
  clock.now = world_now;
  clock.sleep_until = world_sleep;
  clock.state = here;
  memset(&host, 0, sizeof host);
  host.cancel = here->cancel;
  host.on_retry = see;
  host.seed = &seed;
  host.clock = &clock;
  host.budget = here->budget;
  host.guards = here->guards;
  return holdoff_run(policy, &host, operate, here, result);
}

static void a_first_success_reads_no_clock(void) {
  holdoff_policy policy = constant("1s", 3);
  world here = a_world(0);
  holdoff_result result;
  CHECK(run(&policy, &here, &result));
  CHECK_NUMBER(here.clock_reads, 0);
  CHECK_NUMBER(result.outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(result.attempts, 1);
  CHECK_NUMBER(result.failure.kind, 0);
}

static void failures_are_slept_off(void) {
  holdoff_policy policy = constant("1s", 3);
  world here = a_world(2);
  holdoff_result result;
  CHECK(run(&policy, &here, &result));
  CHECK_NUMBER(here.slept, 2 * SECOND);
  CHECK_NUMBER(here.retries, 2);
  CHECK_NUMBER(here.retrying.attempt, 2);
  CHECK_NUMBER(here.retrying.delay_ns, SECOND);
  CHECK_NUMBER(here.retrying.until, 1000 + 2 * SECOND);
  CHECK_NUMBER(here.retrying.cause, HOLDOFF_CAUSE_BACKOFF);
  CHECK_NUMBER(here.retrying.failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(result.attempts, 3);
}

static void giving_up_keeps_the_last_error(void) {
  holdoff_policy policy = constant("1s", 3);
  world here = a_world(9);
  holdoff_result result;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_GAVE_UP);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK_NUMBER(result.attempts, 3);
  CHECK_NUMBER(result.failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(here.last_error, 103);
}

static void a_permanent_failure_is_not_retried(void) {
  holdoff_policy policy = constant("1s", 3);
  world here = a_world(9);
  holdoff_result result;
  here.with = holdoff_failure_of(HOLDOFF_PERMANENT);
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(here.calls, 1);
  CHECK_NUMBER(here.retries, 0);
}

static void a_limit_is_told_to_the_attempt_and_makes_it_a_timeout(void) {
  holdoff_policy policy;
  holdoff_options options;
  world here = a_world(1);
  holdoff_result result;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "attempt_timeout", "2s");
  holdoff_policy_build(&policy, &options, NULL);
  here.attempt_takes = 2 * SECOND;
  CHECK(run(&policy, &here, &result));
  CHECK_NUMBER(here.retrying.failure.kind, HOLDOFF_TIMEOUT);
  CHECK_NUMBER(here.abort_at, here.now);
}

static void a_deadline_counts_from_before_the_first_attempt(void) {
  holdoff_policy policy;
  holdoff_options options;
  world here = a_world(9);
  holdoff_result result;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff", "constant");
  holdoff_options_set_text(&options, "backoff.delay", "3s");
  holdoff_options_set_text(&options, "jitter", "none");
  holdoff_options_set_text(&options, "deadline", "10s");
  holdoff_policy_build(&policy, &options, NULL);
  here.attempt_takes = 4 * SECOND;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_DEADLINE);
  CHECK_NUMBER(result.attempts, 2);
  CHECK_NUMBER(result.retry_at, 1000 + 14 * SECOND);
}

static void cancelling_during_an_attempt_ends_the_call(void) {
  holdoff_policy policy = constant("1s", 9);
  world here = a_world(9);
  holdoff_cancel cancel;
  holdoff_result result;
  CHECK_NUMBER(holdoff_cancel_init(&cancel), 0);
  here.cancel = &cancel;
  here.cancel_in_attempt = 2;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_CANCELLED);
  CHECK_NUMBER(result.attempts, 2);
  CHECK_NUMBER(here.last_error, 102);
  holdoff_cancel_close(&cancel);
}

static void cancelling_during_a_sleep_ends_the_call(void) {
  holdoff_policy policy = constant("1s", 9);
  world here = a_world(9);
  holdoff_cancel cancel;
  holdoff_result result;
  holdoff_cancel_init(&cancel);
  here.cancel = &cancel;
  here.cancel_in_sleep = true;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(here.calls, 1);
  CHECK_NUMBER(here.last_error, 101);
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(result.attempts, 0);
  CHECK_NUMBER(here.calls, 1);
  holdoff_cancel_close(&cancel);
}

static void a_hook_that_cancels_prevents_the_sleep(void) {
  holdoff_policy policy = constant("1s", 9);
  world here = a_world(9);
  holdoff_cancel cancel;
  holdoff_result result;
  holdoff_cancel_init(&cancel);
  here.cancel = &cancel;
  here.cancel_in_retry = true;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(here.slept, 0);
  holdoff_cancel_close(&cancel);
}

static void a_success_under_cancellation_is_a_success(void) {
  holdoff_policy policy = constant("1s", 9);
  world here = a_world(0);
  holdoff_cancel cancel;
  holdoff_cancel_init(&cancel);
  here.cancel = &cancel;
  here.cancel_in_attempt = 1;
  CHECK(run(&policy, &here, NULL));
  holdoff_cancel_close(&cancel);
}

static void wrong_use_of_the_loop_runs_nothing(void) {
  holdoff_policy policy = constant("1s", 3), zeroed;
  world here = a_world(9);
  holdoff_result result;
  memset(&zeroed, 0, sizeof zeroed);
  CHECK(!holdoff_run(NULL, NULL, operate, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_INVALID);
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_NULL_POINTER);
  CHECK(!holdoff_run(&policy, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_NULL_POINTER);
  CHECK(!holdoff_run(&zeroed, NULL, operate, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK_NUMBER(here.calls, 0);
  here.with.kind = 77;
  CHECK(!run(&policy, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_INVALID);
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND);
}

static void an_attempt_knows_how_long_it_may_take(void) {
  holdoff_host host;
  holdoff_attempt attempt = {1, HOLDOFF_NEVER, &host, NULL, NULL};
  world here = a_world(0);
  holdoff_clock clock = {world_now, world_sleep, &here};
  memset(&host, 0, sizeof host);
  CHECK(holdoff_attempt_left_ms(&attempt) == -1);
  attempt.abort_at = holdoff_now();
  CHECK(holdoff_attempt_left_ms(&attempt) == 0);
  attempt.abort_at = HOLDOFF_NEVER - 1;
  CHECK(holdoff_attempt_left_ms(&attempt) == 3600000);
  /* By the clock of its host. */
  host.clock = &clock;
  attempt.abort_at = here.now + 30000001;
  CHECK_NUMBER(holdoff_attempt_left_ms(&attempt), 31);
  here.now += 30000001;
  CHECK_NUMBER(holdoff_attempt_left_ms(&attempt), 0);
}

static void a_program_s_tests_pass_time_by_sleeping(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_virtual_time time = {0, 0};
  holdoff_clock clock = holdoff_virtual_clock(&time);
  holdoff_failing down = {2, holdoff_failure_of(HOLDOFF_TRANSIENT), 0};
  holdoff_host host;
  holdoff_result result;
  memset(&host, 0, sizeof host);
  host.clock = &clock;
  CHECK(holdoff_run(&policy, &host, holdoff_fail, &down, &result));
  CHECK_NUMBER(down.calls, 3);
  CHECK_NUMBER(time.slept, 2 * SECOND);
}

static void a_soft_deadline_lets_the_attempt_that_runs_end(void) {
  for (int hard = 0; hard < 2; hard++) {
    holdoff_options options;
    holdoff_policy policy;
    world here = a_world(0);
    holdoff_result result;
    holdoff_options_init(&options);
    CHECK_NUMBER(holdoff_options_set_text(&options, "deadline", "1s"), HOLDOFF_OK);
    CHECK_NUMBER(holdoff_options_set_value(&options, "abort_at_deadline",
                                           hard ? HOLDOFF_VALUE_TRUE : HOLDOFF_VALUE_FALSE),
                 HOLDOFF_OK);
    CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
    here.attempt_takes = 5 * SECOND;
    CHECK(run(&policy, &here, &result));
    CHECK_NUMBER(here.abort_at, hard ? 1000 + SECOND : HOLDOFF_NEVER);
    here = a_world(9);
    here.attempt_takes = 5 * SECOND;
    CHECK(!run(&policy, &here, &result));
    CHECK_NUMBER(result.reason, HOLDOFF_REASON_DEADLINE);
    CHECK_NUMBER(result.attempts, 1);
  }
}

/* A first attempt of 1 s and a delay of 2 s from its start; one of 4 s and a deadline of 5 s that aborts no attempt. */
static void delays_and_deadlines_from_the_start_count_the_first_attempt(void) {
  static const struct {
    const char *fields[4];
    uint64_t taken;
    uint32_t attempts;
  } cases[] = {{{"delay_from", "start", NULL, NULL}, 1, 2}, {{"deadline", "5s", "reset_after", "5s"}, 4, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    holdoff_options options;
    holdoff_policy policy;
    world here = a_world(1);
    holdoff_result result;
    holdoff_options_init(&options);
    CHECK_NUMBER(holdoff_options_set_text(&options, "backoff", "constant"), HOLDOFF_OK);
    CHECK_NUMBER(holdoff_options_set_text(&options, "backoff.delay", "2s"), HOLDOFF_OK);
    CHECK_NUMBER(holdoff_options_set_text(&options, "jitter", "none"), HOLDOFF_OK);
    CHECK_NUMBER(holdoff_options_set_number(&options, "attempts", 3), HOLDOFF_OK);
    for (int at = 0; at < 4 && cases[i].fields[at] != NULL; at += 2) {
      CHECK_NUMBER(holdoff_options_set_text(&options, cases[i].fields[at], cases[i].fields[at + 1]), HOLDOFF_OK);
    }
    CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
    here.attempt_takes = cases[i].taken * SECOND;
    run(&policy, &here, &result);
    CHECK_NUMBER(result.attempts, cases[i].attempts);
    CHECK_NUMBER(here.slept, cases[i].attempts == 2 ? SECOND : 0);
  }
}

static void an_attempt_can_poll_for_its_cancellation(void) {
  holdoff_cancel cancel;
  struct pollfd wake;
  holdoff_cancel_init(&cancel);
  wake.fd = holdoff_cancel_fd(&cancel);
  wake.events = POLLIN;
  CHECK(poll(&wake, 1, 0) == 0);
  holdoff_cancel_fire(&cancel);
  holdoff_cancel_fire(&cancel);
  CHECK(poll(&wake, 1, 0) == 1);
  CHECK(holdoff_cancelled(&cancel));
  CHECK(!holdoff_cancelled(NULL));
  holdoff_cancel_close(&cancel);
}

static void a_cancel_without_descriptors_touches_nobody_else_s(void) {
  holdoff_cancel zeroed, closed;
  int input = fcntl(0, F_GETFD);
  memset(&zeroed, 0, sizeof zeroed);
  CHECK(holdoff_cancel_fd(&zeroed) == -1);
  holdoff_cancel_fire(&zeroed);
  CHECK(holdoff_cancelled(&zeroed));
  holdoff_cancel_close(&zeroed);
  CHECK(fcntl(0, F_GETFD) == input);
  holdoff_cancel_init(&closed);
  holdoff_cancel_close(&closed);
  CHECK(pipe(zeroed.wake) == 0);
  holdoff_cancel_close(&closed);
  CHECK(fcntl(zeroed.wake[0], F_GETFD) != -1);
  holdoff_cancel_close(&zeroed);
}

static void seeds_of_a_program_go_to_the_operations_that_fail(void) {
  holdoff_seeds seeds = {9, 0};
  holdoff_host host;
  memset(&host, 0, sizeof host);
  host.seeds = &seeds;
  CHECK_NUMBER(holdoff_host_seed(&host), holdoff_seed_at(9, 0));
  CHECK_NUMBER(holdoff_host_seed(&host), holdoff_seed_at(9, 1));
  CHECK(holdoff_os_seed() != holdoff_os_seed());
}

/* A call at `now` that fails, a millisecond between its attempts: how many there were. */
static uint32_t fails(holdoff_loop_budget *budget, uint64_t now, uint32_t kind, holdoff_result *result) {
  holdoff_policy policy = constant("1ms", 3);
  world here = a_world(9);
  here.now = now;
  here.budget = budget;
  here.with = holdoff_failure_of(kind);
  CHECK(!run(&policy, &here, result));
  return result->attempts;
}

static void ten_calls_under_a_budget_that_fail_fast_get_all_attempts(void) {
  holdoff_loop_budget budget;
  holdoff_result result;
  char text[128];
  holdoff_loop_budget_init(&budget, 0);
  for (uint64_t call = 0; call < 10; call++) {
    CHECK_NUMBER(fails(&budget, call * SECOND, HOLDOFF_TRANSIENT, &result), 3);
    CHECK_NUMBER(result.reason, HOLDOFF_REASON_ATTEMPTS);
  }
  CHECK_NUMBER(fails(&budget, 10 * SECOND, HOLDOFF_TRANSIENT, &result), 1);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_BUDGET);
  CHECK(holdoff_budget_shortage(&budget.budget, 10 * SECOND, HOLDOFF_TRANSIENT, text, sizeof text) > 0);
  CHECK_TEXT(text, "19.7 of 20 tokens; a retry costs 1, there are enough again in 24s; a larger `budget` allows more");
  CHECK_NUMBER(fails(&budget, 34 * SECOND, HOLDOFF_TRANSIENT, &result), 2);
}

static void one_call_under_a_budget_that_times_out_gets_all_attempts(void) {
  holdoff_loop_budget budget;
  holdoff_result result;
  holdoff_loop_budget_init(&budget, 0);
  CHECK_NUMBER(fails(&budget, 0, HOLDOFF_TIMEOUT, &result), 3);
  CHECK_NUMBER(fails(&budget, SECOND, HOLDOFF_TIMEOUT, &result), 1);
}

static void for_a_second_every_call_under_a_budget_may_retry(void) {
  holdoff_loop_budget budget;
  holdoff_result result;
  holdoff_loop_budget_init(&budget, 0);
  for (int call = 0; call < 1000; call++) {
    CHECK_NUMBER(fails(&budget, 0, call % 2 == 0 ? HOLDOFF_TIMEOUT : HOLDOFF_TRANSIENT, &result), 3);
  }
  CHECK_NUMBER(budget.refusals, 0);
  CHECK_NUMBER(fails(&budget, SECOND, HOLDOFF_TRANSIENT, &result), 1);
  CHECK_NUMBER(budget.refusals, 1);
}

/* An attempt during which the budget refuses another call, is full again, and is in a new grace. */
static bool refused_meanwhile(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  holdoff_loop_budget *budget = (holdoff_loop_budget *)context;
  holdoff_result result;
  (void)attempt;
  CHECK_NUMBER(fails(budget, 0, HOLDOFF_TIMEOUT, &result), 3);
  CHECK_NUMBER(fails(budget, SECOND, HOLDOFF_TIMEOUT, &result), 1);
  for (int call = 0; call < 20; call++) {
    holdoff_budget_succeed(&budget->budget, SECOND, NULL);
  }
  CHECK_NUMBER(fails(budget, SECOND, HOLDOFF_TIMEOUT, &result), 3);
  *failure = holdoff_failure_of(HOLDOFF_TRANSIENT);
  return false;
}

static void a_call_that_began_before_a_refusal_has_no_grace(void) {
  holdoff_policy policy = constant("1ms", 3);
  holdoff_loop_budget budget;
  holdoff_result result;
  world here = a_world(9);
  holdoff_host host;
  holdoff_clock clock;
  memset(&host, 0, sizeof host);
  clock.now = world_now;
  clock.sleep_until = world_sleep;
  clock.state = &here;
  here.now = SECOND;
  holdoff_loop_budget_init(&budget, 0);
  host.budget = &budget;
  host.clock = &clock;
  CHECK(!holdoff_run(&policy, &host, refused_meanwhile, &budget, &result));
  CHECK_NUMBER(result.attempts, 1);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_BUDGET);
}

static void a_first_success_under_a_full_budget_reads_no_clock(void) {
  holdoff_policy policy = constant("1s", 3);
  world here = a_world(0);
  holdoff_loop_budget budget;
  holdoff_result result;
  holdoff_loop_budget_init(&budget, 0);
  here.budget = &budget;
  CHECK(run(&policy, &here, &result));
  CHECK_NUMBER(here.clock_reads, 0);
  CHECK_NUMBER(fails(&budget, 0, HOLDOFF_TRANSIENT, &result), 3);
  CHECK(budget.is_short);
  for (int call = 0; call < 2; call++) {
    here = a_world(0);
    here.now = 0;
    here.budget = &budget;
    CHECK(run(&policy, &here, &result));
    CHECK_NUMBER(here.clock_reads, 1);
  }
  CHECK(!budget.is_short);
}

static void a_retry_that_succeeds_or_is_cancelled_costs_a_budget_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_loop_budget budget;
  holdoff_result result;
  holdoff_loop_budget_init(&budget, 0);
  for (int call = 0; call < 100; call++) {
    holdoff_cancel cancel;
    world here = a_world(1);
    here.budget = &budget;
    CHECK(run(&policy, &here, &result));
    here = a_world(9);
    CHECK_NUMBER(holdoff_cancel_init(&cancel), 0);
    here.budget = &budget;
    here.cancel = &cancel;
    here.cancel_in_sleep = true;
    CHECK(!run(&policy, &here, &result));
    CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
    holdoff_cancel_close(&cancel);
  }
  CHECK(!budget.is_short);
}

static void other_guards_have_the_budget_beside_them(void) {
  holdoff_policy policy = constant("1ms", 3);
  holdoff_loop_budget budget;
  holdoff_breaker breaker;
  holdoff_guards guards;
  holdoff_result result;
  memset(&guards, 0, sizeof guards);
  guards.breaker = &breaker;
  CHECK_NUMBER(holdoff_breaker_init_consecutive(&breaker, 1000, SECOND, 0), 0);
  holdoff_loop_budget_init(&budget, 0);
  for (uint64_t call = 0; call < 3; call++) {
    world here = a_world(9);
    here.now = call * SECOND;
    here.budget = &budget;
    here.guards = &guards;
    here.with = holdoff_failure_of(HOLDOFF_TIMEOUT);
    CHECK(!run(&policy, &here, &result));
    CHECK_NUMBER(result.attempts, call < 1 ? 3 : 1);
  }
  CHECK(guards.budget == NULL);
}

void loop_tests(void) {
  RUN(a_first_success_reads_no_clock);
  RUN(failures_are_slept_off);
  RUN(giving_up_keeps_the_last_error);
  RUN(a_permanent_failure_is_not_retried);
  RUN(a_limit_is_told_to_the_attempt_and_makes_it_a_timeout);
  RUN(a_deadline_counts_from_before_the_first_attempt);
  RUN(cancelling_during_an_attempt_ends_the_call);
  RUN(cancelling_during_a_sleep_ends_the_call);
  RUN(a_hook_that_cancels_prevents_the_sleep);
  RUN(a_success_under_cancellation_is_a_success);
  RUN(wrong_use_of_the_loop_runs_nothing);
  RUN(an_attempt_knows_how_long_it_may_take);
  RUN(a_program_s_tests_pass_time_by_sleeping);
  RUN(a_soft_deadline_lets_the_attempt_that_runs_end);
  RUN(delays_and_deadlines_from_the_start_count_the_first_attempt);
  RUN(an_attempt_can_poll_for_its_cancellation);
  RUN(a_cancel_without_descriptors_touches_nobody_else_s);
  RUN(seeds_of_a_program_go_to_the_operations_that_fail);
  RUN(ten_calls_under_a_budget_that_fail_fast_get_all_attempts);
  RUN(one_call_under_a_budget_that_times_out_gets_all_attempts);
  RUN(for_a_second_every_call_under_a_budget_may_retry);
  RUN(a_call_that_began_before_a_refusal_has_no_grace);
  RUN(a_first_success_under_a_full_budget_reads_no_clock);
  RUN(a_retry_that_succeeds_or_is_cancelled_costs_a_budget_nothing);
  RUN(other_guards_have_the_budget_beside_them);
}
