/*
 * Clock, sleep, cancellation and seeds of POSIX, for the loop of holdoff_loop.h and for loops of other programs.
 *
 * Everything here is inline, so that the library itself stays free of clocks and system calls. C99 and C++17. Times are
 * nanoseconds of the monotonic clock. Pointers are not NULL where nothing else is said.
 */
#ifndef HOLDOFF_POSIX_H
#define HOLDOFF_POSIX_H

#if !defined(_POSIX_C_SOURCE) && defined(__STRICT_ANSI__)
#define _POSIX_C_SOURCE 200809L
#endif

#include "holdoff.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(CLOCK_MONOTONIC)
/* A header before this one, such as curl.h, has hidden POSIX under -std=c99. These are glibc's own types and numbers. */
#include <bits/types/clockid_t.h>
#include <bits/types/struct_timespec.h>
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
extern int clock_gettime(clockid_t clock, struct timespec *now);
#endif
#ifndef CLOCK_MONOTONIC
#error "holdoff_posix.h needs POSIX: include it before other headers, or define _POSIX_C_SOURCE 200809L"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A way to cancel any number of running calls, from other threads and from signal handlers. Threads share one by pointer;
 * it stays where it is until holdoff_cancel_close. A child process needs one of its own. Zeroed, or after a failed
 * holdoff_cancel_init, it cancels as well but wakes no sleep. The content is for the functions below.
 */
typedef struct holdoff_cancel {
  int cancelled;
  /* The ends of a pipe; equal for none. */
  int wake[2];
} holdoff_cancel;

/* Makes a pipe that wakes from poll(2). Returns 0, or an errno, and then there is no pipe. */
static inline int holdoff_pipe(int wake[2]) {
  int ends[2], end;
  if (pipe(ends) != 0) {
    return errno;
  }
  for (end = 0; end < 2; end++) {
    if (fcntl(ends[end], F_SETFD, FD_CLOEXEC) == -1 || fcntl(ends[end], F_SETFL, O_NONBLOCK) == -1) {
      int error = errno;
      close(ends[0]);
      close(ends[1]);
      return error;
    }
  }
  memcpy(wake, ends, sizeof ends);
  return 0;
}

/* Wakes a thread that polls the other end of a pipe. */
static inline void holdoff_wake(int end) {
  while (write(end, "", 1) == -1 && errno == EINTR) {
  }
}

/** Makes a way to cancel. Returns 0, or the errno of pipe(2) or fcntl(2), and then there is nothing to close. */
static inline int holdoff_cancel_init(holdoff_cancel *cancel) {
  memset(cancel, 0, sizeof *cancel);
  return holdoff_pipe(cancel->wake);
}

/** A descriptor that becomes readable when it is fired, to poll together with a socket; not to be read from. -1, which
 * poll ignores, when it has none. */
static inline int holdoff_cancel_fd(const holdoff_cancel *cancel) {
  return cancel->wake[0] != cancel->wake[1] ? cancel->wake[0] : -1;
}

/** Cancels all calls that use it, at once and for good. Safe in a signal handler and from any thread; errno is kept. */
static inline void holdoff_cancel_fire(holdoff_cancel *cancel) {
  if (!__atomic_exchange_n(&cancel->cancelled, 1, __ATOMIC_SEQ_CST) && holdoff_cancel_fd(cancel) != -1) {
    int error = errno;
    /* Never read, so that one byte wakes every sleeper, now and later. */
    holdoff_wake(cancel->wake[1]);
    errno = error;
  }
}

/** Tells whether it was fired; false for NULL. A load, not a system call: an operation can ask often. */
static inline bool holdoff_cancelled(const holdoff_cancel *cancel) {
  return cancel != NULL && __atomic_load_n(&cancel->cancelled, __ATOMIC_SEQ_CST) != 0;
}

/** Frees its descriptors, when no call uses it any more; twice is as good as once. */
static inline void holdoff_cancel_close(holdoff_cancel *cancel) {
  if (holdoff_cancel_fd(cancel) != -1) {
    close(cancel->wake[0]);
    close(cancel->wake[1]);
    cancel->wake[1] = cancel->wake[0];
  }
}

/* The time of a clock, in nanoseconds. */
static inline uint64_t holdoff_time(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Returns the time of the monotonic clock, in nanoseconds. */
static inline uint64_t holdoff_now(void) {
  return holdoff_time(CLOCK_MONOTONIC);
}

/** Returns the time of the clock on the wall, in nanoseconds since 1970: what holdoff_headers_begin wants. */
static inline uint64_t holdoff_wall(void) {
  return holdoff_time(CLOCK_REALTIME);
}

/* The milliseconds from now until a time, rounded up and an hour at most: what poll takes on every system. */
static inline int holdoff_ms_until(uint64_t until, uint64_t now) {
  uint64_t left = now < until ? (until - now - 1) / 1000000u + 1 : 0;
  return left < 3600000u ? (int)left : 3600000;
}

/** Sleeps until a time of the monotonic clock or until cancelled; `cancel` may be NULL. Never wakes early otherwise. */
static inline void holdoff_sleep_until(uint64_t until, const holdoff_cancel *cancel) {
  struct pollfd wake;
  wake.fd = cancel != NULL ? holdoff_cancel_fd(cancel) : -1;
  wake.events = POLLIN;
  while (!holdoff_cancelled(cancel)) {
    int left = holdoff_ms_until(until, holdoff_now());
    if (left == 0) {
      return;
    }
    wake.revents = 0;
    poll(&wake, 1, left);
  }
}

/** Returns a seed from the operating system. While a machine boots, Linux may have no random numbers yet: then, and where there are
 * none at all, the seed is of clock, process and stack, so that a program never waits here. */
static inline uint64_t holdoff_os_seed(void) {
  uint64_t seed;
#ifdef __linux__
  bool drawn = getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed;
#else
  bool drawn = getentropy(&seed, sizeof seed) == 0;
#endif
  if (drawn) {
    return seed;
  }
  return holdoff_seed_at(holdoff_now() ^ (uint64_t)(size_t)&seed, (uint64_t)getpid());
}

#ifdef __cplusplus
}
#endif

#endif
