/* Somebody else's program: both headers and the installed library, nothing of this repository. */
#include <holdoff_loop.h>
#include <holdoff/document.h>

#include <stdio.h>
#include <string.h>

static bool third_time_lucky(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  *(uint32_t *)context = attempt->number;
  return attempt->number == 3 || !holdoff_failure_from_http(503, NULL, failure);
}

int main(void) {
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  holdoff_result result;
  holdoff_budget budget;
  holdoff_guards guards = {0};
  holdoff_host host = {0};
  uint32_t seen = 0;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff.initial", "1ms");
  holdoff_options_set_number(&options, "attempts", 5);
  if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK) {
    return 1;
  }
  if (!holdoff_run(&policy, NULL, third_time_lucky, &seen, &result) || seen != 3 || result.attempts != 3) {
    return 2;
  }
  holdoff_options_init(&options);
  if (holdoff_options_read_json(&options, "{\"preset\": \"grpc\", \"attempts\": 7}", 33) != HOLDOFF_OK ||
      holdoff_policy_build(&policy, &options, NULL) != HOLDOFF_OK || holdoff_policy_explain(&policy, 0, NULL, 0) < 100) {
    return 4;
  }
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff.initial", "1ms");
  holdoff_options_set_text(&options, "budget", "token");
  holdoff_options_set_number(&options, "budget.capacity", 5);
  guards.budget = &budget;
  host.guards = &guards;
  if (holdoff_policy_build(&policy, &options, NULL) != HOLDOFF_OK ||
      holdoff_guards_init(&guards, &options, 1, holdoff_now(), NULL, 0, NULL) != HOLDOFF_OK ||
      holdoff_run(&policy, &host, third_time_lucky, &seen, &result) || result.reason != HOLDOFF_REASON_BUDGET || seen != 2) {
    return 5;
  }
  seen = 3;
  if (strcmp(holdoff_version(), HOLDOFF_VERSION) != 0) {
    return 3;
  }
  printf("holdoff %s: succeeded at attempt %u\n", holdoff_version(), (unsigned)seen);
  return 0;
}
