/* The works by the library. Compiled twice: WHO is `shared` or `linked`, by which library it is linked with. */
#include "works.h"

#include <stdlib.h>

#define PASTED(who, name) who##_##name
#define JOINED(who, name) PASTED(who, name)
#define NAMED(name) JOINED(WHO, name)

static holdoff_policy forever, four;

static void build(holdoff_policy *policy, double attempts) {
  holdoff_options options;
  holdoff_options_init(&options);
  holdoff_options_set_ns(&options, "backoff.initial", INITIAL_NS);
  holdoff_options_set_ns(&options, "backoff.max", MAX_NS);
  if (attempts > 0) {
    holdoff_options_set_number(&options, "attempts", attempts);
  } else {
    holdoff_options_set_text(&options, "attempts", "forever");
  }
  if (holdoff_policy_build(policy, &options, NULL) != 0) {
    abort();
  }
}

void NAMED(prepare)(void) {
  build(&forever, 0);
  build(&four, 4);
}

static const holdoff_failure transient = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};

/* So many decisions of a new state. */
static inline void decide(uint32_t times) {
  holdoff_retry retry;
  uint64_t now = 0;
  holdoff_retry_init(&retry, 7, now);
  while (times-- > 0) {
    now = holdoff_retry_on_failure(&retry, &forever, now, transient).at;
    KEEP(now);
  }
}

void NAMED(eight)(uint32_t times, uint32_t failures) {
  (void)failures;
  while (times-- > 0) {
    decide(8);
  }
}

void NAMED(capped)(uint32_t times, uint32_t failures) {
  (void)failures;
  decide(8 + times);
}

/* Time stands, and a sleep is over at once. */
static uint64_t now(void *state) {
  KEEP(state);
  return 0;
}

static void sleep_until(void *state, uint64_t until, const holdoff_cancel *cancel) {
  (void)cancel;
  *(uint64_t *)state = until;
  KEEP(state);
}

static uint64_t moved(void *state) { return *(uint64_t *)state; }

/* The loop of the header. */
void NAMED(run)(uint32_t times, uint32_t failures) {
  uint64_t seed = 7, time = 0;
  holdoff_clock clock;
  holdoff_host host;
  memset(&host, 0, sizeof host);
  clock.now = failures > 0 ? moved : now;
  clock.sleep_until = sleep_until;
  clock.state = &time;
  host.clock = &clock;
  host.seed = &seed;
  while (times-- > 0) {
    holdoff_result result;
    uint32_t left = failures;
    time = 0;
    KEEP(holdoff_run(&four, &host, operation, &left, &result));
    KEEP(&result);
  }
}

/* A loop of a program's own, which decides by a retry. */
void NAMED(retry)(uint32_t times, uint32_t failures) {
  while (times-- > 0) {
    uint32_t left = failures;
    uint64_t now = 0;
    holdoff_failure failure = transient;
    holdoff_retry retry;
    bool succeeded = operation(&left, NULL, &failure);
    if (!succeeded) {
      holdoff_retry_init(&retry, 7, now);
    }
    while (!succeeded) {
      holdoff_step step = holdoff_retry_on_failure(&retry, &four, now, failure);
      if (step.kind != HOLDOFF_SLEEP) {
        break;
      }
      now = step.at;
      KEEP(now);
      succeeded = operation(&left, NULL, &failure);
    }
    KEEP(succeeded);
  }
}

/* The same by a call. */
void NAMED(call)(uint32_t times, uint32_t failures) {
  while (times-- > 0) {
    uint32_t left = failures;
    uint64_t now = 0, ticket = HOLDOFF_FIRST_TICKET;
    holdoff_failure failure = transient;
    holdoff_call call;
    bool succeeded = operation(&left, NULL, &failure);
    if (!succeeded) {
      holdoff_call_underway(&call, 7, now);
    }
    while (!succeeded) {
      holdoff_step step = holdoff_call_fail(&call, &four, ticket, now, failure);
      if (step.kind != HOLDOFF_SLEEP) {
        break;
      }
      now = step.at;
      KEEP(now);
      step = holdoff_call_tick(&call, &four, now);
      if (step.kind != HOLDOFF_ATTEMPT) {
        break;
      }
      ticket = holdoff_step_ticket(step);
      succeeded = operation(&left, NULL, &failure);
    }
    KEEP(succeeded);
  }
}
