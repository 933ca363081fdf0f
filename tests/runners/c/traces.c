/* What the loop of holdoff_loop.h tells while an operation does what a script says, in virtual time. */
#define _POSIX_C_SOURCE 200809L
#include "runner.h"

#include <holdoff_loop.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A script that runs. */
typedef struct stage {
  const cJSON *attempt, *expected;
  uint64_t now;
  int at;
  verdict went;
  const cJSON *chosen;
} stage;

/* Compares an event with the next one of the vector. */
static void tell(stage *here, const char *got) {
  const cJSON *event = here->expected;
  char wanted[200], elapsed[24], delay[24], wait[24];
  if (here->went == FAILED) {
    return;
  }
  if (event == NULL) {
    here->went = fail("no event", got, here->at);
    return;
  }
  here->expected = event->next;
  time_text(number(event, "elapsed"), elapsed);
  if (strcmp(word(event, "event"), "retry") == 0) {
    time_text(number(event, "delay"), delay);
    snprintf(wanted, sizeof wanted, "retry %" PRIu64 " at %s of %s in %s by %s", number(event, "attempt"), elapsed,
             word(event, "kind"), delay, word(event, "cause"));
  } else if (strcmp(word(event, "event"), "give_up") == 0) {
    strcpy(wait, "null");
    if (!cJSON_IsNull(get(event, "retry_in"))) {
      time_text(number(event, "retry_in"), wait);
    }
    snprintf(wanted, sizeof wanted, "give_up %" PRIu64 " at %s of %s by %s retry in %s", number(event, "attempt"), elapsed,
             word(event, "kind"), word(event, "reason"), wait);
  } else {
    snprintf(wanted, sizeof wanted, "%s %" PRIu64 " at %s", word(event, "event"), number(event, "attempt"), elapsed);
  }
  here->went = compare(wanted, got, here->at++);
}

static uint64_t stage_now(void *state) {
  return ((stage *)state)->now;
}

static void stage_sleep(void *state, uint64_t until, const holdoff_cancel *cancel) {
  (void)cancel;
  ((stage *)state)->now = until;
}

static bool operate(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  stage *here = context;
  const cJSON *scripted = here->attempt;
  char got[80];
  snprintf(got, sizeof got, "attempt %" PRIu32 " at %" PRIu64, attempt->number, here->now);
  tell(here, got);
  if (scripted == NULL) {
    failure->kind = HOLDOFF_PERMANENT;
    return false;
  }
  here->attempt = scripted->next;
  here->now += number(scripted, "took");
  here->chosen = get(scripted, "chosen");
  if (get(scripted, "failure") == NULL) {
    return true;
  }
  *failure = failure_of(get(scripted, "failure"));
  return false;
}

static bool choose(void *context, const holdoff_retrying *failed, uint64_t *delay_ns) {
  const stage *here = context;
  (void)failed;
  if (here->chosen == NULL) {
    return false;
  }
  *delay_ns = number_of(here->chosen);
  return true;
}

static void retrying(void *context, const holdoff_retrying *retry) {
  char got[160];
  snprintf(got, sizeof got, "retry %" PRIu32 " at %" PRIu64 " of %s in %" PRIu64 " by %s", retry->attempt,
           retry->until - retry->delay_ns, holdoff_word(HOLDOFF_WORD_FAILURE, retry->failure.kind), retry->delay_ns,
           holdoff_word(HOLDOFF_WORD_CAUSE, retry->cause));
  tell(context, got);
}

verdict run_trace(const cJSON *item) {
  stage here;
  holdoff_clock clock;
  holdoff_host host;
  holdoff_policy policy;
  holdoff_result result;
  uint64_t seed = number(item, "seed");
  char got[160], wait[24];
  memset(&here, 0, sizeof here);
  memset(&host, 0, sizeof host);
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  here.attempt = first(get(item, "script"));
  here.expected = first(get(item, "trace"));
  here.went = PASSED;
  clock.now = stage_now;
  clock.sleep_until = stage_sleep;
  clock.state = &here;
  host.clock = &clock;
  host.seed = &seed;
  host.on_retry = retrying;
  host.delay = choose;
  if (holdoff_run(&policy, &host, operate, &here, &result)) {
    snprintf(got, sizeof got, "success %" PRIu32 " at %" PRIu64, result.attempts, here.now);
  } else {
    strcpy(wait, "null");
    if (result.retry_at != HOLDOFF_NEVER) {
      time_text(result.retry_at - here.now, wait);
    }
    snprintf(got, sizeof got, "give_up %" PRIu32 " at %" PRIu64 " of %s by %s retry in %s", result.attempts, here.now,
             holdoff_word(HOLDOFF_WORD_FAILURE, result.failure.kind), holdoff_word(HOLDOFF_WORD_REASON, result.reason), wait);
  }
  tell(&here, got);
  if (here.went == PASSED && here.expected != NULL) {
    return fail(word(here.expected, "event"), "no event", here.at);
  }
  return here.went;
}
