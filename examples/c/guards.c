/*
 * Four threads that call one server which is ill: they share a budget for retries, a circuit breaker and a bulkhead, all of
 * them from one document, so that together they do not make it worse.
 *
 *     cc -pthread guards.c $(pkg-config --cflags --libs holdoff) && ./a.out
 */
#include <holdoff_loop.h>
#include <holdoff/document.h>

#include <pthread.h>
#include <stdio.h>

static const char document[] = "{"
                               "  \"backoff\": {\"initial\": \"1ms\", \"max\": \"5ms\"},"
                               "  \"attempts\": 4,"
                               "  \"budget\": {\"kind\": \"token\", \"capacity\": 50, \"cost\": 5},"
                               "  \"breaker\": {\"failures\": 12, \"open_for\": \"30s\"},"
                               "  \"bulkhead\": {\"limit\": 2, \"queue\": 8, \"max_wait\": \"1s\"}"
                               "}";

/* The guards live here; the pointers say which there are. */
static holdoff_budget budget;
static holdoff_breaker breaker;
static holdoff_bulkhead bulkhead;
static holdoff_guards guards;
static holdoff_policy policy;

/* One mutex for all of them, held for one transition at a time. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(void *state) { pthread_mutex_lock((pthread_mutex_t *)state); }
static void unlock(void *state) { pthread_mutex_unlock((pthread_mutex_t *)state); }
static holdoff_shared shared;

/* The counts of one thread. */
struct worker {
  pthread_t thread;
  unsigned attempts, refused, gave_up;
};

static bool call_server(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  (void)context, (void)attempt;
  return !holdoff_failure_from_http(503, NULL, failure);
}

static void *work(void *argument) {
  struct worker *worker = (struct worker *)argument;
  holdoff_host host = {0};
  int call;
  host.guards = &guards;
  host.shared = &shared;
  for (call = 0; call < 10; call++) {
    holdoff_result result;
    holdoff_run(&policy, &host, call_server, worker, &result);
    worker->attempts += result.attempts;
    worker->gave_up += result.attempts > 0;
    /* Stopped before attempt 1: nobody was called. result.retry_at says when the breaker lets calls through again. */
    worker->refused += result.attempts == 0;
  }
  return NULL;
}

int main(void) {
  struct worker workers[4] = {{0}};
  unsigned attempts = 0, refused = 0, gave_up = 0;
  holdoff_options options;
  holdoff_problem problem;
  int at;

  holdoff_options_init(&options);
  holdoff_options_read_json(&options, document, sizeof document - 1);
  guards.budget = &budget;
  guards.breaker = &breaker;
  guards.bulkhead = &bulkhead;
  if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK ||
      holdoff_guards_init(&guards, &options, holdoff_os_seed(), holdoff_now(), NULL, 0, &problem) != HOLDOFF_OK) {
    char line[256];
    holdoff_problem_text(&problem, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return 2;
  }

  shared.lock = lock;
  shared.unlock = unlock;
  shared.state = &mutex;
  for (at = 0; at < 4; at++) {
    if (pthread_create(&workers[at].thread, NULL, work, &workers[at]) != 0) {
      return 2;
    }
  }
  for (at = 0; at < 4; at++) {
    pthread_join(workers[at].thread, NULL);
    attempts += workers[at].attempts;
    refused += workers[at].refused;
    gave_up += workers[at].gave_up;
  }
  printf("40 calls made %u attempts: %u gave up, %u were refused; the breaker is %s, %.0f tokens are left\n", attempts,
         gave_up, refused, holdoff_word(HOLDOFF_WORD_BREAKER, holdoff_breaker_state(&breaker, holdoff_now())),
         holdoff_budget_balance(&budget, holdoff_now()));
  return attempts >= 160 || refused == 0;
}
