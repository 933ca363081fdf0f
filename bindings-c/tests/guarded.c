/* Calls under guards: the machine, and the loop in virtual time. */
#include "check.h"

static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
static const holdoff_guards none = {0};

static holdoff_breaker a_breaker(const char *refusal, double failures) {
  holdoff_options options;
  holdoff_breaker breaker;
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "breaker.failures", failures);
  holdoff_options_set_text(&options, "breaker.open_for", "30s");
  holdoff_options_set_text(&options, "breaker.refusal", refusal);
  CHECK_NUMBER(holdoff_breaker_init(&breaker, &options, 1, 0, NULL), HOLDOFF_OK);
  return breaker;
}

static holdoff_budget a_budget(double capacity) {
  holdoff_options options;
  holdoff_budget budget;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "budget", "token");
  holdoff_options_set_number(&options, "budget.capacity", capacity);
  CHECK_NUMBER(holdoff_budget_init(&budget, &options, 1, 0, NULL), HOLDOFF_OK);
  return budget;
}

static holdoff_bulkhead a_bulkhead(void) {
  holdoff_options options;
  holdoff_bulkhead bulkhead;
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "bulkhead", 1);
  holdoff_options_set_number(&options, "bulkhead.queue", 4);
  holdoff_options_set_text(&options, "bulkhead.max_wait", "5s");
  CHECK_NUMBER(holdoff_bulkhead_init(&bulkhead, &options, NULL, 0, NULL), HOLDOFF_OK);
  return bulkhead;
}

static void without_guards_it_is_a_call(void) {
  holdoff_policy policy = constant("1s", 2);
  holdoff_guarded_call call;
  holdoff_step step = holdoff_guarded_call_begin(&call, &policy, NULL, 1, 0);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(holdoff_guarded_call_flying(&call), 1);
  step = holdoff_guarded_call_fail(&call, &policy, &none, holdoff_step_ticket(step), 0, lost);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(holdoff_guarded_call_remaining(&call, 0), SECOND);
  step = holdoff_guarded_call_tick(&call, &policy, NULL, SECOND);
  CHECK_NUMBER(step.attempt, 2);
  step = holdoff_guarded_call_succeed(&call, NULL, 2, SECOND);
  CHECK_NUMBER(step.outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(holdoff_guarded_call_attempt(&call), 2);
}

static void a_second_attempt_runs_beside_the_first(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_options options;
  holdoff_hedge hedge;
  holdoff_guards guards = none;
  holdoff_guarded_call call;
  holdoff_step step;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "hedge", "100ms");
  holdoff_hedge_init(&hedge, &options, NULL);
  guards.hedge = &hedge;
  step = holdoff_guarded_call_begin(&call, &policy, &guards, 1, 0);
  CHECK_NUMBER(step.wake_at, 100 * MS);
  step = holdoff_guarded_call_tick(&call, &policy, &guards, 100 * MS);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(step.attempt, 2);
  CHECK_NUMBER(holdoff_guarded_call_flying(&call), 2);
  step = holdoff_guarded_call_fail(&call, &policy, &guards, 1, 150 * MS, lost);
  CHECK_NUMBER(step.kind, HOLDOFF_WAIT);
  step = holdoff_guarded_call_succeed(&call, &guards, 2, 160 * MS);
  CHECK_NUMBER(step.outcome, HOLDOFF_SUCCEEDED);
}

static void a_fault_of_our_own_tells_the_guards_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_breaker breaker = a_breaker("stop", 1);
  holdoff_guards guards = none;
  holdoff_guarded_call call;
  holdoff_step step;
  guards.breaker = &breaker;
  holdoff_guarded_call_begin(&call, &policy, &guards, 1, 0);
  step = holdoff_guarded_call_abandon(&call, &guards, 1, 0);
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_CLOSED);
}

static void a_call_that_is_dropped_gives_its_place_back(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_bulkhead bulkhead = a_bulkhead();
  holdoff_guards guards = none;
  holdoff_guarded_call first, second;
  guards.bulkhead = &bulkhead;
  holdoff_guarded_call_begin(&first, &policy, &guards, 1, 0);
  CHECK_NUMBER(holdoff_guarded_call_begin(&second, &policy, &guards, 1, 0).cause, HOLDOFF_CAUSE_BULKHEAD);
  CHECK_NUMBER(holdoff_guarded_call_cancel(&first, &guards, 1).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_guarded_call_tick(&second, &policy, &guards, 1).kind, HOLDOFF_ATTEMPT);
  holdoff_guarded_call_cancel(&second, &guards, 2);
  CHECK_NUMBER(holdoff_bulkhead_running(&bulkhead), 0);
}

static void a_call_is_saved_and_goes_on_under_other_guards(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_budget there = a_budget(50), here = a_budget(50);
  holdoff_guards guards = none, others = none;
  holdoff_guarded_call call, resumed;
  holdoff_saved saved;
  holdoff_problem problem;
  guards.budget = &there;
  others.budget = &here;
  holdoff_guarded_call_begin(&call, &policy, &guards, 1, 0);
  holdoff_guarded_call_fail(&call, &policy, &guards, 1, 0, lost);
  CHECK_NUMBER(holdoff_guarded_call_save(&call, &policy, 4 * SECOND, &saved), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_guarded_call_resume(&resumed, &saved, &policy, &others, 99 * SECOND, &problem), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_guarded_call_tick(&resumed, &policy, &others, 99 * SECOND).at, 105 * SECOND);
  CHECK_NUMBER(holdoff_guarded_call_tick(&resumed, &policy, &others, 105 * SECOND).attempt, 2);
  CHECK_NUMBER(holdoff_guarded_call_resume(NULL, &saved, &policy, &others, 0, NULL), HOLDOFF_ERROR_NULL_POINTER);
  memset(&saved, 0, sizeof saved);
  CHECK_NUMBER(holdoff_guarded_call_resume(&resumed, &saved, &policy, &others, 0, &problem), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_guarded_call_attempt(&resumed), 2);
  memset(&call, 0, sizeof call);
  CHECK_NUMBER(holdoff_guarded_call_save(&call, &policy, 0, &saved), HOLDOFF_ERROR_NOT_A_CALL);
}

static void wrong_memory_stops_a_guarded_call(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_bulkhead bulkhead = a_bulkhead();
  holdoff_budget stale;
  holdoff_guards guards = none, wrong = none;
  holdoff_guarded_call call, zeroed;
  memset(&stale, 0, sizeof stale);
  memset(&zeroed, 0, sizeof zeroed);
  guards.bulkhead = &bulkhead;
  wrong.bulkhead = &bulkhead;
  wrong.budget = &stale;
  CHECK(is_invalid(holdoff_guarded_call_begin(&call, &policy, &wrong, 1, 0), HOLDOFF_ERROR_NOT_A_GUARD));
  CHECK_NUMBER(holdoff_guarded_call_tick(&call, &policy, &guards, 0).outcome, HOLDOFF_CANCELLED);
  CHECK(is_invalid(holdoff_guarded_call_begin(&call, NULL, &guards, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_guarded_call_begin(NULL, &policy, &guards, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_bulkhead_running(&bulkhead), 0);
  CHECK_NUMBER(holdoff_guarded_call_succeed(&zeroed, &guards, 1, 0).outcome, HOLDOFF_CANCELLED);
  memset(&zeroed, 0xa5, sizeof zeroed);
  CHECK(is_invalid(holdoff_guarded_call_cancel(&zeroed, &guards, 0), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_guarded_call_cancel(NULL, &guards, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_guarded_call_attempt(&zeroed), 0);
  holdoff_guarded_call_begin(&call, &policy, &guards, 1, 0);
  CHECK(is_invalid(holdoff_guarded_call_fail(&call, &policy, &wrong, 1, 0, lost), HOLDOFF_ERROR_NOT_A_GUARD));
  CHECK(is_invalid(holdoff_guarded_call_fail(&call, &policy, &guards, 1, 0, holdoff_failure_of(77)),
                   HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
  CHECK_NUMBER(holdoff_guarded_call_fail(&call, &policy, &guards, 1, 0, lost).kind, HOLDOFF_SLEEP);
}

/* A world: its clock, and what its operation does. */
typedef struct world {
  uint64_t now, slept;
  int fail_first, calls, retries;
  uint32_t kind, cause, first_attempt;
  holdoff_token token;
  bool has_token;
} world;

static uint64_t world_now(void *state) { return ((world *)state)->now; }

static void world_sleep(void *state, uint64_t until, const holdoff_cancel *cancel) {
  world *here = (world *)state;
  (void)cancel;
  here->slept += until - here->now;
  here->now = until;
}

static bool operate(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  world *here = (world *)context;
  here->has_token = attempt->token != NULL;
  if (attempt->token != NULL) {
    here->token = *attempt->token;
  }
  if (here->kind != 0) {
    failure->kind = here->kind;
  }
  return ++here->calls > here->fail_first;
}

static void see(void *context, const holdoff_retrying *retrying) {
  world *here = (world *)context;
  if (here->retries++ == 0) {
    here->first_attempt = retrying->attempt;
  }
  here->cause = retrying->cause;
}

static bool run(const holdoff_policy *policy, const holdoff_guards *guards, const holdoff_nesting *nesting,
                const holdoff_token *token, world *here, holdoff_result *result) {
  holdoff_clock clock;
  holdoff_host host;
  uint64_t seed = 42;
  clock.now = world_now;
  clock.sleep_until = world_sleep;
  clock.state = here;
  memset(&host, 0, sizeof host);
  host.on_retry = see;
  host.seed = &seed;
  host.clock = &clock;
  host.guards = guards;
  host.nesting = nesting;
  host.token = token;
  return holdoff_run(policy, &host, operate, here, result);
}

static world a_world(int fail_first) {
  world here;
  memset(&here, 0, sizeof here);
  here.fail_first = fail_first;
  return here;
}

static void an_open_breaker_refuses_the_first_attempt(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_breaker breaker = a_breaker("stop", 3);
  holdoff_guards guards = none;
  world here = a_world(9);
  holdoff_result result;
  guards.breaker = &breaker;
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_ATTEMPTS);
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(here.calls, 3);
  CHECK_NUMBER(result.outcome, HOLDOFF_GAVE_UP);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_BREAKER);
  CHECK_NUMBER(result.attempts, 0);
  CHECK_NUMBER(result.retry_at, 32 * SECOND);
  CHECK_NUMBER(result.failure.kind, 0);
}

static void a_breaker_that_lets_wait_is_waited_for(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_breaker breaker = a_breaker("wait", 1);
  holdoff_guards guards = none;
  world here = a_world(1);
  holdoff_result result;
  guards.breaker = &breaker;
  CHECK(run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.attempts, 2);
  CHECK_NUMBER(here.slept, 30 * SECOND);
  CHECK_NUMBER(here.cause, HOLDOFF_CAUSE_BREAKER);
  CHECK_NUMBER(here.first_attempt, 1);
}

static void a_spent_budget_ends_the_retries(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_budget budget = a_budget(12);
  holdoff_guards guards = none;
  world here = a_world(9);
  holdoff_result result;
  guards.budget = &budget;
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_BUDGET);
  CHECK_NUMBER(result.attempts, 3);
  CHECK(holdoff_budget_balance(&budget, here.now) == 2);
  CHECK_NUMBER(result.failure.kind, HOLDOFF_TRANSIENT);
}

static void a_fault_ends_the_loop_and_the_breaker_hears_nothing(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_breaker breaker = a_breaker("stop", 1);
  holdoff_guards guards = none;
  world here = a_world(9);
  holdoff_result result;
  guards.breaker = &breaker;
  here.kind = HOLDOFF_FAULT;
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(result.failure.kind, HOLDOFF_PERMANENT);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_CLOSED);
  CHECK(!run(&policy, NULL, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_PERMANENT);
}

static void a_wrong_failure_gives_everything_back(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_bulkhead bulkhead = a_bulkhead();
  holdoff_guards guards = none;
  world here = a_world(9);
  holdoff_result result;
  guards.bulkhead = &bulkhead;
  here.kind = 77;
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_INVALID);
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND);
  CHECK_NUMBER(holdoff_bulkhead_running(&bulkhead), 0);
}

static void a_loop_that_cannot_hedge_says_so(void) {
  holdoff_policy policy = constant("1s", 9);
  holdoff_hedge hedge;
  holdoff_guards guards = none;
  world here = a_world(0);
  holdoff_result result;
  memset(&hedge, 0, sizeof hedge);
  guards.hedge = &hedge;
  CHECK(!run(&policy, &guards, NULL, NULL, &here, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_INVALID);
  CHECK_NUMBER(result.reason, HOLDOFF_ERROR_NOT_SUPPORTED);
  CHECK_NUMBER(here.calls, 0);
}

static void the_queued_call_that_may_go_on_is_named(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_bulkhead bulkhead = a_bulkhead();
  holdoff_guards guards = none;
  holdoff_guarded_call calls[3];
  holdoff_step first;
  uint32_t entrant = 0, place = 0;
  int at;
  guards.bulkhead = &bulkhead;
  memset(&first, 0, sizeof first);
  for (at = 0; at < 3; at++) {
    holdoff_step step = holdoff_guarded_call_begin(&calls[at], &policy, &guards, 1, 0);
    first = at == 0 ? step : first;
    CHECK_NUMBER(holdoff_guarded_call_queue_place(&calls[at], &place), at != 0);
  }
  CHECK(!holdoff_bulkhead_entrant(&bulkhead, &entrant));
  holdoff_guarded_call_succeed(&calls[0], &guards, holdoff_step_ticket(first), 1);
  for (at = 1; at < 3; at++) {
    CHECK(holdoff_bulkhead_entrant(&bulkhead, &entrant));
    CHECK(holdoff_guarded_call_queue_place(&calls[at], &place));
    CHECK_NUMBER(entrant, place);
    first = holdoff_guarded_call_tick(&calls[at], &policy, &guards, 2);
    CHECK_NUMBER(first.kind, HOLDOFF_ATTEMPT);
    CHECK(!holdoff_guarded_call_queue_place(&calls[at], NULL));
    holdoff_guarded_call_succeed(&calls[at], &guards, holdoff_step_ticket(first), 3);
  }
  CHECK(!holdoff_bulkhead_entrant(&bulkhead, NULL));
  CHECK(!holdoff_bulkhead_entrant(NULL, &entrant));
  CHECK(!holdoff_guarded_call_queue_place(NULL, &place));
}

static void nested_retries_share_their_attempts(void) {
  holdoff_policy policy = constant("1s", 5);
  holdoff_nesting cap = {HOLDOFF_NESTED_CAP, 8}, outermost = {HOLDOFF_NESTED_OUTERMOST, 0};
  holdoff_token around = holdoff_token_child(NULL, 1, 3);
  world here = a_world(9);
  holdoff_result result;
  CHECK(!run(&policy, NULL, &cap, &around, &here, &result));
  CHECK_NUMBER(result.attempts, 2);
  CHECK_NUMBER(here.token.attempt, 2);
  CHECK_NUMBER(here.token.allowed, 6);
  CHECK_NUMBER(here.token.depth, 2);
  here = a_world(9);
  CHECK(!run(&policy, &none, &outermost, &around, &here, &result));
  CHECK_NUMBER(result.attempts, 1);
  here = a_world(0);
  CHECK(run(&policy, NULL, NULL, &around, &here, &result));
  CHECK_NUMBER(here.token.allowed, 3);
  CHECK(run(&policy, NULL, NULL, NULL, &here, &result));
  CHECK(!here.has_token);
}

/* An operation around an inner retry: three attempts of its own, whose end it wraps, hides or follows by a success. */
typedef struct layers {
  holdoff_clock clock;
  holdoff_policy policy;
  holdoff_nesting nesting;
  world server;
  /* How many inner retries an attempt makes; the last one fails unless `recovers`. */
  int inner;
  bool recovers, seen;
} layers;

static bool wrap(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  layers *here = (layers *)context;
  int turn;
  for (turn = 0; turn < here->inner; turn++) {
    holdoff_host host;
    memset(&host, 0, sizeof host);
    host.clock = &here->clock;
    host.around = attempt;
    here->server.fail_first = here->recovers && turn == here->inner - 1 ? 0 : here->server.calls + 99;
    holdoff_run(&here->policy, &host, operate, &here->server, NULL);
  }
  here->seen = holdoff_given_up(attempt);
  /* A failure of a kind of its own, which says nothing of the inner retry. */
  *failure = holdoff_failure_of(HOLDOFF_TIMEOUT);
  return false;
}

static holdoff_result layered(layers *here, uint32_t mode) {
  holdoff_result result;
  holdoff_host host;
  memset(&here->server, 0, sizeof here->server);
  memset(&host, 0, sizeof host);
  here->policy = constant("1s", 3);
  here->clock.now = world_now;
  here->clock.sleep_until = world_sleep;
  here->clock.state = &here->server;
  here->nesting.mode = mode;
  here->nesting.cap = 0;
  host.clock = &here->clock;
  host.nesting = &here->nesting;
  CHECK(!holdoff_run(&here->policy, &host, wrap, here, &result));
  return result;
}

static void a_retry_that_gave_up_is_not_repeated_by_the_one_around(void) {
  layers here;
  holdoff_result result;
  memset(&here, 0, sizeof here);
  here.inner = 1;
  result = layered(&here, HOLDOFF_NESTED_INNERMOST);
  CHECK_NUMBER(here.server.calls, 3);
  CHECK(here.seen);
  CHECK_NUMBER(result.attempts, 1);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_PERMANENT);
  layered(&here, HOLDOFF_NESTED_ALLOW);
  CHECK_NUMBER(here.server.calls, 9);
  /* The later inner retry succeeds: what then fails is another matter. */
  here.inner = 2;
  here.recovers = true;
  result = layered(&here, HOLDOFF_NESTED_INNERMOST);
  CHECK(!here.seen);
  CHECK_NUMBER(result.attempts, 3);
  CHECK_NUMBER(here.server.calls, 3 * 4);
}

enum { WAITING = 1000, TAKES_MS = 1 };

/* Calls that wait at a guard, in a program that ticks them in their order each millisecond. */
typedef struct crowd {
  holdoff_policy policy;
  holdoff_guards guards;
  holdoff_guarded_call calls[WAITING];
  holdoff_step steps[WAITING];
  uint64_t began[WAITING];
  int begun;
} crowd;

static void follow(crowd *here, int number, holdoff_step step, uint64_t now) {
  here->steps[number] = step;
  if (step.kind == HOLDOFF_ATTEMPT) {
    here->begun++;
    here->began[number] = now;
  }
}

static void pass_millisecond(crowd *here, uint64_t now) {
  for (int number = 0; number < WAITING; number++) {
    const holdoff_step *step = &here->steps[number];
    holdoff_guarded_call *call = &here->calls[number];
    bool is_due = step->kind == HOLDOFF_SLEEP && step->at <= now;
    bool may_go = holdoff_guarded_call_turn(call) == HOLDOFF_TURN_BREAKER && holdoff_breaker_admits(here->guards.breaker) > 0;
    if (step->kind == HOLDOFF_ATTEMPT && here->began[number] + TAKES_MS * MS <= now) {
      follow(here, number, holdoff_guarded_call_succeed(call, &here->guards, holdoff_step_ticket(*step), now), now);
    } else if (is_due || may_go) {
      follow(here, number, holdoff_guarded_call_tick(call, &here->policy, &here->guards, now), now);
    }
  }
}

static void of_a_thousand_calls_at_most_32_begin_within_10_ms_of_a_probe(void) {
  static crowd here;
  holdoff_breaker breaker = a_breaker("wait", 1);
  uint32_t permit = 0;
  uint64_t now = 30 * SECOND;
  here.policy = constant("1s", 1);
  here.guards = none;
  here.guards.breaker = &breaker;
  CHECK(holdoff_breaker_acquire(&breaker, 0, &permit, NULL));
  holdoff_breaker_record(&breaker, permit, 0, true, 0);
  for (int number = 0; number < WAITING; number++) {
    follow(&here, number, holdoff_guarded_call_begin(&here.calls[number], &here.policy, &here.guards, 1, 0), 0);
  }
  CHECK_NUMBER(here.begun, 0);
  pass_millisecond(&here, now);
  CHECK_NUMBER(here.begun, 1);
  for (int passed = TAKES_MS; passed <= TAKES_MS + 10; passed++) {
    pass_millisecond(&here, now + (uint64_t)passed * MS);
  }
  CHECK(here.begun > 10 && here.begun <= 1 + 32);
  for (int passed = TAKES_MS + 11; passed <= 200; passed++) {
    pass_millisecond(&here, now + (uint64_t)passed * MS);
  }
  CHECK_NUMBER(here.begun, WAITING);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, now + SECOND), HOLDOFF_BREAKER_CLOSED);
}

static void a_thousand_calls_wait_for_a_limit_in_order_each_for_its_slot(void) {
  static crowd here;
  holdoff_options options;
  holdoff_limiter limiter;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "limiter", "gcra");
  holdoff_options_set_number(&options, "limiter.limit", 500);
  holdoff_options_set_number(&options, "limiter.burst", 1);
  holdoff_options_set_text(&options, "limiter.refusal", "wait");
  CHECK_NUMBER(holdoff_limiter_init(&limiter, &options, 0, NULL, 0, NULL), HOLDOFF_OK);
  here.policy = constant("1s", 1);
  here.guards = none;
  here.guards.limiter = &limiter;
  for (int number = 0; number < WAITING; number++) {
    follow(&here, number, holdoff_guarded_call_begin(&here.calls[number], &here.policy, &here.guards, 1, 0), 0);
  }
  for (uint64_t passed = 1; passed <= 2 * WAITING; passed++) {
    pass_millisecond(&here, passed * MS);
  }
  CHECK_NUMBER(here.begun, WAITING);
  for (uint64_t number = 1; number < WAITING; number++) {
    CHECK_NUMBER(here.began[number], 2 * number * MS);
  }
}

void guarded_tests(void) {
  RUN(without_guards_it_is_a_call);
  RUN(a_second_attempt_runs_beside_the_first);
  RUN(a_fault_of_our_own_tells_the_guards_nothing);
  RUN(a_call_that_is_dropped_gives_its_place_back);
  RUN(a_call_is_saved_and_goes_on_under_other_guards);
  RUN(wrong_memory_stops_a_guarded_call);
  RUN(an_open_breaker_refuses_the_first_attempt);
  RUN(a_breaker_that_lets_wait_is_waited_for);
  RUN(a_spent_budget_ends_the_retries);
  RUN(a_fault_ends_the_loop_and_the_breaker_hears_nothing);
  RUN(a_wrong_failure_gives_everything_back);
  RUN(a_loop_that_cannot_hedge_says_so);
  RUN(the_queued_call_that_may_go_on_is_named);
  RUN(nested_retries_share_their_attempts);
  RUN(a_retry_that_gave_up_is_not_repeated_by_the_one_around);
  RUN(a_thousand_calls_wait_for_a_limit_in_order_each_for_its_slot);
  RUN(of_a_thousand_calls_at_most_32_begin_within_10_ms_of_a_probe);
}
