/* The measured works: each is a function of how often it runs, so that the loop around it is the work's own. */
#ifndef WORKS_H
#define WORKS_H

#include "holdoff_loop.h"
#include "holdoff/all.h"

/* The compiler has to make the value, and knows nothing of the memory afterwards. */
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

/* 100 ms, doubling up to 10 s. */
#define INITIAL_NS UINT64_C(100000000)
#define MAX_NS UINT64_C(10000000000)

/* The operation that is retried: counts down the failures in its context. Out of line, as an operation worth retrying is. */
bool operation(void *context, const holdoff_attempt *attempt, holdoff_failure *failure);

/* By the library: the same file, once with the shared library and once with the static one. */
#define BY_LIBRARY(who)                                                                                                \
  void who##_prepare(void);                                                                                            \
  void who##_eight(uint32_t times, uint32_t failures);                                                                 \
  void who##_capped(uint32_t times, uint32_t failures);                                                                \
  void who##_run(uint32_t times, uint32_t failures);                                                                   \
  void who##_retry(uint32_t times, uint32_t failures);                                                                 \
  void who##_call(uint32_t times, uint32_t failures)
BY_LIBRARY(shared);
BY_LIBRARY(linked);

/* The same machines in Rust, without a foreign function interface: benches/counts/src/inlined.rs. */
void inlined_eight(uint32_t times, uint32_t failures);
void inlined_stored_eight(uint32_t times, uint32_t failures);
void inlined_capped(uint32_t times, uint32_t failures);
void inlined_retry(uint32_t times, uint32_t failures);
void inlined_call(uint32_t times, uint32_t failures);

/* By nobody: what it costs to ask and to be answered. */
void asked_eight(uint32_t times, uint32_t failures);

/* By hand. */
void hand_eight(uint32_t times, uint32_t failures);
void hand_capped(uint32_t times, uint32_t failures);
void hand_loop(uint32_t times, uint32_t failures);
void bare_loop(uint32_t times, uint32_t failures);

/* By the algorithm of FreeRTOS. */
void freertos_eight(uint32_t times, uint32_t failures);
void freertos_capped(uint32_t times, uint32_t failures);

#endif
