/*
 * The raw machine under a loop of one's own: here in virtual time, in an event loop the same calls hang on its timer.
 *
 *     cc machine.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff.h>

#include <inttypes.h>
#include <stdio.h>

int main(void) {
  holdoff_policy policy;
  holdoff_call call;
  holdoff_step step;
  uint64_t now = 0;

  holdoff_policy_default(&policy);
  step = holdoff_call_begin(&call, &policy, 42, now);
  while (step.kind != HOLDOFF_STOP) {
    if (step.kind == HOLDOFF_ATTEMPT) {
      printf("%12" PRIu64 " ns: attempt %u\n", now, (unsigned)step.attempt);
      now += 5000000; /* it takes 5 ms to fail */
      step = holdoff_call_fail(&call, &policy, holdoff_step_ticket(step), now, holdoff_failure_of(HOLDOFF_TRANSIENT));
    } else {
      printf("%12" PRIu64 " ns: sleep until %" PRIu64 " (%s)\n", now, step.at, holdoff_word(HOLDOFF_WORD_CAUSE, step.cause));
      now = step.at;
      step = holdoff_call_tick(&call, &policy, now);
    }
  }
  printf("%12" PRIu64 " ns: %s, %s\n", now, holdoff_word(HOLDOFF_WORD_OUTCOME, step.outcome), holdoff_word(HOLDOFF_WORD_REASON_TEXT, step.reason));
  return step.outcome != HOLDOFF_GAVE_UP;
}
