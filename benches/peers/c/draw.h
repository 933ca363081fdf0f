/* Where the floors and the peers get their random numbers: PCG XSH RR 64/32, O'Neill 2014, the generator of the core. */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

typedef struct generator {
  uint64_t state;
} generator;

#define MULTIPLIER UINT64_C(6364136223846793005)
#define INCREMENT UINT64_C(0x14057b7ef767814f)

static inline void seed_generator(generator *rng, uint64_t seed) {
  rng->state = (seed + INCREMENT) * MULTIPLIER + INCREMENT;
}

static inline uint32_t draw(generator *rng) {
  uint64_t state = rng->state;
  uint32_t shifted = (uint32_t)(((state >> 18) ^ state) >> 27), by = (uint32_t)(state >> 59);
  rng->state = state * MULTIPLIER + INCREMENT;
  return (shifted >> by) | (shifted << (-by & 31));
}

#endif
