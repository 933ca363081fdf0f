/* Which failures are worth another try. */
#include "check.h"

static const holdoff_failure permanent = {HOLDOFF_PERMANENT, HOLDOFF_HINT_NONE, 0};
static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_AFTER, 7};

static const char *const DOCUMENT = "{\"retry_on\": {\"http\": [404, \"5xx\"], \"patterns\": [\"reset\", \"timed out\"],"
                                    " \"non_idempotent\": {\"http\": [503], \"patterns\": [\"not sent\"]}}}";

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
}

static void lists_that_are_set_again_begin_anew(void) {
  char patterns[32];
  holdoff_options options;
  holdoff_rules rules;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  holdoff_options_set_text(&options, "retry_on.patterns[0]", "one");
  holdoff_options_set_text(&options, "retry_on.patterns[1]", "two");
  holdoff_options_set_text(&options, "retry_on.patterns[0]", "three");
  holdoff_options_set_number(&options, "retry_on.http[0]", 418);
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(judged(&rules, message("one, two"), lost), HOLDOFF_PERMANENT);
  CHECK_NUMBER(judged(&rules, message("three"), lost), HOLDOFF_TRANSIENT);
  CHECK(holdoff_rules_is_failure(&rules, 418, false));
  CHECK(!holdoff_rules_is_failure(&rules, 202, false));
  holdoff_options_set_value(&options, "retry_on.patterns", HOLDOFF_VALUE_EMPTY_LIST);
  holdoff_options_set_text(&options, "retry_on.http[0]", "2xx");
  holdoff_rules_build(&rules, &options, NULL);
  CHECK_NUMBER(judged(&rules, message("three"), lost), HOLDOFF_PERMANENT);
  CHECK(holdoff_rules_is_failure(&rules, 202, false));
}

static void patterns_without_room_are_an_error(void) {
  char patterns[12];
  holdoff_options options;
  holdoff_policy policy;
  holdoff_rules rules;
  holdoff_problem problem;
  holdoff_options_init(&options);
  CHECK_NUMBER(holdoff_options_set_text(&options, "retry_on.patterns[0]", "reset"), HOLDOFF_ERROR_NO_ROOM);
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  CHECK_NUMBER(holdoff_options_set_text(&options, "retry_on.patterns[0]", "reset"), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_options_set_text(&options, "retry_on.patterns[1]", "late"), HOLDOFF_ERROR_NO_ROOM);
  CHECK_NUMBER(holdoff_rules_build(&rules, &options, &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "retry_on.patterns[1]");
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
  holdoff_options_set_text(&options, "retry_on.grpc[0]", "ABORTED");
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
  CHECK_NUMBER(holdoff_rules_judge(NULL, &facts, lost).kind, 0);
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
  holdoff_options_set_number(&options, "retry_on.http[0]", 404);
  holdoff_options_set_value(&options, "retry_on.non_idempotent.http", HOLDOFF_VALUE_EMPTY_LIST);
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
  RUN(patterns_without_room_are_an_error);
  RUN(rules_that_say_nothing_change_nothing);
  RUN(grpc_codes_are_judged_by_name_and_number);
  RUN(wrong_use_of_rules_stops_a_call);
  RUN(the_loop_judges_by_the_rules_of_its_host);
}
