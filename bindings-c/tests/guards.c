/* The guards alone, and how they are made of options. */
#include "check.h"

static holdoff_options described(const char *name, const char *value) {
  holdoff_options options;
  holdoff_options_init(&options);
  if (name != NULL) {
    CHECK_NUMBER(holdoff_options_set_text(&options, name, value), HOLDOFF_OK);
  }
  return options;
}

static void a_budget_is_made_by_name_and_spent(void) {
  holdoff_options options = described("budget", "token");
  holdoff_budget budget;
  uint32_t held = 0;
  holdoff_options_set_number(&options, "budget.capacity", 10);
  holdoff_options_set_number(&options, "budget.cost", 5);
  CHECK_NUMBER(holdoff_budget_init(&budget, &options, 1, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_budget_balance(&budget, 0) == 10);
  CHECK_NUMBER(holdoff_budget_begin(&budget, 0), HOLDOFF_OK);
  CHECK(holdoff_budget_admit(&budget, 0));
  CHECK_NUMBER(holdoff_budget_fail(&budget, 0, HOLDOFF_TRANSIENT), HOLDOFF_OK);
  CHECK(holdoff_budget_withdraw(&budget, 0, HOLDOFF_TRANSIENT, &held));
  CHECK(holdoff_budget_withdraw(&budget, 0, HOLDOFF_TRANSIENT, NULL));
  CHECK(!holdoff_budget_withdraw(&budget, 0, HOLDOFF_TRANSIENT, NULL));
  CHECK(!holdoff_budget_withdraw(&budget, 0, 77, NULL));
  CHECK_NUMBER(holdoff_budget_fail(&budget, 0, 77), HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND);
  CHECK_NUMBER(holdoff_budget_refund(&budget, 0, held), HOLDOFF_OK);
  CHECK(holdoff_budget_balance(&budget, 0) == 5);
  CHECK_NUMBER(holdoff_budget_retried(&budget), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_budget_succeed(&budget, 0, &held), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_budget_end(&budget), HOLDOFF_OK);
  CHECK(holdoff_budget_balance(&budget, 0) == 10);
  CHECK(holdoff_budget_rejection(&budget, 0) == 0);
}

static void a_breaker_opens_for_listed_times_and_lets_some_probes_fail(void) {
  static const uint64_t times[] = {SECOND, 5 * SECOND};
  static const uint64_t longest[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  holdoff_options options = described("breaker.open_for[0]", "1s");
  holdoff_breaker described_breaker, breaker;
  uint32_t permit = 0, probes[3];
  uint64_t retry_at = 0;
  CHECK_NUMBER(holdoff_options_set_text(&options, "breaker.open_for[1]", "5s"), HOLDOFF_OK);
  holdoff_options_set_number(&options, "breaker.failures", 1);
  holdoff_options_set_number(&options, "breaker.probes", 3);
  holdoff_options_set_number(&options, "breaker.successes", 2);
  holdoff_options_set_number(&options, "breaker.probe_failures", 1);
  CHECK_NUMBER(holdoff_breaker_init(&described_breaker, &options, 0, 0, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_breaker_init_consecutive(&breaker, 1, SECOND, 0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_breaker_set_open_times(&breaker, times, 0), HOLDOFF_ERROR_DELAYS_MISSING);
  CHECK_NUMBER(holdoff_breaker_set_open_times(&breaker, longest, 9), HOLDOFF_ERROR_TOO_MANY_STAGES);
  CHECK_NUMBER(holdoff_breaker_set_open_times(&breaker, NULL, 1), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_breaker_set_open_times(&breaker, times, 2), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_breaker_set_probes(&breaker, 0, 2, 1), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_breaker_set_probes(&breaker, 3, 2, 1), HOLDOFF_OK);
  CHECK(memcmp(&described_breaker, &breaker, sizeof breaker) == 0);
  CHECK(holdoff_breaker_acquire_closed(&breaker, &permit));
  holdoff_breaker_record(&breaker, permit, 0, true, 0);
  CHECK(holdoff_breaker_acquire(&breaker, SECOND, &probes[0], NULL));
  CHECK(holdoff_breaker_acquire(&breaker, SECOND, &probes[1], NULL));
  CHECK(holdoff_breaker_acquire(&breaker, SECOND, &probes[2], NULL));
  holdoff_breaker_record(&breaker, probes[0], SECOND, true, 0);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, SECOND), HOLDOFF_BREAKER_HALF_OPEN);
  holdoff_breaker_record(&breaker, probes[1], SECOND, true, 0);
  CHECK(!holdoff_breaker_acquire(&breaker, SECOND, NULL, &retry_at));
  CHECK_NUMBER(retry_at, 6 * SECOND);
}

static void a_breaker_opens_and_is_tried(void) {
  holdoff_options options = described("breaker.open_for", "30s");
  holdoff_breaker breaker;
  uint32_t permit = 7, calls = 0, failed = 0;
  uint64_t retry_at = 0;
  holdoff_options_set_number(&options, "breaker.failures", 2);
  CHECK_NUMBER(holdoff_breaker_init(&breaker, &options, 1, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_breaker_acquire_closed(&breaker, &permit));
  CHECK_NUMBER(holdoff_breaker_admits(&breaker), 4294967295);
  holdoff_breaker_record(&breaker, permit, 0, true, 0);
  CHECK(holdoff_breaker_acquire(&breaker, 0, &permit, &retry_at));
  holdoff_breaker_record(&breaker, permit, 0, true, 0);
  CHECK_NUMBER(holdoff_breaker_rates(&breaker, 0, &calls, &failed, NULL), HOLDOFF_OK);
  CHECK_NUMBER(failed, 2);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_OPEN);
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_BREAKER, HOLDOFF_BREAKER_OPEN), "open");
  CHECK(!holdoff_breaker_acquire(&breaker, SECOND, &permit, &retry_at));
  CHECK_NUMBER(retry_at, 30 * SECOND);
  CHECK(holdoff_breaker_refuses(&breaker, SECOND, NULL));
  CHECK(!holdoff_breaker_refuses(&breaker, 30 * SECOND, NULL));
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 30 * SECOND), HOLDOFF_BREAKER_HALF_OPEN);
  CHECK(holdoff_breaker_acquire(&breaker, 30 * SECOND, &permit, NULL));
  CHECK(!holdoff_breaker_acquire(&breaker, 30 * SECOND, &permit, NULL));
  CHECK_NUMBER(holdoff_breaker_admits(&breaker), 0);
  holdoff_breaker_abandon(&breaker, permit, 30 * SECOND);
  CHECK_NUMBER(holdoff_breaker_admits(&breaker), 1);
  CHECK(holdoff_breaker_acquire(&breaker, 30 * SECOND, &permit, NULL));
  holdoff_breaker_record(&breaker, permit, 31 * SECOND, false, SECOND);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 31 * SECOND), HOLDOFF_BREAKER_CLOSED);
  CHECK_NUMBER(holdoff_breaker_openings(&breaker), 1);
  holdoff_breaker_isolate(&breaker, 32 * SECOND);
  CHECK_NUMBER(holdoff_breaker_admits(&breaker), 0);
  CHECK_NUMBER(holdoff_breaker_retry_at(&breaker), HOLDOFF_NEVER);
  holdoff_breaker_force_close(&breaker, 32 * SECOND);
  holdoff_breaker_hint(&breaker, 32 * SECOND, SECOND);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 32 * SECOND), HOLDOFF_BREAKER_CLOSED);
  holdoff_breaker_reset(&breaker, 32 * SECOND);
  CHECK_NUMBER(holdoff_breaker_openings(&breaker), 0);
}

static void a_log_counts_in_room_that_is_lent_to_it(void) {
  holdoff_options options = described("limiter", "log");
  holdoff_limiter limiter;
  holdoff_problem problem;
  uint64_t room[2], retry_at = 0;
  char bytes[60];
  holdoff_options_set_number(&options, "limiter.limit", 2);
  CHECK_NUMBER(holdoff_guards_words(&options), 2);
  CHECK_NUMBER(holdoff_limiter_init(&limiter, &options, 0, NULL, 0, &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "limiter.limit");
  CHECK_NUMBER(holdoff_limiter_init(&limiter, &options, 0, room, 1, NULL), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_limiter_init(&limiter, &options, 0, room, 2, NULL), HOLDOFF_OK);
  CHECK(holdoff_limiter_take(&limiter, 2, 5, NULL));
  CHECK(!holdoff_limiter_take(&limiter, 1, 6, &retry_at));
  CHECK_NUMBER(retry_at, SECOND + 5);
  CHECK_NUMBER(holdoff_limiter_saved(&limiter), sizeof bytes);
  CHECK_NUMBER(holdoff_guard_save(&limiter, 6, bytes, sizeof bytes - 1), 0);
  CHECK_NUMBER(holdoff_guard_save(&limiter, 6, bytes, sizeof bytes), sizeof bytes);
  CHECK_NUMBER(holdoff_limiter_give_back(&limiter, 1, 6), HOLDOFF_OK);
  CHECK(!holdoff_limiter_refuses(&limiter, 1, 6, NULL));
  CHECK_NUMBER(holdoff_guard_restore(&limiter, bytes, sizeof bytes, 9 * SECOND + 1, NULL), HOLDOFF_OK);
  CHECK(holdoff_limiter_refuses(&limiter, 1, 9 * SECOND + 1, &retry_at));
  CHECK_NUMBER(retry_at, 10 * SECOND);
}

static void a_bulkhead_lets_in_by_turns(void) {
  holdoff_options options = described("bulkhead.max_wait", "2s");
  holdoff_bulkhead bulkhead;
  uint32_t place = 0;
  holdoff_options_set_number(&options, "bulkhead.limit", 1);
  holdoff_options_set_number(&options, "bulkhead.queue", 1);
  CHECK_NUMBER(holdoff_bulkhead_init(&bulkhead, &options, NULL, 0, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_bulkhead_max_wait(&bulkhead), 2 * SECOND);
  CHECK_NUMBER(holdoff_bulkhead_limit(&bulkhead), 1);
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, NULL), HOLDOFF_ENTERED);
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, &place), HOLDOFF_QUEUED);
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, NULL), HOLDOFF_REFUSED);
  CHECK_NUMBER(holdoff_bulkhead_enter_from(&bulkhead, place), HOLDOFF_QUEUED);
  holdoff_bulkhead_leave(&bulkhead);
  CHECK_NUMBER(holdoff_bulkhead_enter_from(&bulkhead, place), HOLDOFF_ENTERED);
  CHECK_NUMBER(holdoff_bulkhead_enter_from(&bulkhead, place), HOLDOFF_REFUSED);
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, &place), HOLDOFF_QUEUED);
  CHECK_NUMBER(holdoff_bulkhead_waiting(&bulkhead), 1);
  holdoff_bulkhead_leave_queue(&bulkhead, place);
  CHECK_NUMBER(holdoff_bulkhead_waiting(&bulkhead), 0);
  CHECK_NUMBER(holdoff_bulkhead_running(&bulkhead), 1);
}

static void a_long_queue_has_its_places_in_the_callers_memory(void) {
  enum { QUEUE = 1000, WORDS = 16 };
  holdoff_options options = described("limiter", "log");
  holdoff_bulkhead bulkhead, alone;
  holdoff_limiter limiter;
  holdoff_guards guards = {0};
  holdoff_problem problem;
  uint64_t words[2 + WORDS + 1];
  uint32_t places[QUEUE], at;
  guards.limiter = &limiter;
  guards.bulkhead = &bulkhead;
  memset(words, 0xa5, sizeof words);
  holdoff_options_set_number(&options, "limiter.limit", 2);
  holdoff_options_set_number(&options, "bulkhead.limit", 1);
  holdoff_options_set_number(&options, "bulkhead.queue", QUEUE);
  CHECK_NUMBER(holdoff_guards_words(&options), 2 + WORDS);
  CHECK_NUMBER(holdoff_guards_init(&guards, &options, 1, 0, words, 1 + WORDS, &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "bulkhead.queue");
  CHECK_NUMBER(holdoff_bulkhead_init(&alone, &options, words, WORDS - 1, NULL), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_bulkhead_init_limit(&alone, 1, QUEUE, SECOND, NULL, WORDS), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_bulkhead_init_limit(&alone, 1, 65537, SECOND, words, WORDS), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_guards_init(&guards, &options, 1, 0, words, 2 + WORDS, &problem), HOLDOFF_OK);
  CHECK(holdoff_limiter_take(&limiter, 2, 5, NULL));
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, NULL), HOLDOFF_ENTERED);
  for (at = 0; at < QUEUE; at++) {
    CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, &places[at]), HOLDOFF_QUEUED);
  }
  CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, NULL), HOLDOFF_REFUSED);
  for (at = 0; at < QUEUE; at += 2) {
    CHECK_NUMBER(holdoff_bulkhead_leave_queue(&bulkhead, places[at]), HOLDOFF_OK);
  }
  for (at = 1; at < QUEUE; at += 2) {
    CHECK_NUMBER(holdoff_bulkhead_leave(&bulkhead), HOLDOFF_OK);
    if (at + 2 < QUEUE) {
      CHECK_NUMBER(holdoff_bulkhead_enter_from(&bulkhead, places[at + 2]), HOLDOFF_QUEUED);
    }
    CHECK_NUMBER(holdoff_bulkhead_enter_from(&bulkhead, places[at]), HOLDOFF_ENTERED);
  }
  CHECK_NUMBER(holdoff_bulkhead_waiting(&bulkhead), 0);
  CHECK(!holdoff_limiter_take(&limiter, 1, 6, NULL));
  CHECK_NUMBER(words[2 + WORDS], UINT64_C(0xa5a5a5a5a5a5a5a5));
}

static void a_rate_follows_throttling(void) {
  holdoff_options options = described("adaptive", "aimd");
  holdoff_adaptive adaptive;
  holdoff_adaptive_start start = {4, 2, 3, 0, 0, 1};
  uint64_t retry_at = 0;
  holdoff_options_set_number(&options, "adaptive.initial_rate", 2);
  CHECK_NUMBER(holdoff_adaptive_init(&adaptive, &options, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_adaptive_limits(&adaptive));
  CHECK(holdoff_adaptive_take(&adaptive, 2, 0, NULL));
  CHECK(!holdoff_adaptive_take(&adaptive, 1, 0, &retry_at));
  CHECK_NUMBER(retry_at, SECOND / 2);
  CHECK_NUMBER(holdoff_adaptive_give_back(&adaptive, 1, 0), HOLDOFF_OK);
  CHECK(holdoff_adaptive_tokens(&adaptive, 0) == 1);
  CHECK_NUMBER(holdoff_adaptive_update(&adaptive, SECOND, true), HOLDOFF_OK);
  CHECK(holdoff_adaptive_rate(&adaptive) < 2);
  CHECK_NUMBER(holdoff_adaptive_begin_with(&adaptive, &start, SECOND), HOLDOFF_OK);
  CHECK(holdoff_adaptive_rate(&adaptive) == 4 && holdoff_adaptive_measured(&adaptive) == 3);
  CHECK_NUMBER(holdoff_adaptive_begin_with(&adaptive, NULL, SECOND), HOLDOFF_ERROR_NULL_POINTER);
}

static void delays_stretch_while_all_fails(void) {
  holdoff_options options = described(NULL, NULL);
  holdoff_stretch stretch;
  holdoff_options_set_number(&options, "stretch", 3);
  holdoff_options_set_number(&options, "stretch.min_calls", 1);
  CHECK_NUMBER(holdoff_stretch_init(&stretch, &options, 0, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_stretch_delay(&stretch, 0, 100), 100);
  CHECK_NUMBER(holdoff_stretch_record(&stretch, 0, true), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_stretch_delay(&stretch, 0, 100), 300);
  CHECK_NUMBER(holdoff_stretch_delay(NULL, 0, 100), 100);
}

static void a_pause_closes_for_a_hint(void) {
  holdoff_options options = described("pause", "2s");
  holdoff_guard_memory memory;
  holdoff_guards guards = holdoff_guards_in(&memory);
  char bytes[HOLDOFF_SAVED_PAUSE];
  uint64_t retry_at = 7;
  CHECK_NUMBER(holdoff_guards_init(&guards, &options, 1, 0, NULL, 0, NULL), HOLDOFF_OK);
  CHECK(guards.pause == &memory.pause && guards.breaker == NULL);
  CHECK(holdoff_guards_in(NULL).pause == NULL);
  CHECK(!holdoff_pause_refuses(guards.pause, 0, &retry_at));
  CHECK_NUMBER(retry_at, 7);
  CHECK_NUMBER(holdoff_pause_hint(guards.pause, 100 * MS, 5000 * MS), HOLDOFF_OK);
  CHECK(holdoff_pause_refuses(guards.pause, 2099 * MS, &retry_at));
  CHECK_NUMBER(retry_at, 2100 * MS);
  CHECK(!holdoff_guards_at_rest(&guards, 2099 * MS));
  CHECK_NUMBER(holdoff_guard_save(guards.pause, 100 * MS, bytes, sizeof bytes), sizeof bytes);
  CHECK_NUMBER(holdoff_pause_init(guards.pause, &options, NULL), HOLDOFF_OK);
  CHECK(!holdoff_pause_refuses(guards.pause, 0, NULL));
  CHECK_NUMBER(holdoff_guard_restore(guards.pause, bytes, sizeof bytes, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_pause_refuses(guards.pause, 1999 * MS, NULL));
  CHECK(!holdoff_pause_refuses(NULL, 0, NULL));
}

static void a_hedge_learns_how_long_attempts_take(void) {
  holdoff_options options = described("hedge", "50ms");
  holdoff_hedge hedge;
  uint64_t quantile = 0;
  unsigned count;
  holdoff_options_set_number(&options, "hedge.percentile", 0.9);
  CHECK_NUMBER(holdoff_hedge_init(&hedge, &options, NULL), HOLDOFF_OK);
  CHECK(!holdoff_hedge_quantile(&hedge, &quantile));
  CHECK_NUMBER(holdoff_hedge_delay(&hedge), 50 * MS);
  for (count = 0; count < 20; count++) {
    CHECK_NUMBER(holdoff_hedge_record(&hedge, 10 * MS), HOLDOFF_OK);
  }
  CHECK(holdoff_hedge_quantile(&hedge, &quantile));
  CHECK_NUMBER(holdoff_hedge_delay(&hedge), quantile);
}

static void states_survive_as_bytes(void) {
  holdoff_options options = described("budget", "throttle"), other = described("budget", "ratio");
  holdoff_budget budget, restored;
  holdoff_problem problem;
  char bytes[HOLDOFF_SAVED_BUDGET];
  holdoff_budget_init(&budget, &options, 1, 0, NULL);
  holdoff_budget_fail(&budget, 0, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(holdoff_guard_save(&budget, 0, bytes, sizeof bytes - 1), 0);
  CHECK_NUMBER(holdoff_guard_save(&budget, 0, bytes, sizeof bytes), sizeof bytes);
  holdoff_budget_init(&restored, &options, 1, 0, NULL);
  CHECK_NUMBER(holdoff_guard_restore(&restored, bytes, sizeof bytes, 99, &problem), HOLDOFF_OK);
  CHECK_NUMBER(problem.code, 0);
  CHECK(holdoff_budget_balance(&restored, 99) == 9);
  bytes[30] ^= 1;
  CHECK_NUMBER(holdoff_guard_restore(&restored, bytes, sizeof bytes, 99, &problem), HOLDOFF_ERROR_STATE_DAMAGED);
  bytes[30] ^= 1;
  CHECK_NUMBER(holdoff_guard_restore(&restored, bytes, 3, 99, &problem), HOLDOFF_ERROR_NOT_A_STATE);
  CHECK_NUMBER(holdoff_guard_restore(&restored, NULL, 3, 99, &problem), HOLDOFF_ERROR_NULL_POINTER);
  holdoff_budget_init(&restored, &other, 1, 0, NULL);
  CHECK_NUMBER(holdoff_guard_restore(&restored, bytes, sizeof bytes, 99, &problem), HOLDOFF_ERROR_GUARD_CONFIG);
}

static void a_wrong_guard_is_explained_by_the_build(void) {
  holdoff_options options = described("budget", "window");
  holdoff_policy policy;
  holdoff_budget budget;
  holdoff_problem problem;
  char line[200];
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, &problem), HOLDOFF_ERROR_FIELD_MISSING);
  CHECK_TEXT(problem.path, "budget.limit");
  CHECK_NUMBER(holdoff_budget_init(&budget, &options, 1, 0, &problem), HOLDOFF_ERROR_FIELD_MISSING);
  CHECK_TEXT(problem.path, "budget.limit");
  options = described(NULL, NULL);
  CHECK_NUMBER(holdoff_budget_init(&budget, &options, 1, 0, &problem), HOLDOFF_ERROR_FIELD_MISSING);
  CHECK_TEXT(problem.path, "budget");
  CHECK_NUMBER(holdoff_options_set_number(&options, "breaker.failurs", 3), HOLDOFF_ERROR_UNKNOWN_FIELD);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, &problem), HOLDOFF_ERROR_UNKNOWN_FIELD);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK(strstr(line, "did you mean \"breaker.failures\"") != NULL);
}

static void a_document_brings_all_of_its_guards(void) {
  static const char document[] =
      "{\"attempts\": 4, \"budget\": {\"kind\": \"token\", \"capacity\": 100}, \"breaker\": {\"failures\": 3}, \"hedge\": \"20ms\"}";
  holdoff_budget budget;
  holdoff_breaker breaker;
  holdoff_limiter limiter;
  holdoff_hedge hedge;
  holdoff_guards guards = {0};
  holdoff_options options, again;
  holdoff_problem problem;
  char text[400], other[400];
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_read_json(&options, document, strlen(document)), HOLDOFF_OK);
  guards.budget = &budget;
  guards.breaker = &breaker;
  guards.limiter = &limiter;
  CHECK_NUMBER(holdoff_guards_init(&guards, &options, 1, 0, NULL, 0, &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "hedge");
  CHECK(guards.limiter == &limiter);
  guards.hedge = &hedge;
  CHECK_NUMBER(holdoff_guards_init(&guards, &options, 1, 0, NULL, 0, &problem), HOLDOFF_OK);
  CHECK(guards.limiter == NULL && guards.budget == &budget && guards.bulkhead == NULL);
  CHECK(holdoff_budget_balance(&budget, 0) == 100);
  CHECK(holdoff_options_json(&options, HOLDOFF_FORM_DOCUMENT, text, sizeof text, NULL) > 0);
  CHECK(strstr(text, "\"breaker\"") != NULL);
  holdoff_options_init(&again);
  CHECK_NUMBER(holdoff_options_read_json(&again, text, strlen(text)), HOLDOFF_OK);
  holdoff_options_json(&again, HOLDOFF_FORM_DOCUMENT, other, sizeof other, NULL);
  CHECK_TEXT(other, text);
  CHECK_NUMBER(holdoff_options_lint(&options, HOLDOFF_LINT_LONG_WAIT, NULL, 0), 0);
  CHECK(holdoff_options_explain(&options, 0, text, sizeof text) > 0);
  CHECK(strstr(text, "token") != NULL);
}

static void a_preset_brings_its_guards_and_a_lint_knows_of_them(void) {
  holdoff_options options = described("preset", "aws-standard-2.0"), hedged = described("hedge", "1s");
  holdoff_budget budget;
  char line[200];
  CHECK_NUMBER(holdoff_budget_init(&budget, &options, 1, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_budget_balance(&budget, 0) == 500);
  CHECK_NUMBER(holdoff_options_lint(&hedged, 0, NULL, 0), HOLDOFF_LINT_HEDGE_WITHOUT_BUDGET);
  CHECK_NUMBER(holdoff_options_lint(&hedged, 0, line, sizeof line), HOLDOFF_LINT_HEDGE_WITHOUT_BUDGET);
  CHECK(strstr(line, "hedge_without_budget") != NULL);
}

static void an_explanation_has_the_lints_of_the_rules(void) {
  static const char document[] = "{\"rules\": [{\"if\": {}, \"retry\": true}]}";
  const uint32_t before = HOLDOFF_LINT_RETRIES_EVERYTHING - 1;
  holdoff_options options;
  char text[2000];
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_read_json(&options, document, strlen(document)), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_options_lint(&options, before, NULL, 0), HOLDOFF_LINT_RETRIES_EVERYTHING);
  CHECK(holdoff_options_explain(&options, 0, text, sizeof text) > 0);
  CHECK(strstr(text, "retries_everything") != NULL);
}

static void a_service_config_brings_its_throttle(void) {
  static const char config[] =
      "{\"methodConfig\": [{\"name\": [{}], \"retryPolicy\": {\"maxAttempts\": 3, \"initialBackoff\": \"0.1s\", \"maxBackoff\": "
      "\"1s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"UNAVAILABLE\"]}}], \"retryThrottling\": "
      "{\"maxTokens\": 20, \"tokenRatio\": 0.5}}";
  holdoff_policy policy;
  holdoff_options guards;
  holdoff_budget budget;
  holdoff_problem problem;
  CHECK_NUMBER(
      holdoff_form_read_json(HOLDOFF_FORM_GRPC, config, strlen(config), &policy, NULL, NULL, 0, NULL, &problem),
      HOLDOFF_ERROR_NOT_SUPPORTED);
  CHECK_TEXT(problem.path, "budget");
  CHECK_NUMBER(
      holdoff_form_read_json(HOLDOFF_FORM_GRPC, config, strlen(config), &policy, NULL, NULL, 0, &guards, &problem),
      HOLDOFF_OK);
  CHECK_NUMBER(holdoff_budget_init(&budget, &guards, 1, 0, NULL), HOLDOFF_OK);
  CHECK(holdoff_budget_balance(&budget, 0) == 20);
}

static void memory_that_holds_no_guard_lets_nobody_through(void) {
  holdoff_budget budget;
  holdoff_breaker breaker;
  holdoff_limiter limiter;
  holdoff_adaptive adaptive;
  holdoff_bulkhead bulkhead;
  uint64_t retry_at = 0;
  char bytes[HOLDOFF_SAVED_BREAKER];
  int round;
  for (round = 0; round < 2; round++) {
    memset(&budget, round * 0xa5, sizeof budget);
    memset(&breaker, round * 0xa5, sizeof breaker);
    memset(&limiter, round * 0xa5, sizeof limiter);
    memset(&adaptive, round * 0xa5, sizeof adaptive);
    memset(&bulkhead, round * 0xa5, sizeof bulkhead);
    CHECK(!holdoff_budget_admit(&budget, 0));
    CHECK(!holdoff_budget_withdraw(&budget, 0, HOLDOFF_TRANSIENT, NULL));
    CHECK_NUMBER(holdoff_budget_begin(&budget, 0), HOLDOFF_ERROR_NOT_A_GUARD);
    CHECK_NUMBER(holdoff_guard_save(&budget, 0, bytes, sizeof bytes), 0);
    CHECK(!holdoff_breaker_acquire(&breaker, 0, NULL, &retry_at));
    CHECK_NUMBER(retry_at, HOLDOFF_NEVER);
    CHECK(!holdoff_breaker_acquire_closed(&breaker, NULL));
    CHECK(holdoff_breaker_refuses(&breaker, 0, NULL));
    CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_NONE);
    CHECK_NUMBER(holdoff_guard_restore(&breaker, bytes, sizeof bytes, 0, NULL), HOLDOFF_ERROR_NOT_A_GUARD);
    CHECK(!holdoff_limiter_take(&limiter, 1, 0, &retry_at));
    CHECK_NUMBER(holdoff_limiter_saved(&limiter), 0);
    CHECK(!holdoff_adaptive_take(&adaptive, 1, 0, &retry_at));
    CHECK_NUMBER(holdoff_bulkhead_enter(&bulkhead, NULL), HOLDOFF_REFUSED);
    CHECK_NUMBER(holdoff_bulkhead_leave(&bulkhead), HOLDOFF_ERROR_NOT_A_GUARD);
  }
  CHECK(!holdoff_budget_admit(NULL, 0));
  CHECK_NUMBER(holdoff_budget_end(NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_breaker_record(NULL, 0, 0, true, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(!holdoff_limiter_take(NULL, 1, 0, NULL));
  CHECK_NUMBER(holdoff_guards_words(NULL), 0);
  CHECK_NUMBER(holdoff_guards_init(NULL, NULL, 0, 0, NULL, 0, NULL), HOLDOFF_ERROR_NULL_POINTER);
}

static void a_token_says_what_is_around(void) {
  holdoff_options options = described("nested", "outermost");
  holdoff_nesting nesting, capped = {HOLDOFF_NESTED_CAP, 6}, inner = {HOLDOFF_NESTED_INNERMOST, 0};
  holdoff_token token = holdoff_token_child(NULL, 2, 3), read;
  char text[12];
  CHECK_NUMBER(holdoff_nesting_init(&nesting, &options, NULL), HOLDOFF_OK);
  CHECK_NUMBER(nesting.mode, HOLDOFF_NESTED_OUTERMOST);
  CHECK_NUMBER(holdoff_nesting_attempts(&nesting, &token, 5), 1);
  CHECK_NUMBER(holdoff_nesting_attempts(&nesting, NULL, 5), 5);
  CHECK_NUMBER(holdoff_nesting_attempts(&capped, &token, 5), 2);
  CHECK_NUMBER(holdoff_nesting_attempts(NULL, &token, 5), 5);
  CHECK_NUMBER(holdoff_nesting_after_inner(&inner, holdoff_failure_of(HOLDOFF_TIMEOUT)).kind, HOLDOFF_PERMANENT);
  CHECK_NUMBER(holdoff_nesting_after_inner(&capped, holdoff_failure_of(HOLDOFF_TIMEOUT)).kind, HOLDOFF_TIMEOUT);
  CHECK_NUMBER(token.attempt, 2);
  CHECK_NUMBER(token.allowed, 3);
  CHECK_NUMBER(holdoff_token_header(&token, text, sizeof text), 1);
  CHECK_TEXT(text, "2");
  CHECK_NUMBER(holdoff_token_grpc(&token, text, sizeof text), 1);
  CHECK_TEXT(text, "1");
  CHECK(holdoff_token_from_header(" 4 ", &read));
  CHECK_NUMBER(read.attempt, 4);
  CHECK(holdoff_token_from_grpc("4", &read));
  CHECK_NUMBER(read.attempt, 5);
  CHECK(!holdoff_token_from_header("four", &read));
  CHECK(!holdoff_token_from_header(NULL, NULL));
  CHECK_NUMBER(holdoff_token_header(NULL, text, sizeof text), 0);
  CHECK_TEXT(HOLDOFF_TOKEN_HEADER, "x-retry-attempt");
}

/* Compares a guard with the one that a document describes, by what their memory holds. */
#define CHECK_SAME(type, made, document, init)                                                             \
  do {                                                                                                       \
    type by_fields, by_options;                                                                              \
    holdoff_options options;                                                                                 \
    memset(&by_fields, 0, sizeof by_fields);                                                                 \
    memset(&by_options, 0, sizeof by_options);                                                               \
    holdoff_options_init(&options);                                                                          \
    CHECK_NUMBER(holdoff_options_read_json(&options, document, strlen(document)), HOLDOFF_OK);               \
    CHECK_NUMBER(init, HOLDOFF_OK);                                                                          \
    CHECK_NUMBER(made, HOLDOFF_OK);                                                                          \
    CHECK(memcmp(&by_fields, &by_options, sizeof by_fields) == 0);                                           \
  } while (0)

static void guards_from_numbers_are_those_of_documents(void) {
  uint64_t now = 5 * SECOND, log[3];
  CHECK_SAME(holdoff_breaker, holdoff_breaker_init_consecutive(&by_fields, 3, 2 * SECOND, now),
             "{\"breaker\": {\"kind\": \"consecutive\", \"failures\": 3, \"open_for\": \"2s\"}}",
             holdoff_breaker_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_breaker, holdoff_breaker_init_count(&by_fields, 20, 5, 0.25, 2 * SECOND, now),
             "{\"breaker\": {\"kind\": \"count\", \"size\": 20, \"min_calls\": 5, \"failure_rate\": 0.25, \"open_for\": \"2s\"}}",
             holdoff_breaker_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_breaker, holdoff_breaker_init_time(&by_fields, 10 * SECOND, 5, 4, 0.5, 2 * SECOND, now),
             "{\"breaker\": {\"kind\": \"time\", \"window\": \"10s\", \"slots\": 5, \"min_calls\": 4, \"failure_rate\": 0.5, "
             "\"open_for\": \"2s\"}}",
             holdoff_breaker_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_token(&by_fields, 100, 5, 10, 7, 1, 0.5, now),
             "{\"budget\": {\"kind\": \"token\", \"capacity\": 100, \"cost\": 5, \"timeout_cost\": 10, \"throttled_cost\": 7, "
             "\"reward\": 1, \"refill\": 0.5}}",
             holdoff_budget_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_throttle(&by_fields, 20, 0.2, now),
             "{\"budget\": {\"kind\": \"throttle\", \"capacity\": 20, \"reward\": 0.2}}",
             holdoff_budget_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_ratio(&by_fields, 0.3, 20 * SECOND, 2, now),
             "{\"budget\": {\"kind\": \"ratio\", \"ratio\": 0.3, \"window\": \"20s\", \"min_per_second\": 2}}",
             holdoff_budget_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_share(&by_fields, 0.3, 4, now),
             "{\"budget\": {\"kind\": \"share\", \"ratio\": 0.3, \"min_concurrency\": 4}}",
             holdoff_budget_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_requests(&by_fields, 1.5, 60 * SECOND, 9, now),
             "{\"budget\": {\"kind\": \"requests\", \"k\": 1.5, \"window\": \"1m\"}}",
             holdoff_budget_init(&by_options, &options, 9, now, NULL));
  CHECK_SAME(holdoff_budget, holdoff_budget_init_window(&by_fields, 7, 60 * SECOND, now),
             "{\"budget\": {\"kind\": \"window\", \"limit\": 7, \"window\": \"1m\"}}",
             holdoff_budget_init(&by_options, &options, 0, now, NULL));
  CHECK_SAME(holdoff_limiter, holdoff_limiter_init_gcra(&by_fields, 10, SECOND, 4, now),
             "{\"limiter\": {\"kind\": \"gcra\", \"limit\": 10, \"per\": \"1s\", \"burst\": 4}}",
             holdoff_limiter_init(&by_options, &options, now, NULL, 0, NULL));
  CHECK_SAME(holdoff_limiter, holdoff_limiter_init_bucket(&by_fields, 2.5, SECOND, 4, now),
             "{\"limiter\": {\"kind\": \"bucket\", \"limit\": 2.5, \"per\": \"1s\", \"burst\": 4}}",
             holdoff_limiter_init(&by_options, &options, now, NULL, 0, NULL));
  CHECK_SAME(holdoff_limiter, holdoff_limiter_init_window(&by_fields, 10, SECOND, now),
             "{\"limiter\": {\"kind\": \"window\", \"limit\": 10, \"per\": \"1s\"}}",
             holdoff_limiter_init(&by_options, &options, now, NULL, 0, NULL));
  CHECK_SAME(holdoff_limiter, holdoff_limiter_init_log(&by_fields, 3, SECOND, log, 3, now),
             "{\"limiter\": {\"kind\": \"log\", \"limit\": 3, \"per\": \"1s\"}}",
             holdoff_limiter_init(&by_options, &options, now, log, 3, NULL));
  CHECK_SAME(holdoff_adaptive, holdoff_adaptive_init_cubic(&by_fields, 0.6, 0.5, 0.7, 1, now),
             "{\"adaptive\": {\"kind\": \"cubic\", \"beta\": 0.6, \"scale\": 0.5, \"smooth\": 0.7, \"min_rate\": 1}}",
             holdoff_adaptive_init(&by_options, &options, now, NULL));
  CHECK_SAME(holdoff_adaptive, holdoff_adaptive_init_aimd(&by_fields, 0.5, 2, 1, 50, 10, now),
             "{\"adaptive\": {\"kind\": \"aimd\", \"beta\": 0.5, \"increase\": 2, \"min_rate\": 1, \"max_rate\": 50, "
             "\"initial_rate\": 10}}",
             holdoff_adaptive_init(&by_options, &options, now, NULL));
  CHECK_SAME(holdoff_bulkhead, holdoff_bulkhead_init_limit(&by_fields, 4, 2, SECOND, NULL, 0),
             "{\"bulkhead\": {\"limit\": 4, \"queue\": 2, \"max_wait\": \"1s\"}}",
             holdoff_bulkhead_init(&by_options, &options, NULL, 0, NULL));
  CHECK_SAME(holdoff_stretch, holdoff_stretch_init_factor(&by_fields, 4, 10 * SECOND, 6, now),
             "{\"stretch\": {\"factor\": 4, \"window\": \"10s\", \"min_calls\": 6}}",
             holdoff_stretch_init(&by_options, &options, now, NULL));
  CHECK_SAME(holdoff_hedge, holdoff_hedge_init_delay(&by_fields, 50 * MS, 0.95, 3),
             "{\"hedge\": {\"delay\": \"50ms\", \"percentile\": 0.95, \"attempts\": 3}}",
             holdoff_hedge_init(&by_options, &options, NULL));
}

static void numbers_out_of_range_make_no_guard(void) {
  holdoff_breaker breaker;
  holdoff_budget budget;
  holdoff_limiter limiter;
  holdoff_adaptive adaptive;
  holdoff_bulkhead bulkhead;
  holdoff_stretch stretch;
  holdoff_hedge hedge;
  uint64_t log[2];
  memset(&breaker, 0, sizeof breaker);
  CHECK_NUMBER(holdoff_breaker_init_consecutive(&breaker, 0, SECOND, 0), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_breaker_init_consecutive(NULL, 1, SECOND, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_breaker_init_count(&breaker, 5, 6, 0.5, SECOND, 0), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_breaker_init_count(&breaker, 5, 5, 1.5, SECOND, 0), HOLDOFF_ERROR_SHARE_RANGE);
  CHECK_NUMBER(holdoff_breaker_init_time(&breaker, 0, 5, 5, 0.5, SECOND, 0), HOLDOFF_ERROR_ZERO_LIMIT);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_NONE);
  CHECK_NUMBER(holdoff_budget_init_throttle(&budget, 0, 1, 0), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_budget_init_ratio(&budget, -1, SECOND, 1, 0), HOLDOFF_ERROR_RATE_RANGE);
  CHECK_NUMBER(holdoff_limiter_init_gcra(&limiter, 1, 0, 1, 0), HOLDOFF_ERROR_ZERO_LIMIT);
  CHECK_NUMBER(holdoff_limiter_init_log(&limiter, 3, SECOND, log, 2, 0), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_adaptive_init_cubic(&adaptive, 2, 1, 1, 1, 0), HOLDOFF_ERROR_SHARE_RANGE);
  CHECK_NUMBER(holdoff_bulkhead_init_limit(&bulkhead, 0, 0, 0, NULL, 0), HOLDOFF_ERROR_COUNT_RANGE);
  CHECK_NUMBER(holdoff_stretch_init_factor(&stretch, 0.5, SECOND, 1, 0), HOLDOFF_ERROR_FACTOR_RANGE);
  CHECK_NUMBER(holdoff_hedge_init_delay(&hedge, SECOND, 2, 2), HOLDOFF_ERROR_SHARE_RANGE);
}

void guards_tests(void) {
  RUN(a_budget_is_made_by_name_and_spent);
  RUN(a_breaker_opens_for_listed_times_and_lets_some_probes_fail);
  RUN(a_breaker_opens_and_is_tried);
  RUN(a_log_counts_in_room_that_is_lent_to_it);
  RUN(a_bulkhead_lets_in_by_turns);
  RUN(a_long_queue_has_its_places_in_the_callers_memory);
  RUN(a_rate_follows_throttling);
  RUN(delays_stretch_while_all_fails);
  RUN(a_pause_closes_for_a_hint);
  RUN(a_hedge_learns_how_long_attempts_take);
  RUN(states_survive_as_bytes);
  RUN(a_wrong_guard_is_explained_by_the_build);
  RUN(a_document_brings_all_of_its_guards);
  RUN(a_preset_brings_its_guards_and_a_lint_knows_of_them);
  RUN(an_explanation_has_the_lints_of_the_rules);
  RUN(a_service_config_brings_its_throttle);
  RUN(memory_that_holds_no_guard_lets_nobody_through);
  RUN(a_token_says_what_is_around);
  RUN(guards_from_numbers_are_those_of_documents);
  RUN(numbers_out_of_range_make_no_guard);
}
