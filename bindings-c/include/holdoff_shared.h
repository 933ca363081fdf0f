/*
 * The lock of guards and the budget for retries that calls in the loop of holdoff_loop.h share.
 */
#ifndef HOLDOFF_SHARED_H
#define HOLDOFF_SHARED_H

#include "holdoff_posix.h"
#include "holdoff/guards.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A thread that waits until others have gone before it. */
typedef struct holdoff_waiter {
  struct holdoff_waiter *next;
  /* The guard; NULL for a thread that is not in the list. */
  const void *guard;
  bool woken;
  /* The ends of a pipe; -1 for none. */
  int wake[2];
} holdoff_waiter;

/**
 * The lock of shared guards, and the threads that wait for their turn. One for all guards that are in a set
 * together, and for all sets that have a guard in common. Zeroed, but for the first three, to begin with; it stays where
 * it is.
 */
typedef struct holdoff_shared {
  /** Locks and unlocks, such as a mutex that `state` points to. Held for one transition, never while an operation runs or a
   * thread sleeps, and never twice by a thread. */
  void (*lock)(void *state);
  void (*unlock)(void *state);
  void *state;
  /** For the functions below: the threads that wait, in the order of their places. */
  holdoff_waiter *waiters;
} holdoff_shared;

static inline void holdoff_shared_lock(holdoff_shared *shared) {
  if (shared->lock != NULL) {
    shared->lock(shared->state);
  }
}

static inline void holdoff_shared_unlock(holdoff_shared *shared) {
  if (shared->unlock != NULL) {
    shared->unlock(shared->state);
  }
}

/* Wakes as many threads that wait for a guard as there are places. */
static inline void holdoff_shared_wake_for(holdoff_shared *shared, const void *guard, uint32_t places) {
  holdoff_waiter *waiter;
  for (waiter = shared->waiters; waiter != NULL && places != 0; waiter = waiter->next) {
    if (waiter->guard != guard) {
      continue;
    }
    places--;
    if (!waiter->woken && waiter->wake[1] != -1) {
      holdoff_wake(waiter->wake[1]);
    }
    waiter->woken = true;
  }
}

/**
 * Wakes the threads whose turn it is at the guards of a set. To be called with the lock
 * held; holdoff_run does so. For programs that drive a holdoff_guarded_call, a bulkhead or a breaker themselves beside it, after
 * each transition.
 */
static inline void holdoff_shared_wake(holdoff_shared *shared, const holdoff_guards *guards) {
  if (shared->waiters == NULL) {
    return;
  }
  if (guards->bulkhead != NULL) {
    bool is_free = holdoff_bulkhead_running(guards->bulkhead) < holdoff_bulkhead_limit(guards->bulkhead);
    /* The first one alone, which wakes the next one as it enters: threads that overtake it would use up the places of the queue. */
    holdoff_shared_wake_for(shared, guards->bulkhead, is_free ? 1 : 0);
  }
  if (guards->breaker != NULL) {
    holdoff_shared_wake_for(shared, guards->breaker, holdoff_breaker_admits(guards->breaker));
  }
  if (guards->limiter != NULL) {
    holdoff_shared_wake_for(shared, guards->limiter, holdoff_limiter_to_wake(guards->limiter));
  }
  if (guards->adaptive != NULL) {
    holdoff_shared_wake_for(shared, guards->adaptive, holdoff_adaptive_to_wake(guards->adaptive));
  }
}

/**
 * The budget for the retries of all calls to one server, see docs/storm.md: make it once with holdoff_loop_budget_init, and give
 * it to the host of each of these calls. It stays where it is.
 */
typedef struct holdoff_loop_budget {
  holdoff_budget budget;
  /** True while tokens are missing: a first attempt that succeeds looks at nothing else. */
  bool is_short;
  /** The number of the latest refusal, which a call notes when it begins. */
  uint32_t refusals;
} holdoff_loop_budget;

/** Makes a full one: the budget that the loops of other languages bring to every policy that is not the preset of another system. `now` is
 * the host's time. For another capacity make `budget->budget` anew with holdoff_budget_init, of options with `{"budget": 1000}`. */
static inline void holdoff_loop_budget_init(holdoff_loop_budget *budget, uint64_t now) {
  holdoff_budget_init_loops(&budget->budget, now);
  budget->is_short = false;
  budget->refusals = 0;
}

/* Shows the state of the budget to calls that do not take the lock, under the lock. */
static inline void holdoff_loop_budget_look(holdoff_loop_budget *budget) {
  if (budget != NULL) {
    __atomic_store_n(&budget->is_short, !holdoff_budget_is_full(&budget->budget), __ATOMIC_RELAXED);
    __atomic_store_n(&budget->refusals, holdoff_budget_refusals(&budget->budget), __ATOMIC_RELAXED);
  }
}

#ifdef __cplusplus
}
#endif

#endif
