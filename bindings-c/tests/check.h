/* A test is a function whose name is the sentence it proves. */
#ifndef CHECK_H
#define CHECK_H

#include "holdoff_loop.h"
#include "holdoff/all.h"
#include "holdoff_testing.h"

#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *running;
extern int failures, tests;

void policy_tests(void);
void call_tests(void);
void misuse_tests(void);
void pieces_tests(void);
void document_tests(void);
void headers_tests(void);
void rules_tests(void);
void saved_tests(void);
void explain_tests(void);
void machines_tests(void);
void keyed_tests(void);
void linear_tests(void);
void loop_tests(void);
void guards_tests(void);
void guarded_tests(void);
void log_tests(void);
void wheel_tests(void);
void real_time_tests(void);
/* behind.c */
uint64_t now_behind_other_headers(void);

#ifdef __cplusplus
}
#endif

#define RUN(test) (running = #test, tests++, test())

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      failures++;                                                                                            \
      printf("%s (%s:%d): %s\n", running, __FILE__, __LINE__, #condition);                                   \
    }                                                                                                        \
  } while (0)

#define CHECK_NUMBER(got, wanted)                                                                            \
  do {                                                                                                       \
    unsigned long long got_ = (got), wanted_ = (wanted);                                                     \
    if (got_ != wanted_) {                                                                                   \
      failures++;                                                                                            \
      printf("%s (%s:%d): %s is %llu, not %llu\n", running, __FILE__, __LINE__, #got, got_, wanted_);        \
    }                                                                                                        \
  } while (0)

#define CHECK_TEXT(got, wanted)                                                                              \
  do {                                                                                                       \
    if (strcmp((got), (wanted)) != 0) {                                                                      \
      failures++;                                                                                            \
      printf("%s (%s:%d): %s is \"%s\", not \"%s\"\n", running, __FILE__, __LINE__, #got, (got), (wanted));  \
    }                                                                                                        \
  } while (0)

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* A policy of a constant delay without jitter. */
static inline holdoff_policy constant(const char *delay, double attempts) {
  holdoff_policy policy;
  holdoff_options options;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff", "constant");
  holdoff_options_set_text(&options, "backoff.delay", delay);
  holdoff_options_set_text(&options, "jitter", "none");
  holdoff_options_set_number(&options, "attempts", attempts);
  CHECK_NUMBER(holdoff_policy_build(&policy, &options, NULL), HOLDOFF_OK);
  return policy;
}

static inline bool is_invalid(holdoff_step step, unsigned error) {
  return step.kind == HOLDOFF_STOP && step.outcome == HOLDOFF_INVALID && step.reason == error;
}

#endif
