/* How much stack the configuration takes beside the memory that the caller gives it: a thread's stack is painted, and what is no
 * longer paint afterwards was in use. */
#define _DEFAULT_SOURCE

#include "holdoff.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 256 * 1024, MOST = 2304, PAINT = 0xA5 };

static unsigned char *stack;
static holdoff_policy policy;
static holdoff_options options;
static holdoff_problem problem;

static void must(int code) {
  if (code != HOLDOFF_OK) {
    abort();
  }
}

static void *nothing(void *context) {
  return context;
}

static void *preset(void *context) {
  must(holdoff_policy_preset(&policy, "aws-standard-2.1"));
  return context;
}

static void *builder(void *context) {
  holdoff_options_init(&options);
  must(holdoff_options_set_number(&options, "attempts", 5));
  must(holdoff_options_set_text(&options, "deadline", "30s"));
  must(holdoff_options_set_text(&options, "backoff[0].initial", "100ms"));
  must(holdoff_options_set_number(&options, "rules[0].attempts", 2));
  must(holdoff_options_set_number(&options, "rules[0].if.http[0]", 429));
  must(holdoff_policy_build(&policy, &options, &problem));
  return context;
}

/* The bytes of a thread's stack that a function used. */
static size_t used(void *(*work)(void *)) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t untouched = 0;
  memset(stack, PAINT, SIZE);
  must(pthread_attr_init(&attributes));
  must(pthread_attr_setstack(&attributes, stack, SIZE));
  must(pthread_create(&thread, &attributes, work, NULL));
  must(pthread_join(thread, NULL));
  must(pthread_attr_destroy(&attributes));
  while (untouched < SIZE && stack[untouched] == PAINT) {
    untouched++;
  }
  return SIZE - untouched;
}

static int holds(const char *name, size_t bytes) {
  printf("%s: %zu bytes of stack\n", name, bytes);
  return bytes <= MOST;
}

int main(void) {
  void *memory = NULL;
  size_t empty;
  int good;
  must(posix_memalign(&memory, 4096, SIZE));
  stack = memory;
  (void)used(builder); /* what a first use of libc costs is not the library's */
  empty = used(nothing);
  good = holds("a preset", used(preset) - empty);
  good &= holds("a builder", used(builder) - empty);
  free(memory);
  return good ? 0 : 1;
}
