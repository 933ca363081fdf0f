/* States that outlive their process. */
#include "check.h"

static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};

static void a_call_resumes_from_bytes_on_another_clock(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_call call, resumed;
  holdoff_saved saved, read;
  holdoff_problem problem;
  char bytes[HOLDOFF_SAVED_CALL];
  holdoff_call_begin(&call, &policy, 5, 1000);
  holdoff_call_fail(&call, &policy, 1, 1000, lost);
  CHECK_NUMBER(holdoff_call_save(&call, &policy, 1000 + 4 * SECOND, &saved), HOLDOFF_OK);
  CHECK(holdoff_saved_is_call(&saved));
  CHECK_NUMBER(holdoff_saved_fingerprint(&saved), holdoff_policy_fingerprint(&policy));
  CHECK_NUMBER(holdoff_saved_bytes(&saved, bytes, sizeof bytes), HOLDOFF_SAVED_CALL);
  CHECK_NUMBER(holdoff_saved_from_bytes(&read, bytes, sizeof bytes, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_call_resume(&resumed, &read, &policy, 7, &problem), HOLDOFF_OK);
  CHECK_NUMBER(problem.code, 0);
  CHECK_NUMBER(holdoff_call_tick(&resumed, &policy, 7).at, 7 + 6 * SECOND);
  CHECK_NUMBER(holdoff_call_tick(&resumed, &policy, 7 + 6 * SECOND).attempt, 2);
}

static void a_retry_resumes_from_json_with_the_same_next_decision(void) {
  holdoff_policy policy;
  holdoff_retry retry, resumed;
  holdoff_saved saved, read;
  holdoff_problem problem;
  holdoff_step one, other;
  char json[512];
  int length;
  holdoff_policy_default(&policy);
  holdoff_retry_init(&retry, 77, 0);
  holdoff_retry_on_failure(&retry, &policy, 0, lost);
  CHECK_NUMBER(holdoff_retry_save(&retry, &policy, 0, &saved), HOLDOFF_OK);
  CHECK(!holdoff_saved_is_call(&saved));
  length = holdoff_saved_json(&saved, json, sizeof json);
  CHECK(length > 0 && length < (int)sizeof json);
  CHECK_NUMBER(holdoff_saved_from_json(&read, json, (size_t)length, &problem), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_retry_resume(&resumed, &read, &policy, 0, NULL), HOLDOFF_OK);
  one = holdoff_retry_on_failure(&retry, &policy, 9, lost);
  other = holdoff_retry_on_failure(&resumed, &policy, 9, lost);
  CHECK(memcmp(&one, &other, sizeof one) == 0);
}

static void time_away_counts_when_asked(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_call call;
  holdoff_saved saved;
  holdoff_call_begin(&call, &policy, 5, 0);
  holdoff_call_fail(&call, &policy, 1, 0, lost);
  holdoff_call_save(&call, &policy, 0, &saved);
  CHECK_NUMBER(holdoff_saved_age(&saved, 9 * SECOND), HOLDOFF_OK);
  holdoff_call_resume(&call, &saved, &policy, 0, NULL);
  CHECK_NUMBER(holdoff_call_remaining(&call, 0), SECOND);
}

static void another_policy_is_an_error_unless_forced(void) {
  holdoff_policy policy = constant("10s", 3), changed = constant("20s", 3);
  holdoff_call call, before;
  holdoff_retry retry;
  holdoff_saved saved;
  holdoff_problem problem;
  char line[200];
  holdoff_call_begin(&call, &policy, 5, 0);
  holdoff_call_save(&call, &policy, 0, &saved);
  before = call;
  CHECK_NUMBER(holdoff_call_resume(&call, &saved, &changed, 0, &problem), HOLDOFF_ERROR_STATE_POLICY);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK_TEXT(line, "policy: is not the one it was saved under");
  CHECK_NUMBER(holdoff_retry_resume(&retry, &saved, &policy, 0, NULL), HOLDOFF_ERROR_STATE_KIND);
  CHECK(memcmp(&call, &before, sizeof call) == 0);
  CHECK_NUMBER(holdoff_saved_force(&saved, &changed), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_call_resume(&call, &saved, &changed, 0, &problem), HOLDOFF_OK);
  /* The attempt that was in flight has failed. */
  CHECK_NUMBER(holdoff_call_tick(&call, &changed, 0).kind, HOLDOFF_SLEEP);
}

static void damage_is_noticed(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_retry retry;
  holdoff_saved saved, kept;
  char bytes[HOLDOFF_SAVED_RETRY];
  unsigned at;
  holdoff_retry_init(&retry, 1, 0);
  holdoff_retry_save(&retry, &policy, 0, &saved);
  CHECK_NUMBER(holdoff_saved_bytes(&saved, bytes, sizeof bytes - 1), 0);
  CHECK_NUMBER(holdoff_saved_bytes(&saved, bytes, sizeof bytes), HOLDOFF_SAVED_RETRY);
  kept = saved;
  for (at = 0; at < sizeof bytes; at++) {
    bytes[at] = (char)(bytes[at] ^ 1);
    CHECK(holdoff_saved_from_bytes(&saved, bytes, sizeof bytes, NULL) >= 130);
    bytes[at] = (char)(bytes[at] ^ 1);
  }
  CHECK(memcmp(&saved, &kept, sizeof saved) == 0);
  CHECK_NUMBER(holdoff_saved_from_bytes(&saved, bytes, sizeof bytes - 1, NULL), HOLDOFF_ERROR_STATE_LENGTH);
  CHECK_NUMBER(holdoff_saved_from_bytes(&saved, "held", 4, NULL), HOLDOFF_ERROR_NOT_A_STATE);
}

static int json_error(const char *json, holdoff_problem *problem) {
  holdoff_saved saved;
  return holdoff_saved_from_json(&saved, json, strlen(json), problem);
}

static void wrong_json_is_explained(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_retry retry;
  holdoff_saved saved;
  holdoff_problem problem;
  char bytes[HOLDOFF_SAVED_CALL];
  CHECK_NUMBER(json_error("{", &problem), HOLDOFF_ERROR_NOT_JSON);
  CHECK_NUMBER(json_error("[]", &problem), HOLDOFF_ERROR_NOT_AN_OBJECT);
  CHECK_NUMBER(json_error("{\"sed\": \"1\"}", &problem), HOLDOFF_ERROR_UNKNOWN_STATE_FIELD);
  CHECK_TEXT(problem.path, "sed");
  CHECK_TEXT(problem.nearest, "seed");
  CHECK_NUMBER(json_error("{\"seed\": {\"a\": 1}}", &problem), HOLDOFF_ERROR_WRONG_TYPE);
  CHECK_NUMBER(holdoff_saved_from_json(&saved, "{\"kind\": \"retry\"}", 17, &problem), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_saved_bytes(&saved, bytes, sizeof bytes), 0);
  CHECK_NUMBER(holdoff_retry_resume(&retry, &saved, &policy, 0, &problem), HOLDOFF_ERROR_MISSING_STATE_FIELD);
  CHECK_TEXT(problem.path, "layout");
}

static void wrong_use_saves_nothing(void) {
  holdoff_policy policy = constant("10s", 3);
  holdoff_call call;
  holdoff_saved saved;
  char text[8];
  memset(&call, 0, sizeof call);
  memset(&saved, 0, sizeof saved);
  CHECK_NUMBER(holdoff_call_save(&call, &policy, 0, &saved), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_call_save(NULL, &policy, 0, &saved), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_call_resume(&call, &saved, &policy, 0, NULL), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_saved_bytes(&saved, text, sizeof text), 0);
  CHECK_NUMBER(holdoff_saved_json(&saved, text, sizeof text), 0);
  CHECK_TEXT(text, "");
  CHECK_NUMBER(holdoff_saved_age(&saved, 1), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_saved_from_bytes(&saved, NULL, 9, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_saved_from_json(&saved, NULL, 9, NULL), HOLDOFF_ERROR_NULL_POINTER);
}

void saved_tests(void) {
  RUN(a_call_resumes_from_bytes_on_another_clock);
  RUN(a_retry_resumes_from_json_with_the_same_next_decision);
  RUN(time_away_counts_when_asked);
  RUN(another_policy_is_an_error_unless_forced);
  RUN(damage_is_noticed);
  RUN(wrong_json_is_explained);
  RUN(wrong_use_saves_nothing);
}
