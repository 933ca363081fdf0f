/* Random logs: tests/vectors/README.md says how they are drawn. Crashes are among what happens. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, RERUNS = 2, POLICIES = 64, LOG = 2 * (MOST + 2) * (HOLDOFF_EVENT_BYTES + 24) };

static const uint64_t SECOND = UINT64_C(1000000000);

/* splitmix64. */
static uint64_t next(uint64_t *drawn) {
  uint64_t z = *drawn += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint64_t pick(uint64_t *drawn, uint64_t from) { return next(drawn) % from; }

/* FNV-1a of 64 bits. */
static void take(uint64_t *digest, const char *bytes, size_t length) {
  size_t at;
  for (at = 0; at < length; at++) {
    *digest = (*digest ^ (unsigned char)bytes[at]) * UINT64_C(0x100000001b3);
  }
}

/* A session. */
typedef struct played {
  const holdoff_policy *policy;
  holdoff_recorder call;
  holdoff_events events;
  uint64_t drawn, now;
  size_t length;
  char log[LOG];
} played;

static bool write_down(played *all) {
  uint64_t at;
  for (at = 0; at < all->events.count; at++) {
    holdoff_event_fields fields;
    char text[32] = "";
    size_t written;
    holdoff_event_get(&all->events.events[at], &fields);
    if (fields.kind == HOLDOFF_EVENT_ATTEMPT_FAILED) {
      sprintf(text, "failure %" PRIu32, fields.attempt);
    }
    written =
        holdoff_event_bytes(&all->events.events[at], text, all->log + all->length, sizeof all->log - all->length);
    if (written == 0) {
      return false;
    }
    all->length += written;
  }
  return true;
}

static size_t saved(const played *all, const holdoff_recorder *call, char *bytes) {
  holdoff_saved state;
  return holdoff_recorder_save(call, all->policy, all->now, &state) == 0
             ? holdoff_saved_bytes(&state, bytes, HOLDOFF_SAVED_CALL)
             : 0;
}

/* What another process makes of the log; it must be what this one has. */
static bool read_back(played *all) {
  holdoff_recorder replayed;
  holdoff_problem problem;
  holdoff_step one = holdoff_recorder_step(&all->call), other;
  char line[600], bytes[HOLDOFF_SAVED_CALL], again[HOLDOFF_SAVED_CALL];
  memset(bytes, 0, sizeof bytes);
  memset(again, 1, sizeof again);
  if (holdoff_replay(&replayed, all->policy, all->log, all->length, HOLDOFF_REPLAY_VERIFY, NULL, &problem) != 0) {
    holdoff_problem_text(&problem, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return false;
  }
  other = holdoff_recorder_step(&replayed);
  if (memcmp(&one, &other, sizeof one) != 0 || memcmp(&replayed, &all->call, sizeof replayed) != 0 ||
      holdoff_recorder_sequence(&replayed) != holdoff_recorder_sequence(&all->call) ||
      holdoff_recorder_attempt(&replayed) != holdoff_recorder_attempt(&all->call) ||
      holdoff_recorder_reruns(&replayed) != holdoff_recorder_reruns(&all->call) ||
      saved(all, &all->call, bytes) != saved(all, &replayed, again) || memcmp(bytes, again, sizeof bytes) != 0) {
    fprintf(stderr, "the log makes another recorder\n");
    return false;
  }
  all->call = replayed;
  return true;
}

static holdoff_failure random_failure(uint64_t *drawn) {
  holdoff_failure failure = holdoff_failure_of(HOLDOFF_TRANSIENT + (uint32_t)pick(drawn, 3));
  if (pick(drawn, 4) == 0) {
    failure.hint = HOLDOFF_HINT_AFTER;
    failure.hint_ns = next(drawn) % (5 * SECOND);
  }
  return failure;
}

/* What happens while a step holds; false when a log does not make its recorder. */
static bool happen(played *all, holdoff_step *step) {
  const holdoff_policy *policy = all->policy;
  uint64_t ticket = holdoff_step_ticket(*step), what;
  bool interrupted = false;
  if (step->kind == HOLDOFF_ATTEMPT) {
    all->now += next(&all->drawn) % (3 * SECOND);
    what = pick(&all->drawn, 16);
    if (what <= 3) {
      *step = holdoff_recorder_succeed(&all->call, NULL, ticket, all->now, &all->events);
    } else if (what <= 12) {
      holdoff_failure failure = random_failure(&all->drawn);
      *step = holdoff_recorder_fail(&all->call, policy, NULL, ticket, all->now, failure, &all->events);
    } else if (what == 13) {
      holdoff_failure failure = holdoff_failure_of(HOLDOFF_PERMANENT);
      *step = holdoff_recorder_fail(&all->call, policy, NULL, ticket, all->now, failure, &all->events);
    } else if (what == 14) {
      *step = holdoff_recorder_cancel(&all->call, NULL, all->now, &all->events);
    } else {
      interrupted = true;
    }
  } else {
    all->now = step->at + (pick(&all->drawn, 4) == 0 ? next(&all->drawn) % (10 * SECOND) : 0);
    what = pick(&all->drawn, 16);
    if (what == 0) {
      *step = holdoff_recorder_cancel(&all->call, NULL, all->now, &all->events);
    } else if (what == 1) {
      interrupted = true;
    } else {
      *step = holdoff_recorder_tick(&all->call, policy, NULL, all->now, &all->events);
    }
  }
  if (interrupted) {
    if (!read_back(all)) {
      return false;
    }
    *step = holdoff_recorder_resume(&all->call, policy, NULL, all->now, RERUNS, &all->events);
  }
  return write_down(all);
}

static bool play(played *all, const holdoff_policy *policies, uint64_t count, uint64_t *digest) {
  holdoff_step step;
  char bytes[HOLDOFF_SAVED_CALL];
  uint64_t seed;
  int transitions;
  all->policy = &policies[pick(&all->drawn, count)];
  seed = next(&all->drawn);
  all->now = 1700000000 * SECOND + next(&all->drawn) % SECOND;
  all->length = 0;
  step = holdoff_recorder_begin(&all->call, all->policy, NULL, seed, all->now, &all->events);
  if (!write_down(all)) {
    return false;
  }
  for (transitions = 0; step.kind != HOLDOFF_STOP; transitions++) {
    if (transitions == MOST) {
      step = holdoff_recorder_cancel(&all->call, NULL, all->now, &all->events);
      if (!write_down(all)) {
        return false;
      }
    } else if (!happen(all, &step)) {
      return false;
    }
  }
  if (!read_back(all)) {
    return false;
  }
  take(digest, all->log, all->length);
  take(digest, bytes, saved(all, &all->call, bytes));
  return true;
}

bool print_digest(const char *text, uint64_t count, uint64_t seed) {
  static holdoff_policy policies[POLICIES];
  char *copy = malloc(strlen(text) + 1);
  cJSON *documents;
  const cJSON *document;
  uint64_t digest = UINT64_C(0xcbf29ce484222325), known = 0, number;
  played *all = malloc(sizeof *all);
  bool good = copy != NULL && all != NULL;
  if (!good) {
    free(copy);
    free(all);
    return false;
  }
  strcpy(copy, text);
  documents = read_json(copy);
  free(copy);
  cJSON_ArrayForEach(document, documents) {
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(item, "policy", (cJSON *)(uintptr_t)document);
    good = good && known < POLICIES && policy_of(item, &policies[known++]);
    cJSON_Delete(item);
  }
  good = good && known > 0;
  for (number = 0; good && number < count; number++) {
    all->drawn = seed + number * UINT64_C(0xd1342543de82ef95);
    good = play(all, policies, known, &digest);
    if (!good) {
      fprintf(stderr, "session %" PRIu64 " of seed %" PRIu64 "\n", number, seed);
    }
  }
  if (good) {
    printf("%016" PRIx64 "\n", digest);
  }
  cJSON_Delete(documents);
  free(all);
  return good;
}
