#include "check.h"

#include <math.h>

/* Builds a policy of which one field is set to a text or, without one, to a number; answers with the problem's line. */
static const char *line_of(const char *path, const char *text, double number) {
  static char line[256];
  holdoff_policy policy;
  holdoff_options options;
  holdoff_problem problem;
  holdoff_options_init(&options);
  if (text != NULL) {
    holdoff_options_set_text(&options, path, text);
  } else {
    holdoff_options_set_number(&options, path, number);
  }
  holdoff_policy_build(&policy, &options, &problem);
  holdoff_problem_text(&problem, line, sizeof line);
  return line;
}

static void the_objects_are_as_small_as_promised(void) {
  CHECK(sizeof(holdoff_step) <= 24);
  CHECK(sizeof(holdoff_retry) <= 72);
  CHECK_NUMBER(sizeof(holdoff_policy), 2480);
  CHECK_NUMBER(sizeof(holdoff_call), 88);
  CHECK_NUMBER(sizeof(holdoff_gate), 32);
  CHECK_NUMBER(sizeof(holdoff_bucket), 16);
  CHECK_NUMBER(sizeof(holdoff_saved), 96);
  CHECK_NUMBER(sizeof(holdoff_failure), 16);
}

static void the_default_policy_is_that_of_default_options(void) {
  holdoff_policy by_default, built;
  holdoff_options options;
  holdoff_problem problem;
  CHECK_NUMBER(holdoff_policy_default(&by_default), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_options_init(&options), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_build(&built, &options, &problem), HOLDOFF_OK);
  CHECK_NUMBER(problem.code, 0);
  CHECK(memcmp(&by_default, &built, sizeof built) == 0);
}

static void a_wrong_value_is_explained(void) {
  CHECK_TEXT(line_of("atempts", NULL, 3), "atempts = 3: is not a field of a policy; did you mean \"attempts\"?");
  CHECK_TEXT(line_of("jitter", "ful", 0),
             "jitter.kind = \"ful\": must be one of none, full, equal, additive, proportional, bounded, subtractive; did you mean \"full\"?");
  CHECK_TEXT(line_of("attempts", NULL, 0),
             "attempts = 0: must be a whole number from 1 to 4294967294, or \"forever\"");
  CHECK_TEXT(line_of("attempts", NULL, 2.5),
             "attempts = 2.5: must be a whole number from 1 to 4294967294, or \"forever\"");
  CHECK_TEXT(line_of("backoff.max", "1ms", 0), "backoff.max = 1ms: must not be below the stage's initial delay (it is 5s unless given)");
  CHECK_TEXT(line_of("backoff.factor", NULL, -1), "backoff.factor = -1: must be a finite number, 0 or more; for decorrelated backoff 1 or more");
  CHECK_TEXT(line_of("backoff.factor", NULL, (double)NAN), "backoff.factor = NaN: must be a finite number, 0 or more; for decorrelated backoff 1 or more");
  CHECK_TEXT(line_of("deadline", "5", 0),
             "deadline = \"5\": must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"");
  CHECK_TEXT(line_of("deadline", NULL, -1),
             "deadline = -1: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"");
  CHECK_TEXT(line_of("deadline", NULL, (double)INFINITY),
             "deadline = inf: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"");
  CHECK_TEXT(line_of("deadline", "0s", 0), "deadline = 0s: must be more than 0, or \"none\"");
  CHECK_TEXT(line_of("on_deadline", "clip", 0), "on_deadline: \"clip\" needs a min_attempt above 0");
  CHECK_TEXT(line_of("attempts", NULL, 7), "");
}

static void a_time_in_nanoseconds_is_exact_and_limited(void) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_problem problem;
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_ns(&options, "deadline", HOLDOFF_LONGEST_NS), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_first_limit(&policy), HOLDOFF_LONGEST_NS);
  CHECK_NUMBER(holdoff_options_set_ns(&options, "deadline", UINT64_MAX), HOLDOFF_ERROR_NOT_A_DURATION);
  holdoff_policy_build(&policy, &options, &problem);
  CHECK_TEXT(problem.value, "18446744073709551615ns");
}

static void the_first_problem_is_the_one_that_is_reported(void) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_problem problem;
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_number(&options, "attempts", 0), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  CHECK_NUMBER(holdoff_options_set_value(&options, "deadline", HOLDOFF_VALUE_OTHER), HOLDOFF_ERROR_WRONG_TYPE);
  CHECK_NUMBER(holdoff_options_set_number(&options, "attempts", 5), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, &problem), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  CHECK_TEXT(problem.path, "attempts");
  CHECK_TEXT(problem.value, "0");
}

static void a_value_that_is_null_is_reported_with_its_field(void) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_problem problem;
  char line[64];
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_text(&options, "deadline", NULL), HOLDOFF_ERROR_NULL_POINTER);
  holdoff_policy_build(&policy, &options, &problem);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK_TEXT(line, "deadline: a pointer is null");
}

static void a_failed_build_leaves_no_policy(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_options options;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "attempt_timeout", "0s");
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_ERROR_ZERO_LIMIT);
  CHECK_NUMBER(holdoff_policy_attempts(&policy), 0);
}

static void long_and_broken_texts_are_cut_after_a_whole_character(void) {
  char name[200], line[16];
  holdoff_policy policy;
  holdoff_options options;
  holdoff_problem problem;
  int at, length;
  for (at = 0; at + 2 < 200; at += 2) {
    memcpy(name + at, "\xc3\xa9", 2);
  }
  name[at] = 0;
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_text(&options, name, "\xff\xfe"), HOLDOFF_ERROR_UNKNOWN_FIELD);
  holdoff_policy_build(&policy, &options, &problem);
  CHECK_NUMBER(strlen(problem.path), 46);
  length = holdoff_problem_text(&problem, line, sizeof line);
  CHECK(length > 46);
  CHECK_NUMBER(strlen(line), 14);
  CHECK_NUMBER(holdoff_problem_text(&problem, NULL, 0), (unsigned)length);
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_text(&options, "jitter", "\xff"), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(holdoff_options_set_text(&options, "deadline", "1\xc3s"), HOLDOFF_ERROR_NOT_A_DURATION);
}

static void a_problem_of_foreign_memory_is_printed_without_harm(void) {
  char line[32];
  holdoff_problem problem;
  memset(&problem, 0xa5, sizeof problem);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK(strlen(line) < sizeof line);
  memset(&problem, 'x', sizeof problem);
  CHECK_NUMBER(strlen(line) + 1 <= sizeof line, 1);
  CHECK(holdoff_problem_text(&problem, line, sizeof line) > 200);
  CHECK_NUMBER(holdoff_problem_text(NULL, line, sizeof line), 0);
  CHECK_TEXT(line, "");
}

static void the_first_limit_is_the_smaller_one(void) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_policy_default(&policy);
  CHECK_NUMBER(holdoff_policy_first_limit(&policy), HOLDOFF_NEVER);
  CHECK_NUMBER(policy.first_limit_ns, HOLDOFF_NEVER);
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "deadline", "30s");
  holdoff_options_set_text(&options, "attempt_timeout", "5s");
  holdoff_policy_build(&policy, &options, NULL);
  CHECK_NUMBER(holdoff_policy_first_limit(&policy), 5 * SECOND);
  CHECK_NUMBER(policy.first_limit_ns, 5 * SECOND);
}

static void fields_make_the_policy_that_options_make_of_them(void) {
  holdoff_policy by_fields, by_options;
  holdoff_policy_fields fields;
  holdoff_options options;
  CHECK_NUMBER(holdoff_policy_fields_init(&fields), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_policy_init(&by_fields, &fields), HOLDOFF_OK);
  holdoff_policy_default(&by_options);
  CHECK(memcmp(&by_fields, &by_options, sizeof by_fields) == 0);
  fields.backoff = HOLDOFF_BACKOFF_LINEAR;
  fields.initial_ns = 20 * MS;
  fields.increment_ns = 30 * MS;
  fields.max_ns = SECOND;
  fields.jitter = HOLDOFF_JITTER_PROPORTIONAL;
  fields.jitter_factor = 0.25;
  fields.cap = HOLDOFF_CAP_BEFORE_JITTER;
  fields.attempts = UINT32_MAX;
  fields.deadline_ns = 10 * SECOND;
  fields.min_attempt_ns = MS;
  fields.on_deadline = HOLDOFF_DEADLINE_CLIP;
  fields.attempt_timeout_ns = 2 * SECOND;
  fields.hint_mode = HOLDOFF_HINT_AT_LEAST;
  fields.hint_max_ns = 3 * SECOND;
  fields.hint_over = HOLDOFF_LONG_HINT_CLAMP;
  fields.hint_reach_ns = 4 * SECOND;
  CHECK_NUMBER(holdoff_policy_init(&by_fields, &fields), HOLDOFF_OK);
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff", "linear");
  holdoff_options_set_text(&options, "backoff.initial", "20ms");
  holdoff_options_set_text(&options, "backoff.increment", "30ms");
  holdoff_options_set_text(&options, "backoff.max", "1s");
  holdoff_options_set_text(&options, "jitter", "proportional");
  holdoff_options_set_number(&options, "jitter.factor", 0.25);
  holdoff_options_set_text(&options, "cap", "before_jitter");
  holdoff_options_set_text(&options, "attempts", "forever");
  holdoff_options_set_text(&options, "deadline", "10s");
  holdoff_options_set_text(&options, "min_attempt", "1ms");
  holdoff_options_set_text(&options, "on_deadline", "clip");
  holdoff_options_set_text(&options, "attempt_timeout", "2s");
  holdoff_options_set_text(&options, "hint", "at_least");
  holdoff_options_set_text(&options, "hint.max", "3s");
  holdoff_options_set_text(&options, "hint.over", "clamp");
  holdoff_options_set_text(&options, "hint.reach", "4s");
  CHECK_NUMBER(holdoff_policy_build(&by_options, &options, NULL), HOLDOFF_OK);
  CHECK(memcmp(&by_fields, &by_options, sizeof by_fields) == 0);
}

static void each_number_of_a_backoff_and_a_jitter_is_its_word(void) {
  static const char *const backoffs[] = {"constant", "linear", "exponential", "polynomial", "fibonacci", NULL, "decorrelated",
                                         "decorrelated_v2"};
  static const char *const jitters[] = {"none", "full", "equal", "additive", "proportional", "bounded", "subtractive"};
  unsigned backoff, jitter;
  for (backoff = HOLDOFF_BACKOFF_CONSTANT; backoff <= HOLDOFF_BACKOFF_DECORRELATED_V2; backoff++) {
    for (jitter = HOLDOFF_JITTER_NONE; jitter <= HOLDOFF_JITTER_SUBTRACTIVE; jitter++) {
      holdoff_policy by_fields, by_options;
      holdoff_policy_fields fields;
      holdoff_options options;
      int made;
      holdoff_policy_fields_init(&fields);
      fields.backoff = (uint8_t)backoff;
      fields.jitter = (uint8_t)jitter;
      fields.increment_ns = MS;
      fields.jitter_factor = 0.5;
      fields.jitter_bound_ns = MS;
      made = holdoff_policy_init(&by_fields, &fields);
      if (backoffs[backoff - 1] == NULL) {
        CHECK_NUMBER(made, HOLDOFF_ERROR_UNKNOWN_WORD);
        continue;
      }
      holdoff_options_init(&options);
      holdoff_options_set_text(&options, "backoff", backoffs[backoff - 1]);
      if (backoff == HOLDOFF_BACKOFF_CONSTANT) {
        holdoff_options_set_text(&options, "backoff.delay", "100ms");
      } else {
        holdoff_options_set_text(&options, "backoff.initial", "100ms");
        holdoff_options_set_text(&options, "backoff.max", "5s");
      }
      if (backoff == HOLDOFF_BACKOFF_LINEAR) {
        holdoff_options_set_text(&options, "backoff.increment", "1ms");
      }
      if (backoff == HOLDOFF_BACKOFF_POLYNOMIAL) {
        holdoff_options_set_number(&options, "backoff.exponent", 2);
      }
      if (backoff == HOLDOFF_BACKOFF_DECORRELATED) {
        holdoff_options_set_number(&options, "backoff.factor", 2);
      }
      holdoff_options_set_text(&options, "jitter", jitters[jitter]);
      if (jitter == HOLDOFF_JITTER_BOUNDED) {
        holdoff_options_set_text(&options, "jitter.bound", "1ms");
      } else if (jitter >= HOLDOFF_JITTER_ADDITIVE) {
        holdoff_options_set_number(&options, "jitter.factor", 0.5);
      }
      CHECK_NUMBER(made, holdoff_policy_build(&by_options, &options, NULL));
      if (made == HOLDOFF_OK) {
        CHECK_NUMBER(holdoff_policy_fingerprint(&by_fields), holdoff_policy_fingerprint(&by_options));
      }
    }
  }
}

static void fields_that_break_a_rule_say_which_and_make_no_policy(void) {
  holdoff_policy policy = constant("1s", 2);
  holdoff_policy_fields fields;
  holdoff_policy_fields_init(&fields);
  fields.attempts = 0;
  CHECK_NUMBER(holdoff_policy_init(&policy, &fields), HOLDOFF_ERROR_ATTEMPTS_RANGE);
  holdoff_policy_fields_init(&fields);
  fields.max_ns = fields.initial_ns - 1;
  CHECK_NUMBER(holdoff_policy_init(&policy, &fields), HOLDOFF_ERROR_MAX_BELOW_INITIAL);
  holdoff_policy_fields_init(&fields);
  fields.deadline_ns = 0;
  CHECK_NUMBER(holdoff_policy_init(&policy, &fields), HOLDOFF_ERROR_ZERO_LIMIT);
  holdoff_policy_fields_init(&fields);
  fields.factor = -1;
  CHECK_NUMBER(holdoff_policy_init(&policy, &fields), HOLDOFF_ERROR_FACTOR_RANGE);
  memset(&fields, 0xff, sizeof fields);
  CHECK_NUMBER(holdoff_policy_init(&policy, &fields), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(holdoff_policy_init(&policy, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_policy_attempts(&policy), 0);
  holdoff_policy_fields_init(&fields);
  CHECK_NUMBER(holdoff_policy_init(NULL, &fields), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_policy_fields_init(NULL), HOLDOFF_ERROR_NULL_POINTER);
}

void policy_tests(void) {
  RUN(the_objects_are_as_small_as_promised);
  RUN(the_default_policy_is_that_of_default_options);
  RUN(a_wrong_value_is_explained);
  RUN(a_time_in_nanoseconds_is_exact_and_limited);
  RUN(the_first_problem_is_the_one_that_is_reported);
  RUN(a_value_that_is_null_is_reported_with_its_field);
  RUN(a_failed_build_leaves_no_policy);
  RUN(long_and_broken_texts_are_cut_after_a_whole_character);
  RUN(a_problem_of_foreign_memory_is_printed_without_harm);
  RUN(the_first_limit_is_the_smaller_one);
  RUN(fields_make_the_policy_that_options_make_of_them);
  RUN(each_number_of_a_backoff_and_a_jitter_is_its_word);
  RUN(fields_that_break_a_rule_say_which_and_make_no_policy);
}
