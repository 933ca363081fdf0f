/* The floors: what a program would write by hand if it had to be fast and nothing else; and no retry at all. */
#include "works.h"

#include "draw.h"

bool operation(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  uint32_t *left = context;
  (void)attempt, (void)failure;
  KEEP(left);
  if (*left > 0) {
    --*left;
    return false;
  }
  return true;
}

typedef struct hand {
  generator rng;
  uint64_t base;
  uint64_t max;
  uint32_t left;
} hand;

static inline void hand_begin(hand *state, uint64_t seed, uint32_t retries) {
  seed_generator(&state->rng, seed);
  state->base = INITIAL_NS;
  state->max = MAX_NS;
  state->left = retries;
  KEEP(state);
}

/* Uniform between nothing and the base delay, which doubles. */
static inline bool hand_next(hand *state, uint64_t *delay) {
  if (state->left == 0) {
    return false;
  }
  state->left--;
  *delay = (uint64_t)(((unsigned __int128)draw(&state->rng) * state->base) >> 32);
  state->base = state->base << 1 < state->max ? state->base << 1 : state->max;
  return true;
}

void hand_eight(uint32_t times, uint32_t failures) {
  (void)failures;
  while (times-- > 0) {
    hand state;
    uint64_t delay = 0;
    int count;
    hand_begin(&state, 7, UINT32_MAX);
    for (count = 0; count < 8; count++) {
      hand_next(&state, &delay);
      KEEP(delay);
    }
  }
}

/* A function that takes and returns what holdoff_retry_on_failure does, and decides nothing. */
__attribute__((noinline)) static holdoff_step ask(holdoff_retry *retry, const holdoff_policy *policy, uint64_t now,
                                                  holdoff_failure failure) {
  holdoff_step step = {HOLDOFF_SLEEP, 0, 0, HOLDOFF_CAUSE_BACKOFF, 0, 0, HOLDOFF_NEVER};
  KEEP(retry);
  KEEP(policy);
  step.at = now + failure.kind;
  return step;
}

void asked_eight(uint32_t times, uint32_t failures) {
  static const holdoff_policy policy;
  holdoff_failure failure = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
  (void)failures;
  KEEP(&failure);
  while (times-- > 0) {
    holdoff_retry retry;
    uint64_t now = 0;
    int count;
    for (count = 0; count < 8; count++) {
      now = ask(&retry, &policy, now, failure).at;
      KEEP(now);
    }
  }
}

void hand_capped(uint32_t times, uint32_t failures) {
  hand state;
  uint64_t delay = 0;
  (void)failures;
  hand_begin(&state, 7, UINT32_MAX);
  for (times += 8; times > 0; times--) {
    hand_next(&state, &delay);
    KEEP(delay);
  }
}

void hand_loop(uint32_t times, uint32_t failures) {
  while (times-- > 0) {
    uint32_t left = failures;
    uint64_t delay = 0;
    holdoff_failure failure = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
    hand state;
    bool succeeded = operation(&left, NULL, &failure);
    if (!succeeded) {
      hand_begin(&state, 7, 3);
    }
    while (!succeeded && hand_next(&state, &delay)) {
      KEEP(delay);
      succeeded = operation(&left, NULL, &failure);
    }
    KEEP(succeeded);
  }
}

void bare_loop(uint32_t times, uint32_t failures) {
  while (times-- > 0) {
    uint32_t left = failures;
    holdoff_failure failure = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
    while (!operation(&left, NULL, &failure)) {
    }
  }
}
