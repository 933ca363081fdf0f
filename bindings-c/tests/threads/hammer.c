/* Threads that share guards: counts add up, nobody waits in vain. Built to find what is touched without the lock. */
#define _POSIX_C_SOURCE 200809L

#include "holdoff_loop.h"

#include <pthread.h>
#include <stdio.h>

/* The library copies and clears by these functions of LLVM's runtime, which GCC's does not have. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);

void *__tsan_memcpy(void *to, const void *from, size_t size) {
  return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size) {
  return memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, size_t size) {
  return memset(to, byte, size);
}

enum { THREADS = 8, CALLS = 2000, PLACES = 3 };

static int failures;

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                    \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                 \
    }                                                                                                        \
  } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t locked, locks;

static void lock(void *state) {
  CHECK(pthread_mutex_lock((pthread_mutex_t *)state) == 0);
  CHECK(locked == 0);
  locked = 1;
}

static void unlock(void *state) {
  locked = 0;
  locks++;
  CHECK(pthread_mutex_unlock((pthread_mutex_t *)state) == 0);
}

static holdoff_budget budget;
static holdoff_breaker breaker;
static holdoff_limiter limiter;
static holdoff_adaptive adaptive;
static holdoff_bulkhead bulkhead;
static holdoff_stretch stretch;
static holdoff_guards guards;
static holdoff_shared shared;
static holdoff_policy policy;

static uint64_t attempts, failed, calls, retries;
static int inside;
static pthread_barrier_t start;

typedef struct worker {
  pthread_t thread;
  uint32_t turn;
  uint64_t sleeps;
} worker;

static bool operate(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  worker *self = (worker *)context;
  bool fails = self->turn++ % 5 == 0;
  (void)attempt, (void)failure;
  CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) <= PLACES);
  __atomic_fetch_add(&attempts, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&failed, fails, __ATOMIC_RELAXED);
  if (self->turn % 64 == 0) {
    holdoff_sleep_until(holdoff_now() + 200000, NULL);
  }
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  return !fails;
}

static void see(void *context, const holdoff_retrying *retrying) {
  (void)retrying;
  ((worker *)context)->sleeps++;
}

static void *work(void *argument) {
  worker *self = (worker *)argument;
  int count;
  holdoff_host host;
  memset(&host, 0, sizeof host);
  host.on_retry = see;
  host.guards = &guards;
  host.shared = &shared;
  pthread_barrier_wait(&start);
  for (count = 0; count < CALLS; count++) {
    holdoff_result result;
    bool good = holdoff_run(&policy, &host, operate, self, &result);
    CHECK(good && result.attempts >= 1);
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&retries, result.attempts - 1, __ATOMIC_RELAXED);
  }
  return NULL;
}

static void *wait_for_a_place(void *argument) {
  holdoff_host host;
  holdoff_result result;
  worker self;
  memset(&self, 0, sizeof self);
  memset(&host, 0, sizeof host);
  host.guards = &guards;
  host.shared = &shared;
  host.cancel = (const holdoff_cancel *)argument;
  CHECK(!holdoff_run(&policy, &host, operate, &self, &result));
  CHECK(result.outcome == HOLDOFF_CANCELLED && result.attempts == 0);
  return NULL;
}

/* Whoever is cancelled in the queue leaves it at once. */
static void cancelled_in_the_queue(void) {
  holdoff_cancel cancel;
  pthread_t waiting[THREADS];
  uint32_t queued = 0, at;
  CHECK(holdoff_cancel_init(&cancel) == 0);
  for (at = 0; at < PLACES; at++) {
    lock(&mutex);
    CHECK(holdoff_bulkhead_enter(&bulkhead, NULL) == HOLDOFF_ENTERED);
    unlock(&mutex);
  }
  for (at = 0; at < THREADS; at++) {
    CHECK(pthread_create(&waiting[at], NULL, wait_for_a_place, &cancel) == 0);
  }
  while (queued < THREADS) {
    lock(&mutex);
    queued = holdoff_bulkhead_waiting(&bulkhead);
    unlock(&mutex);
  }
  holdoff_cancel_fire(&cancel);
  for (at = 0; at < THREADS; at++) {
    pthread_join(waiting[at], NULL);
  }
  for (at = 0; at < PLACES; at++) {
    lock(&mutex);
    holdoff_bulkhead_leave(&bulkhead);
    unlock(&mutex);
  }
  CHECK(holdoff_bulkhead_waiting(&bulkhead) == 0 && shared.waiters == NULL);
  holdoff_cancel_close(&cancel);
}

static void describe(holdoff_options *options) {
  static const struct {
    const char *name, *value;
  } TEXTS[] = {
      {"backoff", "constant"},          {"backoff.delay", "1us"},   {"jitter", "none"},
      {"attempts", "forever"},          {"budget", "window"},       {"budget.window", "24h"},
      {"breaker", "time"},              {"breaker.window", "24h"},  {"limiter", "bucket"},
      {"bulkhead.max_wait", "none"},    {"adaptive", "aimd"},       {"adaptive.refusal", "wait"},
      {"limiter.refusal", "wait"},
  };
  static const struct {
    const char *name;
    double value;
  } NUMBERS[] = {
      {"budget.limit", 1000000},   {"breaker.min_calls", 4294967295.0}, {"limiter.limit", 100000000},
      {"limiter.burst", 1000000},  {"bulkhead.limit", PLACES},          {"bulkhead.queue", 64},
      {"adaptive.initial_rate", 1000000}, {"adaptive.max_rate", 1000000000}, {"stretch.factor", 2},
  };
  size_t at;
  holdoff_options_init(options);
  for (at = 0; at < sizeof TEXTS / sizeof *TEXTS; at++) {
    CHECK(holdoff_options_set_text(options, TEXTS[at].name, TEXTS[at].value) == 0);
  }
  for (at = 0; at < sizeof NUMBERS / sizeof *NUMBERS; at++) {
    CHECK(holdoff_options_set_number(options, NUMBERS[at].name, NUMBERS[at].value) == 0);
  }
}

static bool fail_often(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  (void)attempt, (void)failure;
  return ++*(uint32_t *)context % 8 != 0;
}

static holdoff_guards tried;

static void *work_behind_probes(void *nothing) {
  holdoff_host host;
  uint32_t turn = 0;
  int count;
  memset(&host, 0, sizeof host);
  host.guards = &tried;
  host.shared = &shared;
  for (count = 0; count < CALLS / 10; count++) {
    CHECK(holdoff_run(&policy, &host, fail_often, &turn, NULL));
  }
  return nothing;
}

/* Threads queue behind the probes of a breaker that opens again and again; none of them stays there. */
static void behind_probes(void) {
  static holdoff_breaker opens;
  pthread_t threads[THREADS];
  holdoff_options options;
  int at;
  holdoff_options_init(&options);
  CHECK(holdoff_options_set_number(&options, "breaker.failures", 1) == 0);
  CHECK(holdoff_options_set_text(&options, "breaker.open_for", "200us") == 0);
  CHECK(holdoff_options_set_text(&options, "breaker.refusal", "wait") == 0);
  CHECK(holdoff_breaker_init(&opens, &options, 1, holdoff_now(), NULL) == 0);
  tried.breaker = &opens;
  for (at = 0; at < THREADS; at++) {
    CHECK(pthread_create(&threads[at], NULL, work_behind_probes, NULL) == 0);
  }
  for (at = 0; at < THREADS; at++) {
    pthread_join(threads[at], NULL);
  }
  CHECK(holdoff_breaker_openings(&opens) > 0 && shared.waiters == NULL);
}

/* Calls one budget without a lock: a race that ThreadSanitizer has to find inside the library. */
static void *race(void *argument) {
  int count;
  (void)argument;
  for (count = 0; count < CALLS; count++) {
    holdoff_budget_fail(&budget, 1, HOLDOFF_TRANSIENT);
  }
  return NULL;
}

static int without_a_lock(void) {
  pthread_t threads[2];
  int at;
  CHECK(holdoff_budget_init_throttle(&budget, 10, 0.1, 1) == 0);
  for (at = 0; at < 2; at++) {
    CHECK(pthread_create(&threads[at], NULL, race, NULL) == 0);
  }
  for (at = 0; at < 2; at++) {
    pthread_join(threads[at], NULL);
  }
  return failures;
}

int main(int argc, char **argv) {
  worker workers[THREADS];
  holdoff_options options;
  holdoff_problem problem;
  uint32_t seen = 0, bad = 0;
  uint64_t sleeps = 0;
  char line[300];
  int at;
  (void)argv;
  if (argc > 1) {
    return without_a_lock();
  }
  describe(&options);
  guards.budget = &budget;
  guards.breaker = &breaker;
  guards.limiter = &limiter;
  guards.adaptive = &adaptive;
  guards.bulkhead = &bulkhead;
  guards.stretch = &stretch;
  if (holdoff_policy_build(&policy, &options, &problem) != 0 ||
      holdoff_guards_init(&guards, &options, 1, holdoff_now(), NULL, 0, &problem) != 0) {
    holdoff_problem_text(&problem, line, sizeof line);
    printf("%s\n", line);
    return 1;
  }
  shared.lock = lock;
  shared.unlock = unlock;
  shared.state = &mutex;
  memset(workers, 0, sizeof workers);
  pthread_barrier_init(&start, NULL, THREADS);
  for (at = 0; at < THREADS; at++) {
    workers[at].turn = (uint32_t)at;
    CHECK(pthread_create(&workers[at].thread, NULL, work, &workers[at]) == 0);
  }
  for (at = 0; at < THREADS; at++) {
    pthread_join(workers[at].thread, NULL);
    sleeps += workers[at].sleeps;
  }
  holdoff_breaker_rates(&breaker, holdoff_now(), &seen, &bad, NULL);
  CHECK(calls == (uint64_t)THREADS * CALLS);
  CHECK(attempts == calls + retries && failed == retries);
  CHECK(seen == attempts && bad == failed);
  CHECK(holdoff_budget_balance(&budget, holdoff_now()) == 1000000 - (double)retries);
  CHECK(holdoff_bulkhead_running(&bulkhead) == 0 && holdoff_bulkhead_waiting(&bulkhead) == 0);
  CHECK(shared.waiters == NULL);
  /* Some had to wait for a place. */
  CHECK(sleeps > retries);
  cancelled_in_the_queue();
  behind_probes();
  printf("  %d threads, %llu calls, %llu attempts, %llu sleeps, %llu transitions, %d failures\n", (int)THREADS,
         (unsigned long long)calls, (unsigned long long)attempts, (unsigned long long)sleeps, (unsigned long long)locks,
         failures);
  return failures != 0;
}
