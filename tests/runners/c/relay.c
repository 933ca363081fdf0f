/*
 * A call that goes from language to language: each reads its log, makes one attempt, and leaves it asleep.
 * tests/vectors/README.md says what a leg is.
 */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 7, LOG = 32768, TEXT = 100 };

static const uint64_t BEGAN = UINT64_C(1700000000000000000), SECOND = UINT64_C(1000000000);

/* A log in its two forms. */
typedef struct files {
  FILE *lines, *bytes;
} files;

static bool write_down(const files *log, const holdoff_events *said, const char *failure) {
  uint64_t at;
  for (at = 0; at < said->count; at++) {
    const holdoff_event *event = &said->events[at];
    char line[600], bytes[HOLDOFF_EVENT_BYTES + TEXT];
    holdoff_event_fields fields;
    size_t length;
    holdoff_event_get(event, &fields);
    holdoff_event_json(event, "relay", failure, line, sizeof line);
    length = holdoff_event_bytes(event, fields.kind == HOLDOFF_EVENT_ATTEMPT_FAILED ? failure : NULL, bytes,
                                 sizeof bytes);
    if (fprintf(log->lines, "%s\n", line) < 0 || fwrite(bytes, 1, length, log->bytes) != length) {
      return false;
    }
  }
  return true;
}

/* The recorder that both forms make. */
static bool read_back(const files *log, const holdoff_policy *policy, holdoff_recorder *call) {
  static char text[LOG], events[LOG];
  holdoff_recorder other;
  holdoff_problem problem = {0};
  char task[TEXT], said[200];
  size_t used = 0, length;
  while (fgets(text, sizeof text, log->lines) != NULL) {
    holdoff_event event;
    if (holdoff_event_from_json(&event, text, strlen(text), task, sizeof task, said, sizeof said, &problem) != 0 ||
        strcmp(task, "relay") != 0) {
      return false;
    }
    used += holdoff_event_bytes(&event, NULL, events + used, sizeof events - used);
  }
  length = fread(text, 1, sizeof text, log->bytes);
  return holdoff_replay(call, policy, events, used, HOLDOFF_REPLAY_VERIFY, NULL, &problem) == 0 &&
         holdoff_replay(&other, policy, text, length, HOLDOFF_REPLAY_VERIFY, NULL, &problem) == 0 &&
         memcmp(&other, call, sizeof other) == 0;
}

static bool go_on(const files *log) {
  holdoff_options options;
  holdoff_policy policy;
  holdoff_recorder call;
  holdoff_events said;
  holdoff_step step;
  holdoff_failure failure = holdoff_failure_of(HOLDOFF_TRANSIENT);
  uint64_t now = BEGAN;
  char text[TEXT];
  long size = fseek(log->lines, 0, SEEK_END) == 0 ? ftell(log->lines) : -1;
  rewind(log->lines);
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "attempts", 20);
  if (size < 0 || holdoff_policy_build(&policy, &options, NULL) != 0) {
    return false;
  }
  if (size == 0) {
    step = holdoff_recorder_begin(&call, &policy, NULL, SEED, BEGAN, &said);
  } else if (read_back(log, &policy, &call)) {
    now = holdoff_recorder_resume(&call, &policy, NULL, BEGAN, 3, &said).at;
    step = holdoff_recorder_tick(&call, &policy, NULL, now, &said);
  } else {
    return false;
  }
  /* Between reading and writing a file. */
  if (fseek(log->lines, 0, SEEK_END) != 0 || fseek(log->bytes, 0, SEEK_END) != 0 || !write_down(log, &said, NULL) ||
      step.kind != HOLDOFF_ATTEMPT) {
    return false;
  }
  if (step.attempt % 3 == 1) {
    failure = holdoff_failure_of(HOLDOFF_THROTTLED);
    failure.hint = HOLDOFF_HINT_AFTER;
    failure.hint_ns = 5 * SECOND / 2;
  } else if (step.attempt % 3 == 2) {
    failure = holdoff_failure_of(HOLDOFF_TIMEOUT);
  }
  sprintf(text, "attempt %" PRIu32 ": \"gr\xc3\xb6\xc3\x9f" "er\" \xe2\x86\x92 \\ \xe6\x9d\xb1\xe4\xba\xac\n",
          step.attempt);
  holdoff_recorder_fail(&call, &policy, NULL, holdoff_step_ticket(step), now + SECOND, failure, &said);
  return write_down(log, &said, text);
}

bool leg(const char *path) {
  size_t stem = (size_t)(strrchr(path, '.') - path);
  char *beside = malloc(stem + sizeof ".bin");
  files log = {fopen(path, "a+"), NULL};
  bool good = false;
  if (beside != NULL) {
    sprintf(beside, "%.*s.bin", (int)stem, path);
    log.bytes = fopen(beside, "ab+");
  }
  if (log.lines != NULL && log.bytes != NULL) {
    rewind(log.bytes);
    good = go_on(&log);
  }
  good = (log.lines == NULL || fclose(log.lines) == 0) && good;
  good = (log.bytes == NULL || fclose(log.bytes) == 0) && good;
  free(beside);
  if (!good) {
    fprintf(stderr, "%s: C cannot go on with this log\n", path);
  }
  return good;
}
