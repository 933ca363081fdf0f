/*
 * A retry that outlives its process: what happened is in a file, and another process goes on with it.
 *
 *     cc log.c $(pkg-config --cflags --libs holdoff) && ./a.out
 *
 * Three processes work on one call. The first dies in the middle of an attempt, the second while it writes an event, the
 * third ends it.
 */
#include <holdoff_loop.h>
#include <holdoff/log.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* An attempt that a process died in runs so often again; what a process that dies exits with. */
enum { RERUNS = 3, DIED = 9 };

/* Where a process dies, to show what comes after: in an attempt, or while it writes an event. */
typedef struct worker {
  uint32_t dies_in;
  uint64_t dies_at;
} worker;

/* Writes the events of a transition to the disk. Only then they have happened. */
static bool write_down(int file, const holdoff_events *events, const char *failure, const worker *self) {
  uint64_t at;
  for (at = 0; at < events->count; at++) {
    const holdoff_event *event = &events->events[at];
    char bytes[HOLDOFF_EVENT_BYTES + 64];
    holdoff_event_fields fields;
    size_t length;
    holdoff_event_get(event, &fields);
    length = holdoff_event_bytes(event, fields.kind == HOLDOFF_EVENT_ATTEMPT_FAILED ? failure : NULL, bytes,
                                 sizeof bytes);
    if (length == 0) { /* A text that is no UTF-8, or no room. */
      return false;
    }
    if (fields.sequence == self->dies_at) {
      _exit(write(file, bytes, length / 2) < 0 ? 2 : DIED);
    }
    if (write(file, bytes, length) != (ssize_t)length) {
      return false;
    }
  }
  return events->count == 0 || fsync(file) == 0;
}

/* Reads the log, shows it, and says how long it is; false when it is damaged. */
static bool read_back(int file, char *bytes, size_t size, size_t *whole) {
  ssize_t length = read(file, bytes, size);
  holdoff_problem problem = {0};
  char line[400];
  *whole = 0;
  while (length > 0 && *whole < (size_t)length) {
    holdoff_event event;
    const char *failure;
    size_t used, said;
    if (holdoff_event_from_bytes(&event, bytes + *whole, (size_t)length - *whole, &used, &failure, &said, &problem)) {
      break;
    }
    holdoff_event_json(&event, "charge", NULL, line, sizeof line);
    printf("  %s%s%.*s\n", line, said > 0 ? " " : "", (int)said, failure);
    *whole += used;
  }
  fflush(stdout);
  /* The event that the last process was writing when it died: it had done nothing about it yet. */
  return (problem.code == 0 || problem.code == HOLDOFF_ERROR_EVENT_CUT) && ftruncate(file, (off_t)*whole) == 0;
}

static int explain(const holdoff_problem *problem) {
  char line[400];
  holdoff_problem_text(problem, line, sizeof line);
  fprintf(stderr, "%s\n", line);
  return 2;
}

static void sleep_for(uint64_t ns) {
  struct timespec left;
  left.tv_sec = (time_t)(ns / 1000000000);
  left.tv_nsec = (long)(ns % 1000000000);
  nanosleep(&left, NULL);
}

/* Begins the call, or goes on with it where its log ends, and works on it until it ends. */
static int work(const char *path, const worker *self) {
  static char log[16384];
  char failure[40] = "";
  int file = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  holdoff_recorder call;
  holdoff_events events;
  holdoff_step step;
  size_t length;

  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "backoff.initial", "5ms");
  holdoff_options_set_number(&options, "attempts", 5);
  if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK) {
    return explain(&problem);
  }
  if (!read_back(file, log, sizeof log, &length)) {
    return 2;
  }
  if (length == 0) {
    step = holdoff_recorder_begin(&call, &policy, NULL, holdoff_os_seed(), holdoff_wall(), &events);
  } else if (holdoff_replay(&call, &policy, log, length, HOLDOFF_REPLAY_VERIFY, NULL, &problem) == HOLDOFF_OK) {
    step = holdoff_recorder_resume(&call, &policy, NULL, holdoff_wall(), RERUNS, &events);
  } else {
    return explain(&problem);
  }
  for (;;) {
    if (!write_down(file, &events, failure, self)) {
      return 2;
    }
    if (step.kind == HOLDOFF_STOP) {
      break;
    }
    if (step.kind == HOLDOFF_ATTEMPT) {
      uint64_t ticket = holdoff_step_ticket(step);
      if (step.attempt == self->dies_in) {
        _exit(DIED);
      }
      /* The work itself, which succeeds at the fourth attempt. */
      sprintf(failure, "no answer to attempt %" PRIu32, step.attempt);
      step = step.attempt == 4
                 ? holdoff_recorder_succeed(&call, NULL, ticket, holdoff_wall(), &events)
                 : holdoff_recorder_fail(&call, &policy, NULL, ticket, holdoff_wall(),
                                         holdoff_failure_of(HOLDOFF_TRANSIENT), &events);
    } else {
      uint64_t now;
      sleep_for(holdoff_recorder_remaining(&call, holdoff_wall()));
      /* The sleep is over, even if the clock was set back meanwhile. */
      now = holdoff_wall();
      step = holdoff_recorder_tick(&call, &policy, NULL, now > step.at ? now : step.at, &events);
    }
  }
  printf("%s after %" PRIu32 " attempts\n", holdoff_word(HOLDOFF_WORD_OUTCOME, step.outcome), holdoff_recorder_attempt(&call));
  close(file);
  return step.outcome != HOLDOFF_SUCCEEDED;
}

int main(void) {
  static const worker workers[] = {{2, 0}, {0, 7}, {0, 0}};
  static const int ends[] = {DIED, DIED, 0};
  char path[] = "/tmp/holdoff-log-XXXXXX";
  int created = mkstemp(path), at, status, code = created < 0;
  for (at = 0; at < 3 && code == 0; at++) {
    pid_t process;
    printf("process %d reads\n", at + 1);
    fflush(stdout);
    process = fork();
    if (process == 0) {
      exit(work(path, &workers[at]));
    }
    code = process < 0 || waitpid(process, &status, 0) != process || !WIFEXITED(status) ||
           WEXITSTATUS(status) != ends[at];
  }
  close(created);
  unlink(path);
  return code;
}
