/*
 * A policy and its guards from a JSON document or a preset: what they do, what is questionable, and which failures it retries.
 *
 *     cc document.c $(pkg-config --cflags --libs holdoff) && ./a.out kubernetes
 */
#include <holdoff/document.h>

#include <stdio.h>
#include <string.h>

static const char *const DOCUMENT =
    "{ \"version\": 1,"
    "  \"backoff\": [ { \"kind\": \"constant\", \"delay\": \"50ms\", \"times\": 1 },"
    "                 { \"kind\": \"exponential\", \"initial\": \"200ms\", \"factor\": 2, \"max\": \"5s\" } ],"
    "  \"jitter\": \"equal\", \"attempts\": 5, \"deadline\": \"30s\","
    "  \"budget\": { \"kind\": \"token\", \"capacity\": 100 },"
    "  \"rules\": [ { \"if\": [ { \"http\": [429, \"5xx\"] }, { \"patterns\": [\"connection reset\"] } ], \"retry\": true },"
    "               { \"if\": {}, \"retry\": false } ] }";

int main(int argc, char **argv) {
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  holdoff_rules rules;
  holdoff_facts facts = {0};
  holdoff_failure judged;
  char patterns[128], text[4096];

  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  if (argc > 1) {
    holdoff_options_set_text(&options, "preset", argv[1]);
  } else {
    holdoff_options_read_json(&options, DOCUMENT, strlen(DOCUMENT));
  }
  if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK) {
    holdoff_problem_text(&problem, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return 2;
  }
  holdoff_options_explain(&options, 0, text, sizeof text);
  printf("%s\n\n", text);

  holdoff_rules_build(&rules, &options, NULL);
  facts.message = "read: connection reset by peer";
  judged = holdoff_rules_judge(&rules, &facts, holdoff_failure_of(HOLDOFF_PERMANENT));
  printf("\"%s\" is %s\n", facts.message, holdoff_word(HOLDOFF_WORD_FAILURE, judged.kind));

  holdoff_options_json(&options, HOLDOFF_FORM_DOCUMENT, text, sizeof text, NULL);
  printf("%s\n", text);
  return 0;
}
