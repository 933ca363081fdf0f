/* A function that a recording scripts, in virtual time: its calls, the waits between them, and the context around both. */
#include "runner.h"

#include <string.h>

uint64_t end_of(const cJSON *config) {
  const cJSON *ends = get(config, "cancel_at");
  return ends == NULL || cJSON_IsNull(ends) || whole_of(ends) < 0 ? HOLDOFF_NEVER : number_of(ends);
}

void scripted_begin(scripted *run, const cJSON *inputs, const cJSON *config) {
  memset(run, 0, sizeof *run);
  run->input = first(inputs);
  run->ends = end_of(config);
  run->is_deadline = truth(config, "cancel_is_deadline");
  run->delays = cJSON_CreateArray();
  run->last = "";
}

const char *context_error(const scripted *run) {
  return run->is_deadline ? "context deadline exceeded" : "context canceled";
}

bool scripted_call(scripted *run) {
  uint64_t took;
  if (run->input == NULL) {
    fail("as many calls as recorded", "more", run->calls);
    return false;
  }
  run->calls++;
  took = number(run->input, "took");
  run->now = took < HOLDOFF_NEVER - run->now ? run->now + took : HOLDOFF_NEVER - 1;
  run->last = word(run->input, "result");
  run->input = run->input->next;
  return true;
}

uint64_t span_until(uint64_t until, uint64_t now) {
  uint64_t span = until > now ? until - now : 0;
  return span < HOLDOFF_LONGEST_NS ? span : HOLDOFF_LONGEST_NS;
}

bool scripted_wait(scripted *run, uint64_t until) {
  cJSON_AddItemToArray(run->delays, made((int64_t)span_until(until, run->now)));
  run->cancelled = run->now >= run->ends || run->ends < until;
  if (!run->cancelled) {
    run->now = until;
  } else if (run->now < run->ends) {
    run->now = run->ends;
  }
  return run->cancelled;
}

cJSON *scripted_result(const scripted *run, const char *value, const char *error, const char *wraps) {
  cJSON *got = cJSON_CreateObject();
  cJSON_AddNumberToObject(got, "calls", run->calls);
  cJSON_AddItemToObject(got, "delays", cJSON_Duplicate(run->delays, true));
  cJSON_AddItemToObject(got, "now", made((int64_t)run->now));
  if (value != NULL) {
    cJSON_AddNullToObject(got, "error");
    cJSON_AddStringToObject(got, "value", value);
    return got;
  }
  cJSON_AddStringToObject(got, "error", error);
  if (wraps == NULL) {
    cJSON_AddNullToObject(got, "unwraps_to");
  } else {
    cJSON_AddItemToArray(cJSON_AddArrayToObject(got, "unwraps_to"), cJSON_CreateString(wraps));
  }
  cJSON_AddBoolToObject(got, "is_canceled", run->cancelled && !run->is_deadline);
  cJSON_AddBoolToObject(got, "is_deadline", run->cancelled && run->is_deadline);
  cJSON_AddBoolToObject(got, "value_is_zero", true);
  return got;
}
