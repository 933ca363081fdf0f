/* Policies from documents, from presets and with lists. */
#include "check.h"

static int build_json(const char *json, holdoff_policy *policy, holdoff_problem *problem) {
  holdoff_options options;
  holdoff_options_init(&options);
  holdoff_options_read_json(&options, json, strlen(json));
  return holdoff_policy_build(policy, &options, problem);
}

static const char *line_of(const char *json) {
  static char line[400];
  holdoff_policy policy;
  holdoff_problem problem;
  build_json(json, &policy, &problem);
  holdoff_problem_text(&problem, line, sizeof line);
  return line;
}

static bool delays_are(const holdoff_policy *policy, const uint64_t *wanted, int count) {
  holdoff_schedule schedule;
  uint64_t ns = 0;
  int at;
  holdoff_schedule_init(&schedule, policy, 1);
  for (at = 0; at < count; at++) {
    if (!holdoff_schedule_next(&schedule, &ns) || ns != wanted[at]) {
      return false;
    }
  }
  return !holdoff_schedule_next(&schedule, &ns);
}

static void a_document_is_a_policy(void) {
  const uint64_t wanted[] = {SECOND, 2 * SECOND, 6 * SECOND, 18 * SECOND};
  holdoff_policy policy;
  holdoff_problem problem;
  CHECK_NUMBER(build_json("{\"version\": 1, \"backoff\": [{\"kind\": \"constant\", \"delay\": \"1s\", \"times\": 1},"
                          " {\"kind\": \"exponential\", \"initial\": \"2s\", \"factor\": 3, \"max\": \"1m\"}],"
                          " \"jitter\": \"none\", \"attempts\": 5, \"deadline\": null, \"hint\": {}}",
                          &policy, &problem),
               HOLDOFF_OK);
  CHECK_NUMBER(problem.code, 0);
  CHECK(delays_are(&policy, wanted, 4));
}

static void the_numbers_of_a_document_are_read_exactly(void) {
  const double factors[] = {0.40164962844290253, 0.9579783822851533, 0.1, 1.0 / 3, 5e-324};
  char json[80];
  size_t at;
  for (at = 0; at < sizeof factors / sizeof *factors; at++) {
    holdoff_policy read, set;
    holdoff_options options;
    holdoff_options_init(&options);
    holdoff_options_set_text(&options, "jitter", "subtractive");
    holdoff_options_set_number(&options, "jitter.factor", factors[at]);
    CHECK_NUMBER(holdoff_policy_build(&set, &options, NULL), HOLDOFF_OK);
    snprintf(json, sizeof json, "{\"jitter\": {\"kind\": \"subtractive\", \"factor\": %.17g}}", factors[at]);
    CHECK_NUMBER(build_json(json, &read, NULL), HOLDOFF_OK);
    CHECK(memcmp(&read, &set, sizeof read) == 0);
  }
}

static void lists_are_set_item_by_item(void) {
  const uint64_t listed[] = {5 * SECOND, 300 * SECOND, 1800 * SECOND, 7200 * SECOND};
  const char *const paths[] = {"backoff.delays[0]", "backoff.delays[1]", "backoff.delays[2]", "backoff.delays[3]"};
  holdoff_policy policy, other;
  holdoff_options options;
  int at;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "jitter", "none");
  for (at = 0; at < 4; at++) {
    CHECK_NUMBER(holdoff_options_set_ns(&options, paths[at], listed[at]), HOLDOFF_OK);
  }
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  CHECK(delays_are(&policy, listed, 4));
  build_json("{\"jitter\": \"none\", \"backoff\": {\"delays\": [\"5s\", \"5m\", \"30m\", \"2h\"]}}", &other, NULL);
  CHECK(memcmp(&policy, &other, sizeof policy) == 0);
  CHECK_NUMBER(holdoff_policy_fingerprint(&policy), holdoff_policy_fingerprint(&other));
  CHECK_NUMBER(holdoff_options_set_text(&options, "backoff.delays[7]", "1s"), HOLDOFF_ERROR_WRONG_TYPE);
  CHECK_NUMBER(holdoff_options_set_value(&options, "backoff.delays", HOLDOFF_VALUE_EMPTY_LIST), HOLDOFF_ERROR_DELAYS_MISSING);
}

static void a_chain_is_set_stage_by_stage(void) {
  const uint64_t wanted[] = {0, SECOND, 2 * SECOND};
  holdoff_policy policy;
  holdoff_options options;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff[0]", "constant");
  holdoff_options_set_text(&options, "backoff[0].delay", "0s");
  holdoff_options_set_number(&options, "backoff[0].times", 1);
  holdoff_options_set_text(&options, "backoff[1]", "linear");
  holdoff_options_set_text(&options, "backoff[1].initial", "1s");
  holdoff_options_set_text(&options, "jitter", "none");
  holdoff_options_set_number(&options, "attempts", 4);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  CHECK(delays_are(&policy, wanted, 3));
  CHECK_NUMBER(holdoff_policy_base_at(&policy, 0), 0);
  CHECK_NUMBER(holdoff_policy_base_at(&policy, 1), SECOND);
  CHECK_NUMBER(holdoff_policy_base_at(&policy, 2), 2 * SECOND);
  CHECK_NUMBER(holdoff_policy_base_at(NULL, 1), 0);
}

static void what_is_wrong_with_a_document_is_said_with_path_value_and_rule(void) {
  CHECK_TEXT(line_of("{\"atempts\": 5}"), "atempts = 5: is not a field of a policy; did you mean \"attempts\"?");
  CHECK_TEXT(line_of("{\"deadline\": 5}"),
             "deadline = 5: must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or \"2m\"");
  CHECK_TEXT(line_of("{\"backoff\": [{\"times\": 1}, {\"max\": \"ages\"}]}"),
             "backoff[1].max = \"ages\": must be a time from 0 to 292 years with its unit, such as \"250ms\", \"1.5s\" or "
             "\"2m\"");
  CHECK_TEXT(line_of("{\"attempts\": 5,}"), "line 1 column 16: must be JSON text");
  CHECK_TEXT(line_of("{\"atempts\": 5"), "line 1 column 13: must be JSON text");
  CHECK_TEXT(line_of("[]"), "must be an object");
  CHECK_TEXT(line_of("\"fast\""), "\"fast\": must be an object");
  CHECK_TEXT(line_of("{\"attempts\": 5, \"attempts\": 6}"), "attempts: must occur only once");
  CHECK_TEXT(line_of("{\"attempts\": true}"), "attempts = true: must be a whole number from 1 to 4294967294, or \"forever\"");
  CHECK_TEXT(line_of("{\"rules\": [{\"if\": {\"grpc\": [\"UNAVAILABEL\"]}}]}"),
             "rules[0].if.grpc[0] = \"UNAVAILABEL\": must be a gRPC code from 0 to 16, or its name, such as \"UNAVAILABLE\"; "
             "did you mean \"UNAVAILABLE\"?");
  CHECK_TEXT(line_of("{\"rules\": [{\"retry\": 1}]}"), "rules[0].retry = 1: must be true or false");
  CHECK(strncmp(line_of("{\"retry_on\": {\"http\": [503]}}"), "retry_on.http[0] = 503: is a rule: \"rules\": [{\"if\": ", 52) == 0);
}

static void documents_of_any_depth_and_any_bytes_are_refused_without_harm(void) {
  char deep[2001], bytes[64];
  holdoff_policy policy;
  unsigned round, at;
  memset(deep, '[', 2000);
  deep[2000] = 0;
  CHECK_NUMBER(build_json(deep, &policy, NULL), HOLDOFF_ERROR_NOT_JSON);
  CHECK_NUMBER(build_json("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}}", &policy, NULL),
               HOLDOFF_ERROR_UNKNOWN_FIELD);
  for (round = 0; round < 2000; round++) {
    for (at = 0; at + 1 < sizeof bytes; at++) {
      bytes[at] = (char)(holdoff_seed_at(round, at) % 255 + 1);
    }
    bytes[0] = '{';
    bytes[63] = 0;
    CHECK(build_json(bytes, &policy, NULL) != HOLDOFF_OK);
  }
}

static void null_and_foreign_memory_read_no_document(void) {
  holdoff_options options;
  memset(&options, 0, sizeof options);
  CHECK_NUMBER(holdoff_options_read_json(NULL, "{}", 2), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_options_read_json(&options, "{}", 2), HOLDOFF_ERROR_NOT_A_POLICY);
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_read_json(&options, NULL, 2), HOLDOFF_ERROR_NULL_POINTER);
}

static void a_preset_is_a_policy_by_its_name(void) {
  const uint64_t wanted[] = {100 * MS, 200 * MS};
  holdoff_policy policy, other;
  holdoff_options options;
  holdoff_problem problem;
  uint32_t preset;
  CHECK_NUMBER(holdoff_policy_preset(&policy, "langgraphgo"), HOLDOFF_OK);
  CHECK(delays_are(&policy, wanted, 2));
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "preset", "langgraphgo");
  CHECK_NUMBER(holdoff_policy_build(&other, &options, NULL), HOLDOFF_OK);
  CHECK(memcmp(&policy, &other, sizeof policy) == 0);
  CHECK_NUMBER(holdoff_policy_preset(&other, "langraphgo"), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(holdoff_policy_preset(&other, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK(memcmp(&policy, &other, sizeof policy) == 0);
  holdoff_options_set_text(&options, "preset", "langraphgo");
  holdoff_policy_build(&other, &options, &problem);
  CHECK_TEXT(problem.nearest, "langgraphgo");
  for (preset = 1; strcmp(holdoff_word(HOLDOFF_WORD_PRESET, preset), "unknown") != 0; preset++) {
    CHECK_NUMBER(holdoff_policy_preset(&policy, holdoff_word(HOLDOFF_WORD_PRESET, preset)), HOLDOFF_OK);
  }
  CHECK(preset > 14);
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_PRESET, 0), "none");
}

static void a_policy_is_written_as_it_is_read(void) {
  const char *document = "{\"backoff\": {\"kind\": \"linear\", \"initial\": \"1s\"}, \"attempts\": 4,"
                         " \"rules\": [{\"if\": [{\"http\": [\"5xx\"], \"patterns\": [\"reset\"]}, {\"codes\": [\"EPIPE\"]}],"
                         " \"attempts\": 9, \"backoff\": {\"initial\": \"2s\"}},"
                         " {\"if\": {\"idempotent\": false, \"patterns\": [\"busy\", \"\\\"\"]}, \"retry\": true}]}";
  char json[600], again[600], patterns[64], others[64];
  holdoff_options options;
  holdoff_policy policy, read;
  holdoff_rules rules, reread;
  int length;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  CHECK_NUMBER(holdoff_options_read_json(&options, document, strlen(document)), HOLDOFF_OK);
  holdoff_policy_build(&policy, &options, NULL);
  holdoff_rules_build(&rules, &options, NULL);
  length = holdoff_policy_json(&policy, &rules, HOLDOFF_FORM_DOCUMENT, json, sizeof json, NULL);
  CHECK(length > 0 && length < (int)sizeof json);
  CHECK_NUMBER(holdoff_policy_json(&policy, &rules, HOLDOFF_FORM_DOCUMENT, NULL, 0, NULL), (unsigned)length);
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, others, sizeof others);
  CHECK_NUMBER(holdoff_options_read_json(&options, json, (size_t)length), HOLDOFF_OK);
  holdoff_policy_build(&read, &options, NULL);
  holdoff_rules_build(&reread, &options, NULL);
  holdoff_policy_json(&read, &reread, HOLDOFF_FORM_DOCUMENT, again, sizeof again, NULL);
  CHECK_TEXT(again, json);
  CHECK(strstr(json, "\"idempotent\":false") != NULL || strstr(json, "\"idempotent\": false") != NULL);
  CHECK(memcmp(&policy, &read, sizeof policy) == 0);
  holdoff_policy_json(&policy, NULL, HOLDOFF_FORM_DOCUMENT, again, sizeof again, NULL);
  CHECK(strstr(again, "EPIPE") == NULL);
  CHECK_NUMBER(holdoff_policy_json(NULL, NULL, HOLDOFF_FORM_DOCUMENT, again, sizeof again, NULL), 0);
}

static void forms_of_other_systems_are_read_and_written(void) {
  const char *config = "{\"methodConfig\": [{\"name\": [{}], \"retryPolicy\": {\"maxAttempts\": 4,"
                       " \"initialBackoff\": \"0.1s\", \"maxBackoff\": \"1s\", \"backoffMultiplier\": 2,"
                       " \"retryableStatusCodes\": [\"UNAVAILABLE\"]}}]}";
  const char *graph = "{\"MaxRetries\": 2, \"BackoffStrategy\": 1, \"RetryableErrors\": [\"timeout\", \"busy\"]}";
  holdoff_policy policy, again, before;
  holdoff_rules rules, reread;
  holdoff_facts facts;
  holdoff_problem problem;
  char patterns[64], json[600];
  int length;
  memset(&facts, 0, sizeof facts);
  CHECK_NUMBER(holdoff_form_read_json(HOLDOFF_FORM_GRPC, config, strlen(config), &policy, &rules, NULL, 0, NULL, &problem),
               HOLDOFF_OK);
  CHECK_TEXT(problem.rule, "");
  facts.has_grpc = 1;
  facts.grpc = 8;
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, holdoff_failure_of(HOLDOFF_THROTTLED)).kind, HOLDOFF_PERMANENT);
  length = holdoff_policy_json(&policy, &rules, HOLDOFF_FORM_GRPC, json, sizeof json, &problem);
  CHECK(length > 0);
  CHECK_NUMBER(problem.code, 0);
  CHECK_NUMBER(holdoff_form_read_json(HOLDOFF_FORM_GRPC, json, (size_t)length, &again, &reread, NULL, 0, NULL, NULL),
               HOLDOFF_OK);
  CHECK(memcmp(&policy, &again, sizeof policy) == 0);
  CHECK_NUMBER(holdoff_form_read_json(HOLDOFF_FORM_LANGGRAPHGO_GRAPH, graph, strlen(graph), &again, &rules, patterns,
                                      sizeof patterns, NULL, NULL),
               HOLDOFF_OK);
  memset(&facts, 0, sizeof facts);
  facts.message = "busy";
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, holdoff_failure_of(HOLDOFF_PERMANENT)).kind, HOLDOFF_TRANSIENT);
  facts.message = "lazy";
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, holdoff_failure_of(HOLDOFF_TRANSIENT)).kind, HOLDOFF_PERMANENT);
  before = again;
  CHECK_NUMBER(holdoff_form_read_json(HOLDOFF_FORM_LANGGRAPHGO_GRAPH, graph, strlen(graph), &again, &rules, patterns, 8,
                                      NULL, &problem),
               HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_form_read_json(HOLDOFF_FORM_KUBERNETES, "{\"Stepz\": 1}", 12, &again, NULL, NULL, 0, NULL, &problem),
               HOLDOFF_ERROR_UNKNOWN_FORM_FIELD);
  CHECK_TEXT(problem.path, "Stepz");
  CHECK_TEXT(problem.nearest, "Steps");
  CHECK_NUMBER(holdoff_form_read_json(99, "{}", 2, &again, NULL, NULL, 0, NULL, NULL), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK(memcmp(&before, &again, sizeof again) == 0);
  holdoff_policy_preset(&policy, "chromium");
  CHECK_NUMBER(holdoff_policy_json(&policy, NULL, HOLDOFF_FORM_TEMPORAL, json, sizeof json, &problem), 0);
  CHECK_NUMBER(problem.code, HOLDOFF_ERROR_NOT_IN_FORM);
  CHECK_NUMBER(holdoff_policy_json(&policy, NULL, 99, json, sizeof json, &problem), 0);
  CHECK_NUMBER(problem.code, HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(holdoff_policy_json(NULL, NULL, HOLDOFF_FORM_DOCUMENT, json, sizeof json, &problem), 0);
  CHECK_NUMBER(problem.code, HOLDOFF_ERROR_NULL_POINTER);
}

void document_tests(void) {
  RUN(a_document_is_a_policy);
  RUN(the_numbers_of_a_document_are_read_exactly);
  RUN(lists_are_set_item_by_item);
  RUN(a_chain_is_set_stage_by_stage);
  RUN(what_is_wrong_with_a_document_is_said_with_path_value_and_rule);
  RUN(documents_of_any_depth_and_any_bytes_are_refused_without_harm);
  RUN(null_and_foreign_memory_read_no_document);
  RUN(a_policy_is_written_as_it_is_read);
  RUN(forms_of_other_systems_are_read_and_written);
  RUN(a_preset_is_a_policy_by_its_name);
}
