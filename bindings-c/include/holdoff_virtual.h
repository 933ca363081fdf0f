/*
 * For the tests of a program: a clock whose time passes only by sleeping, and an operation that fails as often as told.
 *
 *   holdoff_virtual_time time = {0, 0};
 *   holdoff_clock clock = holdoff_virtual_clock(&time);
 *   holdoff_failing down = {2, holdoff_failure_of(HOLDOFF_TRANSIENT), 0};
 *   host.clock = &clock;
 *   holdoff_run(&policy, &host, holdoff_fail, &down, &result);
 *   assert(down.calls == 3 && time.slept == 2 * UINT64_C(1000000000));
 *
 * C99 and C++11. Times are nanoseconds. One thread at a time uses a time.
 */
#ifndef HOLDOFF_VIRTUAL_H
#define HOLDOFF_VIRTUAL_H

#include "holdoff_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Virtual time, and how much of it was slept. An operation that takes time adds to `now`. */
typedef struct holdoff_virtual_time {
  uint64_t now;
  uint64_t slept;
} holdoff_virtual_time;

static inline uint64_t holdoff_virtual_now(void *time) {
  return ((holdoff_virtual_time *)time)->now;
}

static inline void holdoff_virtual_sleep(void *time, uint64_t until, const holdoff_cancel *cancel) {
  holdoff_virtual_time *virtual_time = (holdoff_virtual_time *)time;
  if (until > virtual_time->now && !holdoff_cancelled(cancel)) {
    virtual_time->slept += until - virtual_time->now;
    virtual_time->now = until;
  }
}

/** The `clock` of a host; the time stays where it is while the clock is used. */
static inline holdoff_clock holdoff_virtual_clock(holdoff_virtual_time *time) {
  holdoff_clock clock;
  clock.now = holdoff_virtual_now;
  clock.sleep_until = holdoff_virtual_sleep;
  clock.state = time;
  return clock;
}

/** How often holdoff_fail fails, how, and how often it was called. */
typedef struct holdoff_failing {
  uint32_t times;
  holdoff_failure failure;
  uint32_t calls;
} holdoff_failing;

/** An operation whose context is a holdoff_failing: it fails in its first `times` calls. */
static inline bool holdoff_fail(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  holdoff_failing *failing = (holdoff_failing *)context;
  (void)attempt;
  failing->calls++;
  if (failing->calls > failing->times) {
    return true;
  }
  *failure = failing->failure;
  return false;
}

#ifdef __cplusplus
}
#endif

#endif
