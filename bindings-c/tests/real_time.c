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
  holdoff_guards guards = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
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

void real_time_tests(void) {
  RUN(a_sleep_lasts_at_least_its_time);
  RUN(a_wait_for_a_place_ends_in_time);
  RUN(another_thread_wakes_a_sleep_at_once);
  RUN(a_signal_wakes_a_sleep_at_once);
}
