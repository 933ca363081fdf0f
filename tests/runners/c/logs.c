/* Vectors of recorded calls: what is written down, and what a log makes. */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that grow. */
typedef struct grown {
  char *bytes;
  size_t length;
} grown;

/* A recorded call, its guards and its log. */
typedef struct recording {
  session guarded;
  holdoff_recorder call;
  grown log;
  const cJSON *expected;
  const char *task;
} recording;

static bool append(grown *to, const char *bytes, size_t length) {
  char *more = realloc(to->bytes, to->length + length + 1);
  if (more == NULL) {
    return false;
  }
  memcpy(more + to->length, bytes, length);
  to->bytes = more;
  to->length += length;
  return true;
}

/* An event of ours is the JSON that is expected, and the same again when it is read from there. */
static verdict same_event(const holdoff_event *event, const char *task, const char *failure, const cJSON *expected,
                          int at) {
  char line[1200], again[1200], of[64], said[400];
  char *wanted = expected != NULL ? json_text(expected) : NULL;
  holdoff_event read;
  holdoff_problem problem;
  verdict judged;
  holdoff_event_json(event, task, failure, line, sizeof line);
  judged = wanted == NULL ? fail("no event", line, at) : compare(wanted, line, at);
  if (judged == PASSED) {
    if (holdoff_event_from_json(&read, wanted, strlen(wanted), of, sizeof of, said, sizeof said, &problem) != 0) {
      holdoff_problem_text(&problem, again, sizeof again);
    } else {
      holdoff_event_json(&read, task != NULL ? of : NULL, failure != NULL ? said : NULL, again, sizeof again);
    }
    judged = compare(line, again, at);
  }
  free(wanted);
  return judged;
}

/* Writes the events of an input down, as a host does before it does what the step says. */
static verdict write_down(recording *all, const holdoff_events *events, const char *failure, int at) {
  uint64_t index;
  for (index = 0; index < events->count; index++) {
    const holdoff_event *event = &events->events[index];
    char bytes[HOLDOFF_EVENT_BYTES + 400];
    const char *text = NULL;
    holdoff_event_fields fields;
    holdoff_event_get(event, &fields);
    if (same_event(event, all->task, failure, all->expected, at) == FAILED) {
      return FAILED;
    }
    all->expected = all->expected->next;
    text = fields.kind == HOLDOFF_EVENT_ATTEMPT_FAILED ? failure : NULL;
    if (!append(&all->log, bytes, holdoff_event_bytes(event, text, bytes, sizeof bytes))) {
      return fail("memory", "none", at);
    }
  }
  return PASSED;
}

/* The process is gone: what its log makes goes on, under guards made anew. */
static verdict interrupt(recording *all, const cJSON *item, uint64_t now, int at) {
  holdoff_recorder replayed;
  holdoff_problem problem;
  holdoff_saved one, other;
  char line[600], first_saved[2 * HOLDOFF_SAVED_CALL + 1], second[2 * HOLDOFF_SAVED_CALL + 1];
  char bytes[HOLDOFF_SAVED_CALL];
  verdict judged;
  if (holdoff_replay(&replayed, &all->guarded.policy, all->log.bytes, all->log.length, HOLDOFF_REPLAY_VERIFY, NULL,
                     &problem) != 0) {
    holdoff_problem_text(&problem, line, sizeof line);
    return fail("a log that makes its recorder again", line, at);
  }
  holdoff_recorder_save(&all->call, &all->guarded.policy, now, &one);
  holdoff_recorder_save(&replayed, &all->guarded.policy, now, &other);
  hex(bytes, holdoff_saved_bytes(&one, bytes, sizeof bytes), first_saved);
  hex(bytes, holdoff_saved_bytes(&other, bytes, sizeof bytes), second);
  judged = compare(first_saved, second, at);
  all->call = replayed;
  free(all->guarded.room);
  all->guarded.room = NULL;
  return session_begin(&all->guarded, item, number(item, "seed"), now) ? judged : FAILED;
}

static verdict put(recording *all, const cJSON *item, const cJSON *input, int at, holdoff_step *step) {
  const char *op = word(input, "op"), *failure = cJSON_GetStringValue(get(input, "text"));
  uint64_t now = number(input, "now"), ticket = number(input, "ticket");
  const holdoff_policy *policy = &all->guarded.policy;
  const holdoff_guards *guards = &all->guarded.guards;
  holdoff_events events;
  memset(&events, 0, sizeof events);
  if (strcmp(op, "begin") == 0) {
    *step = holdoff_recorder_begin(&all->call, policy, guards, number(item, "seed"), now, &events);
  } else if (strcmp(op, "succeed") == 0) {
    *step = holdoff_recorder_succeed(&all->call, guards, ticket, now, &events);
  } else if (strcmp(op, "fail") == 0) {
    *step = holdoff_recorder_fail(&all->call, policy, guards, ticket, now, failure_of(get(input, "failure")), &events);
  } else if (strcmp(op, "abandon") == 0) {
    *step = holdoff_recorder_abandon(&all->call, guards, ticket, now, &events);
  } else if (strcmp(op, "tick") == 0) {
    *step = holdoff_recorder_tick(&all->call, policy, guards, now, &events);
  } else if (strcmp(op, "cancel") == 0) {
    *step = holdoff_recorder_cancel(&all->call, guards, now, &events);
  } else if (strcmp(op, "resume") == 0) {
    if (interrupt(all, item, now, at) == FAILED) {
      return FAILED;
    }
    *step = holdoff_recorder_resume(&all->call, policy, guards, now, (uint32_t)number(input, "reruns"), &events);
  } else {
    return fail("an input that is known", op, at);
  }
  return write_down(all, &events, failure, at);
}

/* The saved call, in hexadecimal. */
static verdict same_saved(const holdoff_recorder *call, const holdoff_policy *policy, const cJSON *item, int at) {
  holdoff_saved saved;
  char bytes[HOLDOFF_SAVED_CALL], got[2 * HOLDOFF_SAVED_CALL + 1];
  holdoff_recorder_save(call, policy, number(item, "saved_at"), &saved);
  hex(bytes, holdoff_saved_bytes(&saved, bytes, sizeof bytes), got);
  return compare(word(item, "saved"), got, at);
}

verdict run_log(const cJSON *item) {
  const cJSON *input, *step = first(get(item, "steps"));
  recording *all = calloc(1, sizeof *all);
  verdict judged = FAILED;
  char *got = NULL;
  int at = 0;
  if (all == NULL) {
    return fail("memory", "none", -1);
  }
  all->expected = first(get(item, "events"));
  all->task = cJSON_GetStringValue(get(item, "task"));
  if (!session_begin(&all->guarded, item, number(item, "seed"), number(first(get(item, "inputs")), "now"))) {
    goto done;
  }
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    holdoff_step said;
    if (put(all, item, input, at, &said) == FAILED) {
      goto done;
    }
    if (step == NULL) {
      fail("as many steps as inputs", "fewer", at);
      goto done;
    }
    if (same_step(said, step, at) == FAILED) {
      goto done;
    }
    step = step->next;
    at++;
  }
  if (all->expected != NULL || step != NULL) {
    fail("as many events and steps as are expected", "fewer", at);
    goto done;
  }
  got = malloc(2 * all->log.length + 1);
  if (got == NULL) {
    fail("memory", "none", -1);
    goto done;
  }
  hex(all->log.bytes, all->log.length, got);
  if (compare(word(item, "bytes"), got, -1) == PASSED) {
    judged = same_saved(&all->call, &all->guarded.policy, item, -1);
  }
done:
  free(got);
  free(all->log.bytes);
  free(all->guarded.room);
  free(all);
  return judged;
}

/* What a recorder shows is what a vector has. */
static verdict same_state(const holdoff_recorder *call, const holdoff_policy *policy, const cJSON *state) {
  char got[120], wanted[120];
  if (same_step(holdoff_recorder_step(call), get(state, "step"), -1) == FAILED) {
    return FAILED;
  }
  sprintf(got, "event %" PRIu64 ", attempt %" PRIu32 ", reruns %" PRIu32, holdoff_recorder_sequence(call),
          holdoff_recorder_attempt(call), holdoff_recorder_reruns(call));
  sprintf(wanted, "event %" PRIu64 ", attempt %" PRIu64 ", reruns %" PRIu64, number(state, "sequence"),
          number(state, "attempt"), number(state, "reruns"));
  return compare(wanted, got, -1) == FAILED ? FAILED : same_saved(call, policy, state, -1);
}

/* The log of a case as a recorder: 0, or the number of what is wrong with it, and where. */
static int replayed(const cJSON *item, const holdoff_policy *policy, holdoff_recorder *call,
                    holdoff_divergence *divergence) {
  const cJSON *events = get(item, "events"), *event;
  const char *log = word(item, "bytes");
  uint32_t mode = strcmp(word(item, "mode"), "verify") == 0 ? HOLDOFF_REPLAY_VERIFY : HOLDOFF_REPLAY_FOLLOW;
  size_t count = 0, length = 0;
  holdoff_event one;
  holdoff_recorder ignored;
  char *bytes;
  int code = 0, before;
  mode |= truth(item, "any_policy") ? HOLDOFF_REPLAY_ANY_POLICY : 0;
  memset(divergence, 0, sizeof *divergence);
  if (events == NULL || cJSON_IsNull(events)) {
    length = strlen(log) / 2;
    bytes = malloc(length + 1);
    if (bytes == NULL) {
      return -1;
    }
    code = holdoff_replay(call, policy, bytes, unhex(log, bytes, length), mode, divergence, NULL);
    free(bytes);
    return code;
  }
  bytes = malloc(((size_t)cJSON_GetArraySize(events) + 1) * HOLDOFF_EVENT_BYTES);
  if (bytes == NULL) {
    return -1;
  }
  cJSON_ArrayForEach(event, events) {
    char *text = json_text(event);
    code = holdoff_event_from_json(&one, text, strlen(text), NULL, 0, NULL, 0, NULL);
    free(text);
    if (code != 0) {
      break;
    }
    length += holdoff_event_bytes(&one, NULL, bytes + length, HOLDOFF_EVENT_BYTES);
    count++;
  }
  /* An event that cannot be read is the one that was expected, unless one before it is wrong. */
  before = code != 0 && count == 0
               ? 0
               : holdoff_replay(code != 0 ? &ignored : call, policy, bytes, length, mode, divergence, NULL);
  if (code != 0 && before == 0) {
    divergence->sequence = count == 0 ? 1 : holdoff_recorder_sequence(&ignored) + 1;
  }
  free(bytes);
  return before != 0 ? before : code;
}

static verdict same_error(const cJSON *error, int code, const holdoff_divergence *divergence) {
  char got[120], wanted[120];
  const cJSON *computed = get(error, "computed");
  sprintf(got, "%d %.80s at %" PRIu64, code, holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), divergence->sequence);
  sprintf(wanted, "%" PRIu64 " %.80s at %" PRIu64, number(error, "code"), word(error, "name"),
          number(error, "sequence"));
  if (compare(wanted, got, -1) == FAILED) {
    return FAILED;
  }
  if (computed == NULL || cJSON_IsNull(computed)) {
    return divergence->has_computed ? fail("nothing computed", "an event", -1) : PASSED;
  }
  return divergence->has_computed ? same_event(&divergence->computed, NULL, NULL, computed, -1)
                                  : fail("an event that was computed", "none", -1);
}

/* Goes on with a recorder, and holds what it says against the case. */
static verdict resumed(session *guarded, holdoff_recorder *call, const cJSON *resume) {
  const cJSON *expected = first(get(resume, "events")), *state = get(resume, "state");
  holdoff_events events;
  holdoff_step step;
  uint64_t index;
  memset(&events, 0, sizeof events);
  step = holdoff_recorder_resume(call, &guarded->policy, &guarded->guards, number(resume, "now"),
                                 (uint32_t)number(resume, "reruns"), &events);
  if (same_step(step, get(resume, "step"), -1) == FAILED) {
    return FAILED;
  }
  for (index = 0; index < events.count; index++) {
    if (same_event(&events.events[index], NULL, NULL, expected, (int)index) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  if (expected != NULL) {
    return fail("as many events as are expected", "fewer", -1);
  }
  return state == NULL || cJSON_IsNull(state) ? PASSED : same_state(call, &guarded->policy, state);
}

verdict run_replay(const cJSON *item) {
  const cJSON *error = get(item, "error"), *state = get(item, "state"), *resume = get(item, "resume");
  session *guarded = calloc(1, sizeof *guarded);
  holdoff_recorder call;
  holdoff_divergence divergence;
  verdict judged = FAILED;
  int code;
  if (guarded == NULL) {
    return fail("memory", "none", -1);
  }
  if (session_begin(guarded, item, 0, number(resume, "now"))) {
    code = replayed(item, &guarded->policy, &call, &divergence);
    if (code != 0 || (error != NULL && !cJSON_IsNull(error))) {
      judged = same_error(error, code, &divergence);
    } else {
      judged = state == NULL || cJSON_IsNull(state) ? PASSED : same_state(&call, &guarded->policy, state);
      if (judged == PASSED && resume != NULL && !cJSON_IsNull(resume)) {
        judged = resumed(guarded, &call, resume);
      }
    }
  }
  free(guarded->room);
  free(guarded);
  return judged;
}
