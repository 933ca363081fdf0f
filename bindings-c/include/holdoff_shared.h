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

/* A thread that waits for a place in a bulkhead. */
typedef struct holdoff_waiter {
  struct holdoff_waiter *next;
  const holdoff_bulkhead *bulkhead;
  bool listed, woken;
  /* The ends of a pipe; -1 for none. */
  int wake[2];
} holdoff_waiter;

/**
 * The lock of shared guards, and the threads that wait for a place in a bulkhead. One for all guards that are in a set
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

/**
 * Wakes the thread whose turn it is to enter a bulkhead, if there is a place. To be called with the lock held; holdoff_run
 * does so. For programs that drive a holdoff_guarded_call or a bulkhead themselves beside it, after each transition.
 */
static inline void holdoff_shared_wake(holdoff_shared *shared, const holdoff_bulkhead *bulkhead) {
  holdoff_waiter *waiter = shared->waiters;
  if (waiter == NULL || bulkhead == NULL ||
      holdoff_bulkhead_running(bulkhead) >= holdoff_bulkhead_limit(bulkhead)) {
    return;
  }
  while (waiter != NULL && waiter->bulkhead != bulkhead) {
    waiter = waiter->next;
  }
  /* A thread that enters wakes the next one. */
  if (waiter != NULL && !waiter->woken) {
    waiter->woken = true;
    if (waiter->wake[1] != -1) {
      holdoff_wake(waiter->wake[1]);
    }
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
} holdoff_loop_budget;

/** Makes a full one: the budget that the loops of other languages bring to every policy. `now` is the host's time. */
static inline void holdoff_loop_budget_init(holdoff_loop_budget *budget, uint64_t now) {
  holdoff_budget_init_loops(&budget->budget, now);
  budget->is_short = false;
}

/* Says if tokens are missing, under the lock. */
static inline void holdoff_loop_budget_look(holdoff_loop_budget *budget) {
  if (budget != NULL) {
    __atomic_store_n(&budget->is_short, !holdoff_budget_is_full(&budget->budget), __ATOMIC_RELAXED);
  }
}

#ifdef __cplusplus
}
#endif

#endif
