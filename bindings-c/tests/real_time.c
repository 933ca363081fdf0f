/* The tests that prove the real clock: that a sleep and a wait last, and that cancelling cuts them short. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static bool always_fails(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  (void)failure;
  *(uint32_t *)context = attempt->number;
  return false;
}

static void a_sleep_lasts_at_least_its_time(void) {
  holdoff_policy policy = constant("2ms", 2);
  uint32_t attempts = 0;
  uint64_t begun = holdoff_now();
  CHECK(!holdoff_run(&policy, NULL, always_fails, &attempts, NULL));
  CHECK(holdoff_now() - begun >= 2 * MS);
  CHECK_NUMBER(attempts, 2);
}

static void a_wait_for_a_place_ends_in_time(void) {
  holdoff_policy policy = constant("1ms", 3);
  holdoff_options options;
  holdoff_bulkhead bulkhead;
  holdoff_guards guards = {0};
  holdoff_shared shared = {NULL, NULL, NULL, NULL};
  holdoff_host host;
  holdoff_result result;
  uint32_t attempts = 0;
  uint64_t begun = holdoff_now();
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "bulkhead", 1);
  holdoff_options_set_number(&options, "bulkhead.queue", 1);
  holdoff_options_set_text(&options, "bulkhead.max_wait", "2ms");
  CHECK_NUMBER(holdoff_bulkhead_init(&bulkhead, &options, NULL, 0, NULL), HOLDOFF_OK);
  holdoff_bulkhead_enter(&bulkhead, NULL);
  guards.bulkhead = &bulkhead;
  memset(&host, 0, sizeof host);
  host.guards = &guards;
  host.shared = &shared;
  CHECK(!holdoff_run(&policy, &host, always_fails, &attempts, &result));
  CHECK(holdoff_now() - begun >= 2 * MS);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_BULKHEAD);
  CHECK_NUMBER(attempts, 0);
  CHECK_NUMBER(holdoff_bulkhead_waiting(&bulkhead), 0);
  CHECK(shared.waiters == NULL);
}

enum { BEHIND = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void *nothing) {
  (void)nothing;
  pthread_mutex_lock(&mutex);
}

static void unlock(void *nothing) {
  (void)nothing;
  pthread_mutex_unlock(&mutex);
}

/* A breaker whose open time of ten seconds is over, with a probe out; returns its permit. */
static uint32_t a_probe(holdoff_breaker *breaker) {
  holdoff_options options;
  uint32_t permit = 0;
  uint64_t now = holdoff_now();
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "breaker.failures", 1);
  holdoff_options_set_text(&options, "breaker.open_for", "10s");
  holdoff_options_set_text(&options, "breaker.refusal", "wait");
  CHECK_NUMBER(holdoff_breaker_init(breaker, &options, 1, now - 10 * SECOND, NULL), HOLDOFF_OK);
  CHECK(holdoff_breaker_acquire_closed(breaker, &permit));
  holdoff_breaker_record(breaker, permit, now - 10 * SECOND, true, 0);
  CHECK(holdoff_breaker_acquire(breaker, now, &permit, NULL));
  return permit;
}

static bool succeeds(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  (void)context, (void)attempt, (void)failure;
  return true;
}

/* A call behind the probe, and how it ended. */
typedef struct behind {
  pthread_t thread;
  holdoff_host host;
  holdoff_result result;
} behind;

static void *call_behind(void *self) {
  behind *call = (behind *)self;
  holdoff_policy policy = constant("1ms", 3);
  holdoff_run(&policy, &call->host, succeeds, NULL, &call->result);
  return NULL;
}

static uint32_t waiting_in(holdoff_shared *shared) {
  const holdoff_waiter *waiter;
  uint32_t count = 0;
  holdoff_shared_lock(shared);
  for (waiter = shared->waiters; waiter != NULL; waiter = waiter->next) {
    count++;
  }
  holdoff_shared_unlock(shared);
  return count;
}

/* Threads behind a probe, the first of which is cancelled; after a failure of the probe the breaker is closed by hand. */
static void check_that_threads_go_on_after(bool failed) {
  holdoff_breaker breaker;
  holdoff_guards guards = {0};
  holdoff_shared shared = {lock, unlock, NULL, NULL};
  holdoff_cancel enough;
  behind calls[BEHIND];
  uint64_t begun = holdoff_now();
  uint32_t at, permit = a_probe(&breaker);
  guards.breaker = &breaker;
  CHECK_NUMBER(holdoff_cancel_init(&enough), 0);
  memset(calls, 0, sizeof calls);
  for (at = 0; at < BEHIND; at++) {
    calls[at].host.guards = &guards;
    calls[at].host.shared = &shared;
    calls[at].host.cancel = at == 0 ? &enough : NULL;
    CHECK_NUMBER(pthread_create(&calls[at].thread, NULL, call_behind, &calls[at]), 0);
  }
  while (waiting_in(&shared) < BEHIND) {
    holdoff_sleep_until(holdoff_now() + MS, NULL);
  }
  holdoff_cancel_fire(&enough);
  pthread_join(calls[0].thread, NULL);
  CHECK_NUMBER(calls[0].result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(waiting_in(&shared), BEHIND - 1);
  holdoff_shared_lock(&shared);
  holdoff_breaker_record(&breaker, permit, holdoff_now(), failed, MS);
  holdoff_shared_wake(&shared, &guards);
  holdoff_shared_unlock(&shared);
  if (failed) {
    holdoff_sleep_until(holdoff_now() + 5 * MS, NULL);
    CHECK_NUMBER(waiting_in(&shared), BEHIND - 1);
    holdoff_shared_lock(&shared);
    holdoff_breaker_force_close(&breaker, holdoff_now());
    holdoff_shared_wake(&shared, &guards);
    holdoff_shared_unlock(&shared);
  }
  for (at = 1; at < BEHIND; at++) {
    pthread_join(calls[at].thread, NULL);
    CHECK_NUMBER(calls[at].result.outcome, HOLDOFF_SUCCEEDED);
  }
  CHECK(holdoff_now() - begun < 5 * SECOND);
  CHECK(shared.waiters == NULL);
  holdoff_cancel_close(&enough);
}

static void threads_behind_a_probe_go_on_when_it_succeeds(void) {
  check_that_threads_go_on_after(false);
}

static void threads_behind_a_probe_that_fails_wait_on(void) {
  check_that_threads_go_on_after(true);
}

static void a_wait_behind_a_probe_ends_at_the_deadline(void) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_breaker breaker;
  holdoff_guards guards = {0};
  holdoff_shared shared = {NULL, NULL, NULL, NULL};
  holdoff_host host;
  holdoff_result result;
  uint64_t begun = holdoff_now();
  a_probe(&breaker);
  guards.breaker = &breaker;
  memset(&host, 0, sizeof host);
  host.guards = &guards;
  host.shared = &shared;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "deadline", "2ms");
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  CHECK(!holdoff_run(&policy, &host, succeeds, NULL, &result));
  CHECK(holdoff_now() - begun >= 2 * MS);
  CHECK_NUMBER(result.reason, HOLDOFF_REASON_DEADLINE);
  CHECK(shared.waiters == NULL);
}

static holdoff_cancel cancel;
static pthread_t thread;

static void *fire(void *nothing) {
  holdoff_cancel_fire(&cancel);
  return nothing;
}

static void start_thread(void *context, const holdoff_retrying *retrying) {
  (void)context, (void)retrying;
  CHECK_NUMBER(pthread_create(&thread, NULL, fire, NULL), 0);
}

static void alarmed(int signal) {
  (void)signal;
  holdoff_cancel_fire(&cancel);
}

static void start_alarm(void *context, const holdoff_retrying *retrying) {
  struct sigaction action;
  struct itimerval soon;
  (void)context, (void)retrying;
  memset(&action, 0, sizeof action);
  action.sa_handler = alarmed;
  sigaction(SIGALRM, &action, NULL);
  memset(&soon, 0, sizeof soon);
  soon.it_value.tv_usec = 10000;
  setitimer(ITIMER_REAL, &soon, NULL);
}

/* Runs under a policy that would sleep for an hour. */
static void check_that_it_is_cancelled_by(void (*start)(void *, const holdoff_retrying *)) {
  holdoff_policy policy = constant("1h", 2);
  holdoff_host host;
  holdoff_result result;
  uint32_t attempts = 0;
  CHECK_NUMBER(holdoff_cancel_init(&cancel), 0);
  memset(&host, 0, sizeof host);
  host.cancel = &cancel;
  host.on_retry = start;
  CHECK(!holdoff_run(&policy, &host, always_fails, &attempts, &result));
  CHECK_NUMBER(result.outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(result.attempts, 1);
  CHECK_NUMBER(attempts, 1);
}

static void another_thread_wakes_a_sleep_at_once(void) {
  check_that_it_is_cancelled_by(start_thread);
  pthread_join(thread, NULL);
  holdoff_cancel_close(&cancel);
}

static void a_signal_wakes_a_sleep_at_once(void) {
  check_that_it_is_cancelled_by(start_alarm);
  holdoff_cancel_close(&cancel);
}

static void the_clock_is_the_same_behind_other_headers(void) {
  uint64_t before = holdoff_now();
  CHECK(now_behind_other_headers() >= before);
}

void real_time_tests(void) {
  RUN(the_clock_is_the_same_behind_other_headers);
  RUN(a_sleep_lasts_at_least_its_time);
  RUN(a_wait_for_a_place_ends_in_time);
  RUN(threads_behind_a_probe_go_on_when_it_succeeds);
  RUN(threads_behind_a_probe_that_fails_wait_on);
  RUN(a_wait_behind_a_probe_ends_at_the_deadline);
  RUN(another_thread_wakes_a_sleep_at_once);
  RUN(a_signal_wakes_a_sleep_at_once);
}
