/*
 * A call that outlives its process: saved while it sleeps, resumed on another clock, with the same next attempt.
 *
 *     cc resume.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff/log.h>

#include <inttypes.h>
#include <stdio.h>

int main(void) {
  holdoff_policy policy;
  holdoff_call call;
  holdoff_saved saved;
  holdoff_problem problem;
  holdoff_step step;
  char bytes[HOLDOFF_SAVED_CALL], json[512];
  size_t length;

  holdoff_policy_preset(&policy, "temporal");
  step = holdoff_call_begin(&call, &policy, 42, 1000);
  step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), 1000, holdoff_failure_of(HOLDOFF_TRANSIENT));
  printf("asleep until %" PRIu64 "\n", step.at);

  /* Saved 0.4 s into its sleep of 1 s, to a file, a queue, a database. */
  holdoff_call_save(&call, &policy, 400001000, &saved);
  length = holdoff_saved_bytes(&saved, bytes, sizeof bytes);
  holdoff_saved_json(&saved, json, sizeof json);
  printf("%zu bytes, or %s\n", length, json);

  /* Another process, whose clock reads 7, and which knows that a quarter of a second passed. */
  if (holdoff_saved_from_bytes(&saved, bytes, length, &problem) != HOLDOFF_OK) {
    return 2;
  }
  holdoff_saved_age(&saved, 250000000);
  if (holdoff_call_resume(&call, &saved, &policy, 7, &problem) != HOLDOFF_OK) {
    holdoff_problem_text(&problem, json, sizeof json);
    fprintf(stderr, "%s\n", json);
    return 2;
  }
  step = holdoff_call_tick(&call, &policy, 7);
  printf("asleep until %" PRIu64 "\n", step.at);
  step = holdoff_call_tick(&call, &policy, step.at);
  printf("attempt %u\n", (unsigned)step.attempt);
  return step.attempt != 2;
}
