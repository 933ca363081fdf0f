/*
 * A flaky operation under a policy, with a trace, a way to cancel on Ctrl-C, and the last error at the end.
 *
 *     cc retry.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff_loop.h>

#include <signal.h>
#include <stdio.h>

static holdoff_cancel cancel;

static void on_interrupt(int signal) {
  (void)signal;
  holdoff_cancel_fire(&cancel);
}

/* The state that the attempts share: the place of the result, and the last error. */
struct fetch {
  const char *url;
  int status;
};

/* One attempt. A real one would call a server here, for at most holdoff_attempt_left_ms(attempt). */
static bool fetch(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  struct fetch *fetch = (struct fetch *)context;
  fetch->status = attempt->number < 3 ? 503 : 200;
  return !holdoff_failure_from_http((uint32_t)fetch->status, NULL, failure);
}

static void trace(void *context, const holdoff_retrying *retrying) {
  const struct fetch *fetch = (const struct fetch *)context;
  printf("%s: attempt %u failed (%d, %s), next one in %.1f ms\n", fetch->url, (unsigned)retrying->attempt,
         fetch->status, holdoff_word(HOLDOFF_WORD_FAILURE, retrying->failure.kind), (double)retrying->delay_ns / 1e6);
}

int main(void) {
  struct fetch context = {"http://example.com/", 0};
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  holdoff_host host = {0};
  holdoff_result result;

  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff.initial", "20ms");
  holdoff_options_set_number(&options, "attempts", 5);
  holdoff_options_set_text(&options, "deadline", "10s");
  if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK) {
    char line[256];
    holdoff_problem_text(&problem, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return 2;
  }

  if (holdoff_cancel_init(&cancel) != 0) {
    return 2;
  }
  signal(SIGINT, on_interrupt);
  host.cancel = &cancel;
  host.on_retry = trace;

  if (holdoff_run(&policy, &host, fetch, &context, &result)) {
    printf("%s: %d after %u attempts\n", context.url, context.status, (unsigned)result.attempts);
  } else {
    printf("%s: %s, last status %d\n", context.url, holdoff_word(HOLDOFF_WORD_REASON_TEXT, result.reason), context.status);
  }
  holdoff_cancel_close(&cancel);
  return result.outcome != HOLDOFF_SUCCEEDED;
}
