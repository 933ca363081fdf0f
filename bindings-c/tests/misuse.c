#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};

static void null_pointers_stop_a_call(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_call call;
  CHECK(is_invalid(holdoff_call_begin(NULL, &policy, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_begin(&call, NULL, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_call_tick(&call, &policy, 0).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_underway(NULL, 1, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(is_invalid(holdoff_call_succeed(NULL, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_fail(NULL, &policy, 1, 0, lost), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_tick(NULL, &policy, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_cancel(NULL, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_call_attempt(NULL), 0);
  CHECK_NUMBER(holdoff_call_remaining(NULL, 0), 0);
  holdoff_call_begin(&call, &policy, 1, 0);
  CHECK(is_invalid(holdoff_call_fail(&call, NULL, 1, 0, lost), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_tick(&call, NULL, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 0, lost).kind, HOLDOFF_SLEEP);
}

static void null_pointers_are_an_error_elsewhere(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_options options;
  holdoff_problem problem;
  holdoff_retry retry;
  holdoff_schedule schedule;
  char line[64];
  CHECK_NUMBER(holdoff_policy_default(NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_policy_first_limit(NULL), HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_options_init(NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_options_set_text(NULL, "jitter", "full"), HOLDOFF_ERROR_NULL_POINTER);
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_policy_build(NULL, &options, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_options_set_text(&options, NULL, "full"), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_options_set_text(&options, "jitter", NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, &problem), HOLDOFF_ERROR_NULL_POINTER);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK_TEXT(line, "a pointer is null");
  CHECK_NUMBER(holdoff_policy_build(&policy, NULL, &problem), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_retry_init(NULL, 1, 0), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(is_invalid(holdoff_retry_on_failure(NULL, &policy, 0, lost), HOLDOFF_ERROR_NULL_POINTER));
  holdoff_retry_init(&retry, 1, 0);
  CHECK(is_invalid(holdoff_retry_on_failure(&retry, NULL, 0, lost), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_schedule_init(NULL, &policy, 1), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_schedule_init(&schedule, NULL, 1), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(!holdoff_schedule_next(NULL, NULL));
  CHECK_NUMBER(holdoff_parse_duration(NULL, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(!holdoff_failure_from_http(200, NULL, NULL));
  CHECK(holdoff_failure_from_http(500, NULL, NULL));
}

static void zeroed_memory_holds_a_call_that_has_ended_and_nothing_else(void) {
  holdoff_policy policy, good = constant("1s", 3);
  holdoff_options options;
  holdoff_call call;
  holdoff_retry retry;
  holdoff_schedule schedule;
  memset(&policy, 0, sizeof policy);
  memset(&options, 0, sizeof options);
  memset(&call, 0, sizeof call);
  memset(&retry, 0, sizeof retry);
  memset(&schedule, 0, sizeof schedule);
  CHECK_NUMBER(holdoff_call_fail(&call, &good, 1, 0, lost).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_succeed(&call, 1, 0).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_tick(&call, &good, 0).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_call_cancel(&call, 0).outcome, HOLDOFF_CANCELLED);
  CHECK(is_invalid(holdoff_call_begin(&call, &policy, 1, 0), HOLDOFF_ERROR_NOT_A_POLICY));
  CHECK(is_invalid(holdoff_retry_on_failure(&retry, &good, 0, lost), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK_NUMBER(holdoff_options_set_number(&options, "attempts", 3), HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK_NUMBER(holdoff_schedule_init(&schedule, &policy, 1), HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK(!holdoff_schedule_next(&schedule, NULL));
}

static void stale_memory_stops_a_call(void) {
  holdoff_policy policy, good = constant("1s", 3);
  holdoff_call call;
  holdoff_step step;
  int byte;
  for (byte = 1; byte < 256; byte++) {
    memset(&call, byte, sizeof call);
    memset(&policy, byte, sizeof policy);
    CHECK(is_invalid(holdoff_call_tick(&call, &good, 0), HOLDOFF_ERROR_NOT_A_CALL));
    CHECK(is_invalid(holdoff_call_cancel(&call, 0), HOLDOFF_ERROR_NOT_A_CALL));
    step = holdoff_call_begin(&call, &policy, 1, 0);
    CHECK(is_invalid(step, HOLDOFF_ERROR_NOT_A_POLICY));
  }
  /* A policy where a call should be, and one whose words after the magic one are anything. */
  memcpy(&call, &good, sizeof call);
  CHECK(is_invalid(holdoff_call_tick(&call, &good, 0), HOLDOFF_ERROR_NOT_A_CALL));
}

static void a_state_that_was_overwritten_is_answered_without_harm(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_call call;
  unsigned round;
  uint64_t at;
  for (round = 0; round < 2000; round++) {
    unsigned char *bytes = (unsigned char *)&call, *rules = (unsigned char *)&policy;
    int steps = 0;
    holdoff_step step;
    holdoff_call_begin(&call, &policy, round, 0);
    for (at = 8; at < sizeof call; at++) {
      bytes[at] = (unsigned char)holdoff_seed_at(round, at);
    }
    for (at = 8; at < sizeof policy; at++) {
      rules[at] = (unsigned char)holdoff_seed_at(round + 1, at);
    }
    step = holdoff_call_tick(&call, &policy, round);
    while (step.kind != HOLDOFF_STOP && steps++ < 8) {
      step = step.kind == HOLDOFF_SLEEP ? holdoff_call_tick(&call, &policy, step.at)
                                        : holdoff_call_fail(&call, &policy, holdoff_call_attempt(&call), round, lost);
    }
    CHECK_NUMBER(holdoff_call_cancel(&call, 0).kind, HOLDOFF_STOP);
  }
}

static void memory_that_is_not_aligned_holds_nothing(void) {
  uint64_t words[40];
  char *odd = (char *)words + 1;
  holdoff_policy policy = constant("1s", 3);
  memset(words, 0, sizeof words);
  CHECK_NUMBER(holdoff_policy_default((holdoff_policy *)(void *)odd), HOLDOFF_ERROR_NOT_A_POLICY);
  CHECK(is_invalid(holdoff_call_begin((holdoff_call *)(void *)odd, &policy, 1, 0), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_call_begin((holdoff_call *)(void *)odd, NULL, 1, 0), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_call_cancel((holdoff_call *)(void *)odd, 0), HOLDOFF_ERROR_NOT_A_CALL));
}

static void an_unknown_failure_kind_stops_and_changes_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_call call;
  holdoff_retry retry;
  const uint32_t kinds[] = {0, 5, 256, 257, UINT32_MAX};
  unsigned at;
  holdoff_call_begin(&call, &policy, 1, 0);
  holdoff_retry_init(&retry, 1, 0);
  for (at = 0; at < sizeof kinds / sizeof *kinds; at++) {
    CHECK(is_invalid(holdoff_call_fail(&call, &policy, 1, 0, holdoff_failure_of(kinds[at])),
                     HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
    CHECK(is_invalid(holdoff_retry_on_failure(&retry, &policy, 0, holdoff_failure_of(kinds[at])),
                     HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
  }
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 0, lost).kind, HOLDOFF_SLEEP);
}

static void strange_hints_saturate_or_say_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_failure strange = {HOLDOFF_TRANSIENT, 77, 0, 5};
  holdoff_call call;
  holdoff_step step;
  holdoff_call_begin(&call, &policy, 1, 0);
  CHECK_NUMBER(holdoff_call_fail(&call, &policy, 1, 0, strange).at, SECOND);
  strange.hint = HOLDOFF_HINT_AFTER;
  strange.hint_ns = UINT64_MAX;
  holdoff_call_begin(&call, &policy, 1, 0);
  step = holdoff_call_fail(&call, &policy, 1, 0, strange);
  CHECK_NUMBER(step.reason, HOLDOFF_REASON_HINT);
  CHECK_NUMBER(step.at, HOLDOFF_LONGEST_NS);
}

static void leave_with_the_message(const char *message) {
  bool says_where = strstr(message, "bindings-c/src/testing.rs:") != NULL;
  _exit(says_where && strstr(message, "a fault that a test asked for") != NULL ? 7 : 8);
}

static void a_fault_of_the_library_tells_its_hook_and_aborts(void) {
  int hooked, status = 0;
  for (hooked = 0; hooked < 2; hooked++) {
    pid_t child = fork();
    if (child == 0) {
      struct rlimit no_core = {0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      holdoff_on_panic(leave_with_the_message);
      if (!hooked) {
        holdoff_on_panic(NULL);
      }
      holdoff_testing_panic();
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(hooked ? WIFEXITED(status) && WEXITSTATUS(status) == 7 : WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  }
}

void misuse_tests(void) {
  RUN(null_pointers_stop_a_call);
  RUN(null_pointers_are_an_error_elsewhere);
  RUN(zeroed_memory_holds_a_call_that_has_ended_and_nothing_else);
  RUN(stale_memory_stops_a_call);
  RUN(a_state_that_was_overwritten_is_answered_without_harm);
  RUN(memory_that_is_not_aligned_holds_nothing);
  RUN(an_unknown_failure_kind_stops_and_changes_nothing);
  RUN(strange_hints_saturate_or_say_nothing);
  RUN(a_fault_of_the_library_tells_its_hook_and_aborts);
}
