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

/* A table of guards by key, as a program in C has it: guards in use keep their place. */
enum { ROOM = 8, KEYS = 10 * ROOM };
typedef struct {
  int key;
  holdoff_breaker breaker;
  holdoff_bulkhead bulkhead;
} keyed_set;

static bool at_rest(keyed_set *set, uint64_t now) {
  holdoff_guards guards;
  memset(&guards, 0, sizeof guards);
  guards.breaker = &set->breaker;
  guards.bulkhead = &set->bulkhead;
  return holdoff_guards_at_rest(&guards, now);
}

static keyed_set *anew(keyed_set *set, int key, uint64_t now) {
  set->key = key;
  CHECK_NUMBER(holdoff_breaker_init_consecutive(&set->breaker, 1, SECOND, now), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_bulkhead_init_limit(&set->bulkhead, 1, 0, 0, NULL, 0), HOLDOFF_OK);
  return set;
}

/* The last set is that of the keys that find no place: as long as it is in use, no new key gets a place. */
static keyed_set *set_of(keyed_set *sets, int key, uint64_t now) {
  keyed_set *shared = &sets[ROOM];
  int at;
  for (at = 0; at < ROOM; at++) {
    if (sets[at].key == key) return &sets[at];
  }
  for (at = 0; at < ROOM && at_rest(shared, now); at++) {
    if (at_rest(&sets[at], now)) return anew(&sets[at], key, now);
  }
  return shared;
}

static void guards_in_use_keep_their_place_among_ten_times_more_keys(void) {
  keyed_set sets[ROOM + 1], *holders[KEYS] = {NULL};
  uint64_t now = 100 * SECOND, closed_at[KEYS] = {0};
  uint32_t permits[KEYS] = {0};
  uint64_t round, entered = 0, in_shared = 0;
  int at;
  for (at = 0; at <= ROOM; at++) anew(&sets[at], -1, now);
  for (round = 0; round < 20000; round++) {
    int key = (int)(holdoff_seed_at(1, round) % KEYS);
    bool ends = holdoff_seed_at(2, round) % 4 != 0, fails = holdoff_seed_at(3, round) % 2 == 0;
    now += holdoff_seed_at(4, round) % (50 * MS);
    if (holders[key] != NULL && ends) {
      holdoff_breaker_record(&holders[key]->breaker, permits[key], now, fails, 0);
      holdoff_bulkhead_leave(&holders[key]->bulkhead);
      holders[key] = NULL;
      if (fails) closed_at[key] = now + SECOND;
    } else {
      keyed_set *set = set_of(sets, key, now);
      if (holdoff_bulkhead_enter(&set->bulkhead, NULL) != HOLDOFF_ENTERED) continue;
      if (!holdoff_breaker_acquire(&set->breaker, now, &permits[key], NULL)) {
        holdoff_bulkhead_leave(&set->bulkhead);
        continue;
      }
      CHECK(holders[key] == NULL);
      CHECK(now >= closed_at[key]);
      holders[key] = set;
      entered++;
      in_shared += set == &sets[ROOM];
    }
  }
  CHECK(entered > 500 && in_shared > 50);
  CHECK(holdoff_guards_at_rest(NULL, now));
  memset(&sets[0].breaker, 0, sizeof sets[0].breaker);
  CHECK(!at_rest(&sets[0], now));
}

void keyed_tests(void) {
  RUN(a_zeroed_gate_is_open_and_closes_with_each_failure);
  RUN(gates_speak_as_the_systems_they_come_from);
  RUN(any_content_of_a_gate_is_one);
  RUN(wrong_use_of_a_gate_changes_nothing);
  RUN(a_bucket_says_how_long_to_wait_for_tokens);
  RUN(a_gate_tells_when_it_last_failed);
  RUN(guards_in_use_keep_their_place_among_ten_times_more_keys);
}
