/* Which failures are worth another try. */
#include "check.h"

static const holdoff_failure permanent = {HOLDOFF_PERMANENT, HOLDOFF_HINT_NONE, 0, 0};
static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_AFTER, 0, 7};

static const char *const DOCUMENT =
    "{\"rules\": [{\"if\": {\"idempotent\": false, \"patterns\": [\"not sent\"]}, \"retry\": true},"
    " {\"if\": [{\"http\": [404, \"5xx\"]}, {\"patterns\": [\"reset\", \"timed out\"]}], \"retry\": true},"
    " {\"if\": {}, \"retry\": false}]}";

static holdoff_facts http(uint32_t status) {
  holdoff_facts facts;
  memset(&facts, 0, sizeof facts);
  facts.http = status;
  return facts;
}

static holdoff_facts message(const char *text) {
  holdoff_facts facts = http(0);
  facts.message = text;
  return facts;
}

static uint32_t judged(const holdoff_rules *rules, holdoff_facts facts, holdoff_failure failure) {
  return holdoff_rules_judge(rules, &facts, failure).kind;
}

static void a_document_says_what_is_retried(void) {
  char patterns[64];
  holdoff_options options;
  holdoff_rules rules;
  holdoff_facts facts;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  CHECK_NUMBER(holdoff_options_read_json(&options, DOCUMENT, strlen(DOCUMENT)), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_rules_build(&rules, &options, NULL), HOLDOFF_OK);
  CHECK_NUMBER(judged(&rules, http(404), permanent), HOLDOFF_TRANSIENT);
  CHECK_NUMBER(judged(&rules, http(429), lost), HOLDOFF_PERMANENT);
  CHECK_NUMBER(judged(&rules, message("connection reset by peer"), permanent), HOLDOFF_TRANSIENT);
  CHECK_NUMBER(judged(&rules, message("Reset"), lost), HOLDOFF_PERMANENT);
  CHECK_NUMBER(judged(&rules, message(NULL), lost), HOLDOFF_PERMANENT);
  facts = http(502);
  facts.non_idempotent = 1;
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_PERMANENT);
  facts.message = "request not sent";
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_TRANSIENT);
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, lost).hint_ns, 7);
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, lost).rule, 1);
}

/* Retries what holds for the first rule, and nothing else. */
static void only_the_first_rule(holdoff_options *options) {
  holdoff_options_set_value(options, "rules[0].retry", HOLDOFF_VALUE_TRUE);
  holdoff_options_set_value(options, "rules[1].if", HOLDOFF_VALUE_EMPTY_OBJECT);
  holdoff_options_set_value(options, "rules[1].retry", HOLDOFF_VALUE_FALSE);
}

static void lists_that_are_set_again_begin_anew(void) {
  char patterns[32];
  holdoff_options options;
  holdoff_rules rules;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  holdoff_options_set_text(&options, "rules[0].if[0].patterns[0]", "one");
  holdoff_options_set_text(&options, "rules[0].if[0].patterns[1]", "two");
  holdoff_options_set_text(&options, "rules[0].if[0].patterns[0]", "three");
  holdoff_options_set_number(&options, "rules[0].if[1].http[0]", 418);
  only_the_first_rule(&options);
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(judged(&rules, message("one, two"), lost), HOLDOFF_PERMANENT);
  CHECK_NUMBER(judged(&rules, message("three"), lost), HOLDOFF_TRANSIENT);
  CHECK(holdoff_rules_is_failure(&rules, 418, false));
  CHECK(!holdoff_rules_is_failure(&rules, 202, false));
  holdoff_options_set_value(&options, "rules[0].if[0].patterns", HOLDOFF_VALUE_EMPTY_LIST);
  holdoff_options_set_text(&options, "rules[0].if[1].http[0]", "2xx");
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(judged(&rules, message("three"), lost), HOLDOFF_PERMANENT);
  CHECK(holdoff_rules_is_failure(&rules, 202, false));
}

static void codes_and_types_are_lists_that_end_with_null(void) {
  static const char *const reset[] = {"EPIPE", "ECONNRESET", NULL};
  static const char *const declined[] = {"CardDeclined", "Declined", NULL};
  char room[128];
  holdoff_options options;
  holdoff_rules rules;
  holdoff_facts facts = http(0);
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, room, sizeof room);
  holdoff_options_set_text(&options, "rules[0].if.types[0]", "Declined");
  holdoff_options_set_value(&options, "rules[0].retry", HOLDOFF_VALUE_FALSE);
  holdoff_options_set_text(&options, "rules[1].if.codes[0]", "ECONNRESET");
  holdoff_options_set_value(&options, "rules[1].retry", HOLDOFF_VALUE_TRUE);
  CHECK_NUMBER(holdoff_rules_build(&rules, &options, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, lost).rule, HOLDOFF_NO_RULE);
  facts.codes = reset;
  CHECK_NUMBER(holdoff_rules_judge(&rules, &facts, permanent).rule, 2);
  CHECK_NUMBER(judged(&rules, facts, permanent), HOLDOFF_TRANSIENT);
  facts.types = declined;
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_PERMANENT);
  facts.types = declined + 2;
  facts.codes = reset + 2;
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_TRANSIENT);
}

static void an_operation_that_may_not_run_twice_is_retried_after_what_is_safe(void) {
  holdoff_facts facts = http(503);
  facts.non_idempotent = 1;
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, lost).kind, HOLDOFF_PERMANENT);
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, holdoff_failure_of(HOLDOFF_THROTTLED)).kind, HOLDOFF_THROTTLED);
  facts.unsent = 1;
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, lost).kind, HOLDOFF_TRANSIENT);
}

static void what_a_server_says_about_retries_comes_first(void) {
  holdoff_headers headers;
  holdoff_facts facts = http(429);
  holdoff_headers_begin(&headers, HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_headers_should_retry(&headers), 0);
  holdoff_headers_add(&headers, "X-Should-Retry", "false");
  facts.should_retry = holdoff_headers_should_retry(&headers);
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, lost).kind, HOLDOFF_PERMANENT);
  holdoff_headers_add(&headers, "x-should-retry", "true");
  facts.should_retry = holdoff_headers_should_retry(&headers);
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, permanent).kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(holdoff_headers_should_retry(NULL), 0);
}

static void patterns_without_room_are_an_error(void) {
  char patterns[12];
  holdoff_options options;
  holdoff_policy policy;
  holdoff_rules rules;
  holdoff_problem problem;
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_text(&options, "rules[0].if.patterns[0]", "reset"), HOLDOFF_ERROR_NO_ROOM);
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  CHECK_NUMBER(holdoff_options_set_text(&options, "rules[0].if.patterns[0]", "reset"), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_options_set_text(&options, "rules[0].if.patterns[1]", "late"), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_rules_build(&rules, &options, &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "rules[0].if.patterns[1]");
  CHECK_TEXT(problem.value, "\"late\"");
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_ERROR_NO_ROOM);
}

static void rules_that_say_nothing_change_nothing(void) {
  holdoff_options options;
  holdoff_rules rules;
  holdoff_options_init(&options);
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(judged(&rules, http(404), permanent), HOLDOFF_PERMANENT);
  CHECK_NUMBER(judged(&rules, message("reset"), lost), HOLDOFF_TRANSIENT);
}

static void grpc_codes_are_judged_by_name_and_number(void) {
  holdoff_options options;
  holdoff_rules rules;
  holdoff_facts facts = http(0);
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "rules[0].if.grpc[0]", "ABORTED");
  only_the_first_rule(&options);
  holdoff_rules_build(&rules, &options, NULL);
  facts.has_grpc = 1;
  facts.grpc = 10;
  CHECK_NUMBER(judged(&rules, facts, permanent), HOLDOFF_TRANSIENT);
  facts.grpc = 14;
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_PERMANENT);
  facts.grpc = 4000;
  CHECK_NUMBER(judged(&rules, facts, lost), HOLDOFF_PERMANENT);
}

static void wrong_use_of_rules_stops_a_call(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_rules rules;
  holdoff_options options;
  holdoff_call call;
  holdoff_facts facts = http(503);
  memset(&rules, 0, sizeof rules);
  holdoff_call_underway(&call, 1, 0);
  CHECK_NUMBER(judged(&rules, facts, lost), 0);
  CHECK_NUMBER(holdoff_rules_judge(NULL, NULL, lost).kind, 0);
  CHECK(is_invalid(holdoff_call_fail(&call, &policy, 1, 0, holdoff_rules_judge(&rules, &facts, lost)),
                   HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
  holdoff_options_init(&options);
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(holdoff_rules_judge(&rules, NULL, lost).kind, 0);
  CHECK_NUMBER(judged(&rules, facts, holdoff_failure_of(9)), 0);
  CHECK_NUMBER(holdoff_rules_build(NULL, &options, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_rules_build(&rules, NULL, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_options_keep_patterns(&options, NULL, 4), HOLDOFF_ERROR_NULL_POINTER);
}

/* A server that answers 404 twice, and a clock that does not wait. */
struct answers {
  uint64_t now;
  int calls;
};

static uint64_t answers_now(void *state) { return ((struct answers *)state)->now; }

static void answers_sleep(void *state, uint64_t until, const holdoff_cancel *cancel) {
  (void)cancel;
  ((struct answers *)state)->now = until;
}

static bool ask(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  struct answers *answers = (struct answers *)context;
  attempt->facts->http = ++answers->calls < 3 ? 404 : 200;
  return !holdoff_failure_from_http(attempt->facts->http, NULL, failure);
}

static void the_loop_judges_by_the_rules_of_its_host(void) {
  holdoff_policy policy = constant("1s", 5);
  holdoff_options options;
  holdoff_rules rules;
  holdoff_result result;
  holdoff_host host;
  holdoff_clock clock;
  struct answers answers = {0, 0};
  uint64_t seed = 1;
  clock.now = answers_now;
  clock.sleep_until = answers_sleep;
  clock.state = &answers;
  memset(&host, 0, sizeof host);
  host.clock = &clock;
  host.seed = &seed;
  CHECK(!holdoff_run(&policy, &host, ask, &answers, &result));
  CHECK_NUMBER(result.attempts, 1);
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "rules[0].if.http[0]", 404);
  holdoff_options_set_value(&options, "rules[0].retry", HOLDOFF_VALUE_TRUE);
  holdoff_rules_build(&rules, &options, NULL);
  host.rules = &rules;
  answers.calls = 0;
  CHECK(holdoff_run(&policy, &host, ask, &answers, &result));
  CHECK_NUMBER(result.attempts, 3);
  CHECK_NUMBER(result.failure.kind, HOLDOFF_TRANSIENT);
  host.non_idempotent = true;
  answers.calls = 0;
  CHECK(!holdoff_run(&policy, &host, ask, &answers, &result));
  CHECK_NUMBER(result.attempts, 1);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_PERMANENT);
}

void rules_tests(void) {
  RUN(a_document_says_what_is_retried);
  RUN(lists_that_are_set_again_begin_anew);
  RUN(codes_and_types_are_lists_that_end_with_null);
  RUN(an_operation_that_may_not_run_twice_is_retried_after_what_is_safe);
  RUN(what_a_server_says_about_retries_comes_first);
  RUN(patterns_without_room_are_an_error);
  RUN(rules_that_say_nothing_change_nothing);
  RUN(grpc_codes_are_judged_by_name_and_number);
  RUN(wrong_use_of_rules_stops_a_call);
  RUN(the_loop_judges_by_the_rules_of_its_host);
}
