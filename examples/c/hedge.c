/*
 * A second attempt beside a slow one, by the machine: the program runs both and takes the first success. The time is pretended,
 * and so are the servers: each attempt has a time at which it answers.
 *
 *     cc hedge.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff/guards.h>

#include <stdio.h>

#define MS UINT64_C(1000000)

int main(void) {
  /* How long each attempt takes: the first one hangs. */
  static const uint64_t takes[] = {900 * MS, 20 * MS, 20 * MS};
  uint64_t answers_at[3], now = 0;
  unsigned started = 0;
  holdoff_options options;
  holdoff_policy policy;
  holdoff_hedge hedge;
  holdoff_guards guards = {0};
  holdoff_guarded_call call;
  holdoff_step step;

  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "hedge", "50ms");
  guards.hedge = &hedge;
  if (holdoff_policy_build(&policy, &options, NULL) != HOLDOFF_OK ||
      holdoff_guards_init(&guards, &options, 42, now, NULL, 0, NULL) != HOLDOFF_OK) {
    return 2;
  }

  step = holdoff_guarded_call_begin(&call, &policy, &guards, 42, now);
  while (step.kind != HOLDOFF_STOP) {
    unsigned at, next = 0;
    uint64_t wake_at = step.kind == HOLDOFF_ATTEMPT ? step.wake_at : step.at;
    if (step.kind == HOLDOFF_ATTEMPT) {
      answers_at[started] = now + takes[started];
      started++;
      printf("%3u ms: attempt %u starts\n", (unsigned)(now / MS), started);
    }
    /* The next event: an answer, or the time to tick. */
    for (at = 1; at < started; at++) {
      next = answers_at[at] < answers_at[next] ? at : next;
    }
    if (answers_at[next] < wake_at) {
      now = answers_at[next];
      printf("%3u ms: attempt %u answers\n", (unsigned)(now / MS), next + 1);
      step = holdoff_guarded_call_succeed(&call, &guards, next + 1, now);
    } else {
      now = wake_at;
      step = holdoff_guarded_call_tick(&call, &policy, &guards, now);
    }
  }
  /* Here a program aborts what still runs. */
  printf("%s after %u ms\n", holdoff_word(HOLDOFF_WORD_OUTCOME, step.outcome), (unsigned)(now / MS));
  return step.outcome != HOLDOFF_SUCCEEDED || started != 2;
}
