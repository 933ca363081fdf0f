/*
 * The algorithm that FreeRTOS publishes as backoffAlgorithm, written anew from its description, because nobody packages the
 * library: full jitter over a bound of 16 bits of milliseconds that doubles after each retry, the random number being the
 * caller's. https://freertos.org/Documentation/03-Libraries/07-Modules/04-backoffAlgorithm
 *
 * It decides less than a policy does: no deadline, no hint, no kind of failure, and a remainder instead of an even draw.
 */
#include "draw.h"
#include "works.h"

typedef struct backoff {
  uint16_t most;
  uint16_t bound;
  uint32_t done;
  uint32_t retries;
} backoff;

#define EXHAUSTED 1

/* Out of line, as the calls of a library are. */
__attribute__((noinline)) static void begin(backoff *state, uint16_t first, uint16_t most, uint32_t retries) {
  state->most = most;
  state->bound = first;
  state->done = 0;
  state->retries = retries;
}

__attribute__((noinline)) static int next(backoff *state, uint32_t drawn, uint16_t *delay) {
  if (state->retries != UINT32_MAX && state->done >= state->retries) {
    return EXHAUSTED;
  }
  *delay = (uint16_t)(drawn % ((uint32_t)state->bound + 1));
  state->done++;
  state->bound = state->bound < state->most / 2 ? (uint16_t)(state->bound * 2) : state->most;
  return 0;
}

static inline void decide(uint32_t times) {
  generator rng;
  backoff state;
  uint16_t delay = 0;
  seed_generator(&rng, 7);
  begin(&state, 100, 10000, UINT32_MAX);
  while (times-- > 0) {
    next(&state, draw(&rng), &delay);
    KEEP(delay);
  }
}

void freertos_eight(uint32_t times, uint32_t failures) {
  (void)failures;
  while (times-- > 0) {
    decide(8);
  }
}

void freertos_capped(uint32_t times, uint32_t failures) {
  (void)failures;
  decide(8 + times);
}
