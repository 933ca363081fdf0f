/* What the parts of the runner share. */
#ifndef RUNNER_H
#define RUNNER_H

#include <holdoff/all.h>
#include <holdoff_testing.h>

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What became of a file's cases. */
typedef struct tally {
  unsigned long passed, failed, deviations;
} tally;

/* What became of a case; failed when it was said so. */
typedef enum verdict { FAILED, PASSED, OUT_OF_DOMAIN } verdict;

extern tally counted;
extern const char *case_name;

/* Says that the case failed, unless enough of the file has; the step is left out below 0. Always answers FAILED. */
verdict fail(const char *expected, const char *got, int step);
/* PASSED if the texts are the same. */
verdict compare(const char *expected, const char *got, int step);

/* The same about two values. */
verdict differ(const cJSON *expected, const cJSON *got, int step);

/* json.c */
cJSON *read_json(char *text);
const cJSON *get(const cJSON *object, const char *key);
/* The first item of a list; NULL without a list or without one. */
const cJSON *first(const cJSON *list);
/* A recording's first input and what was recorded for it; false when it was said that there are not as many of both. */
bool steps_of(const cJSON *item, const cJSON **input, const cJSON **expected);
const char *word(const cJSON *object, const char *key);
bool truth(const cJSON *object, const char *key);
/* A whole number: a JSON number or decimal text; the word "never" is HOLDOFF_NEVER. */
uint64_t number_of(const cJSON *item);
uint64_t number(const cJSON *object, const char *key);
/* The same with a sign. */
int64_t whole_of(const cJSON *item);
int64_t whole(const cJSON *object, const char *key);
/* A double, or the word for one that JSON cannot write. */
double real_of(const cJSON *item);
double real(const cJSON *object, const char *key);
/* A number that compares equal to one that was read. */
cJSON *made(int64_t value);
const char *time_text(uint64_t time, char *buffer);
/* An item as text, its numbers as they were read; to be freed. */
char *json_text(const cJSON *item);
/* Bytes as hexadecimal text, with room for a zero at its end, and back. */
void hex(const char *bytes, size_t count, char *out);
size_t unhex(const char *text, char *out, size_t size);

/* policies.c */
void set_one(holdoff_options *options, const cJSON *item, const char *path);
void set_all(holdoff_options *options, const cJSON *object, const char *prefix);
/* Builds a policy; false when it was said that it is refused. */
bool policy_from(const cJSON *document, holdoff_policy *policy);
bool policy_of(const cJSON *item, holdoff_policy *policy);
uint32_t kind_of(const char *name);
holdoff_failure failure_of(const cJSON *item);
void show_failure(holdoff_failure failure, char *out);
verdict same_problem(const cJSON *error, int code, const holdoff_problem *problem);
verdict run_policy(const cJSON *item);
verdict run_document(const cJSON *item);
verdict run_form(const cJSON *item);
verdict run_explain(const cJSON *item);
verdict run_classify(const cJSON *item);
verdict run_http(const cJSON *item);
verdict run_hint(const cJSON *item);

/* machines.c */
verdict run_call(const cJSON *item);
verdict run_retry(const cJSON *item);
verdict run_schedule(const cJSON *item);
verdict run_backoff(const cJSON *item);
verdict run_duration(const cJSON *item);
verdict run_seed(const cJSON *item);
verdict run_save(const cJSON *item);
verdict run_resume(const cJSON *item);
verdict run_gate(const cJSON *item);
verdict run_layers(const cJSON *item);
verdict run_chaos(const cJSON *item);
verdict run_loop_backoff(const cJSON *item);
/* Whether a step is the one that a vector has. */
verdict same_step(holdoff_step step, const cJSON *expected, int at);

/* guards.c */
verdict run_budget(const cJSON *item);
verdict run_breaker(const cJSON *item);
verdict run_breaker_window(const cJSON *item);
verdict run_limiter(const cJSON *item);
verdict run_bulkhead(const cJSON *item);
verdict run_adaptive(const cJSON *item);
verdict run_stretch(const cJSON *item);
verdict run_latency(const cJSON *item);
verdict run_nested(const cJSON *item);

/* guarded.c */
verdict run_guarded(const cJSON *item);
/* A retry case with `tokens`: its policy has a budget. */
verdict run_paid(const cJSON *item);

/* traces.c */
verdict run_trace(const cJSON *item);

/* logs.c */
verdict run_log(const cJSON *item);
verdict run_replay(const cJSON *item);

/* random_logs.c */
/* Plays random logs under the policies of a file and prints the digest; whether that could be done. */
bool print_digest(const char *policies, uint64_t count, uint64_t seed);

/* relay.c */
/* Goes on with the call whose log is in a file, or begins it; whether that could be done. */
bool leg(const char *path);

/* wheels.c */
verdict run_wheel(const cJSON *item);

/* scripted.c */
/* The time until then, as spans are: from 0 to HOLDOFF_LONGEST_NS. */
uint64_t span_until(uint64_t until, uint64_t now);

/* A function that a case scripts, in virtual time. */
typedef struct scripted {
  /* The next call; NULL when there is none. */
  const cJSON *input;
  /* The context ends at a time, HOLDOFF_NEVER for never, and is looked at in waits. */
  uint64_t now, ends;
  bool is_deadline;
  int calls;
  cJSON *delays;
  /* The result of the last call. */
  const char *last;
  /* Whether the context ended during a wait. */
  bool cancelled;
} scripted;
/* The time at which a case cancels its context; HOLDOFF_NEVER for never. */
uint64_t end_of(const cJSON *config);
/* The error of a context that ended. */
const char *context_error(const scripted *run);
/* Begins at time 0, in the context of a case's configuration. Its delays are to be deleted. */
void scripted_begin(scripted *run, const cJSON *inputs, const cJSON *config);
/* Calls the function; false when it was said that there are not as many calls. */
bool scripted_call(scripted *run);
/* Waits until a time or until the context ends; returns whether the context ended first. */
bool scripted_wait(scripted *run, uint64_t until);
/* Makes the recorded result: with a value, or with NULL, an error, and the error that it wraps (NULL for none). */
cJSON *scripted_result(const scripted *run, const char *value, const char *error, const char *wraps);

/* recorded_k8s.c */
/* The draws that a case scripts. */
const cJSON *uniforms_of(const cJSON *config);
/* The wait backoff of a wait.Backoff; false for one that is refused. */
bool wait_backoff_of(const cJSON *config, holdoff_wait_backoff *wait_backoff);
/* A manager's loop backoff; false for one that is refused. */
bool loop_backoff_of(const cJSON *config, uint64_t start, holdoff_loop_backoff *loop_backoff);
verdict run_k8s_backoff(const cJSON *item);
verdict run_k8s_manager(const cJSON *item);
verdict run_k8s_flowcontrol(const cJSON *item);
verdict run_k8s_workqueue(const cJSON *item);

/* recorded_loops.c */
verdict run_retrynode(const cJSON *item);
void set_signed(holdoff_options *options, const char *path, int64_t ns);
/* The longest delay INT64_MAX is none. */
void set_exponential(holdoff_options *options, const char *stage, int64_t initial, double factor, int64_t max);
/* More than a policy counts is for ever. */
void set_attempts(holdoff_options *options, int64_t attempts);
/*
 * A RetryConfig as a policy. MaxDelay holds from the second delay on, so one below InitialDelay is a chain: the first delay
 * once, and then what it grows to, at most MaxDelay.
 */
int node_policy(const cJSON *config, holdoff_policy *policy, holdoff_problem *problem);
/* Judges an error by a RetryConfig's predicate; false when it was said that the predicate is not known. */
bool judged_by(const cJSON *config, const char *text, holdoff_failure *failure);
/* Writes the error of a RetryNode that gives up for a HOLDOFF_REASON_ number with its last attempt. */
void node_error(char *text, size_t size, const char *node, uint32_t reason, uint32_t attempts, const char *last);

/* recorded_periodic.c */
verdict run_k8s_backoffuntil(const cJSON *item);
verdict run_k8s_poll(const cJSON *item);
verdict run_k8s_exponential_backoff(const cJSON *item);

/* recorded_graph.c */
verdict run_graph(const cJSON *item);

/* recorded_aster.c */
verdict run_aster(const cJSON *item);

/* recorded_aster_log.c */
/*
 * Counts how many tries of each task a log of Aster's says to have been made, into an object that has counters already;
 * false for an event that is refused.
 */
bool count_tries(cJSON *counters, const cJSON *log);
verdict run_aster_restore(const cJSON *item);
verdict run_aster_schedule(const cJSON *item);
verdict run_aster_poll(const cJSON *item);
verdict run_aster_draws(const cJSON *item);

/* recorded_estimate.c */
verdict run_aster_estimate(const cJSON *item);

/* recorded_extras.c */
verdict run_extras(const cJSON *item);

#endif
