/*
 * The cost of a decision and of a loop in C, beside the same machines inlined in Rust and beside floors written by hand.
 *
 *   bench [--quick] [--only TEXT]   prints a list of {work, who, ns, median}: nanoseconds a run of the work
 *
 * In each round everybody who does a work takes one sample of it, each round another one first, so that what disturbs the
 * machine disturbs all alike.
 */
#include "works.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
  const char *work;
  const char *who;
  void (*run)(uint32_t times, uint32_t failures);
  uint32_t failures;
} entry;

#define LOOP(work, failures)                                                                                           \
  {work, "bare", bare_loop, failures}, {work, "floor", inlined_retry, failures},                                       \
      {work, "floor, call", inlined_call, failures}, {work, "by hand", hand_loop, failures},                           \
      {work, "c abi", shared_run, failures}, {work, "c abi static", linked_run, failures},                             \
      {work, "c abi, retry", shared_retry, failures}, {work, "c abi static, retry", linked_retry, failures},           \
      {work, "c abi, call", shared_call, failures}, {work, "c abi static, call", linked_call, failures}

static const entry entries[] = {
    {"8 delays", "floor", inlined_eight, 0},
    {"8 delays", "floor, stored", inlined_stored_eight, 0},
    {"8 delays", "by hand", hand_eight, 0},
    {"8 delays", "a call", asked_eight, 0},
    {"8 delays", "c abi", shared_eight, 0},
    {"8 delays", "c abi static", linked_eight, 0},
    {"8 delays", "backoffAlgorithm", freertos_eight, 0},
    {"1 delay, capped", "floor", inlined_capped, 0},
    {"1 delay, capped", "by hand", hand_capped, 0},
    {"1 delay, capped", "c abi", shared_capped, 0},
    {"1 delay, capped", "c abi static", linked_capped, 0},
    {"1 delay, capped", "backoffAlgorithm", freertos_capped, 0},
    LOOP("loop, 0 failures", 0),
    LOOP("loop, 1 failures", 1),
    LOOP("loop, 3 failures", 3),
};

enum { ENTRIES = sizeof entries / sizeof *entries, TIMES = 1024, ROUNDS = 2000, QUICK = 400 };

static double samples[ENTRIES][ROUNDS];

static double sample(const entry *one) {
  uint64_t begun = holdoff_now();
  one->run(TIMES, one->failures);
  return (double)(holdoff_now() - begun) / TIMES;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The works from `first` on that do the same. */
static int of_one_work(int first) {
  int end = first;
  while (end < ENTRIES && strcmp(entries[end].work, entries[first].work) == 0) {
    end++;
  }
  return end - first;
}

static void measure(int rounds, const char *only) {
  const char *between = "";
  int first, count;
  printf("[");
  for (first = 0; first < ENTRIES; first += count) {
    int round, at;
    count = of_one_work(first);
    if (only != NULL && strstr(entries[first].work, only) == NULL) {
      continue;
    }
    fprintf(stderr, "  %s\n", entries[first].work);
    for (round = 0; round < rounds; round++) {
      for (at = 0; at < count; at++) {
        int turn = first + (at + round) % count;
        samples[turn][round] = sample(&entries[turn]);
      }
    }
    for (at = first; at < first + count; at++) {
      qsort(samples[at], (size_t)rounds, sizeof *samples[at], by_size);
      printf("%s\n{\"work\": \"%s\", \"who\": \"%s\", \"ns\": %.3f, \"median\": %.3f}", between, entries[at].work,
             entries[at].who, samples[at][0], samples[at][rounds / 2]);
      between = ",";
    }
  }
  printf("\n]\n");
}

int main(int argc, char **argv) {
  int rounds = ROUNDS, at;
  const char *only = NULL;
  shared_prepare();
  linked_prepare();
  for (at = 1; at < argc; at++) {
    if (strcmp(argv[at], "--quick") == 0) {
      rounds = QUICK;
    } else if (strcmp(argv[at], "--only") == 0 && at + 1 < argc) {
      only = argv[++at];
    } else {
      fprintf(stderr, "bench [--quick] [--only TEXT]\n");
      return 2;
    }
  }
  measure(rounds, only);
  return 0;
}
