/* What outlives an operation: gates and buckets. */
#include "check.h"

static void a_zeroed_gate_is_open_and_closes_with_each_failure(void) {
  holdoff_gate gate;
  holdoff_gate_config config;
  holdoff_gate_options options = holdoff_gate_options_default();
  memset(&gate, 0, sizeof gate);
  CHECK_NUMBER(holdoff_gate_config_build(&config, &options), HOLDOFF_OK);
  CHECK(holdoff_gate_is_open(&gate, 0));
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 10, 0.0), SECOND);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 10, 0.0), 2 * SECOND);
  CHECK_NUMBER(gate.failures, 2);
  CHECK_NUMBER(gate.delay_ns, 2 * SECOND);
  CHECK_NUMBER(gate.opens_at, 10 + 2 * SECOND);
  CHECK(!holdoff_gate_is_open(&gate, 9 + 2 * SECOND));
  CHECK(holdoff_gate_is_open(&gate, 10 + 2 * SECOND));
  CHECK_NUMBER(holdoff_gate_success(&gate, &config, 10), HOLDOFF_OK);
  CHECK_NUMBER(gate.failures, 1);
  CHECK_NUMBER(holdoff_gate_release_at(&gate, 77), HOLDOFF_OK);
  CHECK_NUMBER(gate.opens_at, 77);
  CHECK(!holdoff_gate_is_discardable(&gate, &config, 100));
  CHECK(holdoff_gate_is_discardable(&gate, &config, 100 + 300 * SECOND));
  CHECK(!holdoff_gate_draws(&gate, &config, 0));
}

static void gates_speak_as_the_systems_they_come_from(void) {
  holdoff_gate gate;
  holdoff_gate_config config;
  memset(&gate, 0, sizeof gate);
  CHECK_NUMBER(holdoff_gate_config_flowcontrol(&config, SECOND, 10 * SECOND, 0.0), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_gate_failure_of(&gate, &config, 0, 0, 0.0), SECOND);
  CHECK(holdoff_gate_covers(&gate, &config, SECOND - 1));
  CHECK(!holdoff_gate_covers(&gate, &config, SECOND));
  CHECK(holdoff_gate_covers_since(&gate, &config, 0, SECOND - 1));
  CHECK(!holdoff_gate_covers_since(&gate, &config, 0, SECOND));
  CHECK_NUMBER(holdoff_gate_config_quiet(&config, 5), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 6, 0.0), SECOND);
  memset(&gate, 0, sizeof gate);
  CHECK_NUMBER(holdoff_gate_config_item_exponential(&config, 5 * MS, SECOND), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 5 * MS);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 10 * MS);
  memset(&gate, 0, sizeof gate);
  CHECK_NUMBER(holdoff_gate_config_fast_slow(&config, 5, 50, 1), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 5);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 50);
  memset(&gate, 0, sizeof gate);
  CHECK_NUMBER(holdoff_gate_config_chromium(&config, 2, 700, 1.4, 0.4, 900000, HOLDOFF_NEVER, false), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 0);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 0);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), 700 * MS);
}

static void any_content_of_a_gate_is_one(void) {
  holdoff_gate gate;
  holdoff_gate_config config;
  holdoff_gate_options options = holdoff_gate_options_default();
  unsigned round, at;
  holdoff_gate_config_build(&config, &options);
  for (round = 0; round < 1000; round++) {
    for (at = 0; at < sizeof gate; at++) {
      ((unsigned char *)&gate)[at] = (unsigned char)holdoff_seed_at(round, at);
    }
    CHECK(holdoff_gate_failure(&gate, &config, holdoff_seed_at(round, 99), 0.5) <= 300 * SECOND);
  }
}

static void wrong_use_of_a_gate_changes_nothing(void) {
  holdoff_gate gate;
  holdoff_gate_config config;
  holdoff_gate_options options = holdoff_gate_options_default();
  memset(&gate, 0, sizeof gate);
  memset(&config, 0, sizeof config);
  CHECK_NUMBER(holdoff_gate_failure(&gate, &config, 0, 0.0), HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_gate_failure(&gate, NULL, 0, 0.0), HOLDOFF_NEVER);
  CHECK_NUMBER(gate.failures, 0);
  CHECK_NUMBER(holdoff_gate_success(&gate, &config, 0), HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK_NUMBER(holdoff_gate_success(NULL, &config, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_gate_config_build(&config, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(holdoff_gate_is_open(NULL, 0));
  options.factor = -1;
  CHECK_NUMBER(holdoff_gate_config_build(&config, &options), HOLDOFF_ERROR_FACTOR_RANGE);
  options = holdoff_gate_options_default();
  options.jitter = 1.5;
  options.downward = 1;
  CHECK_NUMBER(holdoff_gate_config_build(&config, &options), HOLDOFF_ERROR_JITTER_FACTOR_RANGE);
}

static void a_bucket_says_how_long_to_wait_for_tokens(void) {
  holdoff_bucket bucket;
  holdoff_bucket_config config;
  uint64_t wait = 7;
  CHECK_NUMBER(holdoff_bucket_config_init(&config, 10.0, SECOND, 2), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_bucket_fill(&bucket, &config, 0), HOLDOFF_OK);
  CHECK(holdoff_bucket_reserve(&bucket, &config, 2, 0, HOLDOFF_LONGEST_NS, &wait));
  CHECK_NUMBER(wait, 0);
  CHECK(!holdoff_bucket_reserve(&bucket, &config, 1, 0, 0, &wait));
  CHECK(holdoff_bucket_reserve(&bucket, &config, 1, 0, HOLDOFF_LONGEST_NS, &wait));
  CHECK_NUMBER(wait, 100 * MS);
  CHECK(holdoff_bucket_tokens(&bucket, &config, 0) < -0.5);
  CHECK(!holdoff_bucket_reserve(&bucket, &config, 3, 0, HOLDOFF_LONGEST_NS, &wait));
  CHECK_NUMBER(holdoff_bucket_config_init(&config, -1.0, SECOND, 2), HOLDOFF_ERROR_FACTOR_RANGE);
  CHECK_NUMBER(holdoff_bucket_config_init(&config, 1.0, 0, 2), HOLDOFF_ERROR_ZERO_LIMIT);
  CHECK(!holdoff_bucket_reserve(NULL, &config, 1, 0, 0, &wait));
  CHECK(!(holdoff_bucket_tokens(NULL, &config, 0) > 0.0));
}

static void a_gate_tells_when_it_last_failed(void) {
  holdoff_gate gate = {0, 0, 0, 0};
  holdoff_gate_options options = holdoff_gate_options_default();
  holdoff_gate_config config;
  CHECK_NUMBER(holdoff_gate_config_build(&config, &options), HOLDOFF_OK);
  CHECK_NUMBER(gate.failed_at, 0);
  holdoff_gate_failure(&gate, &config, 3 * SECOND, 0.0);
  CHECK_NUMBER(gate.failed_at, 3 * SECOND);
}

void keyed_tests(void) {
  RUN(a_zeroed_gate_is_open_and_closes_with_each_failure);
  RUN(gates_speak_as_the_systems_they_come_from);
  RUN(any_content_of_a_gate_is_one);
  RUN(wrong_use_of_a_gate_changes_nothing);
  RUN(a_bucket_says_how_long_to_wait_for_tokens);
  RUN(a_gate_tells_when_it_last_failed);
}
