/* Recordings of Aster's event log, its delay queue and its recorded randomness, on events, the wheel and a seed. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Reads an event of Aster's as one of ours. What Aster's registry does not write down (place, time, cause) does not matter to
 * what is read back.
 */
static int read_event(const cJSON *event, holdoff_event_fields *fields, char *task, size_t size) {
  const cJSON *attempt = get(event, "attempt_number");
  int64_t delay = whole(event, "backoff_delay_ms");
  cJSON *json = cJSON_CreateObject(), *payload;
  holdoff_event read;
  char *text;
  int code;
  cJSON_AddNumberToObject(json, "version", 1);
  cJSON_AddNumberToObject(json, "sequence", 1);
  cJSON_AddStringToObject(json, "type", word(event, "type"));
  cJSON_AddStringToObject(json, "at", "0");
  cJSON_AddNumberToObject(json, "attemptNumber",
                          attempt == NULL || cJSON_IsNull(attempt) ? 1 : (double)whole_of(attempt));
  cJSON_AddNumberToObject(json, "backoffDelayMs", delay > 0 ? (double)delay : 0);
  cJSON_AddStringToObject(json, "cause", "backoff");
  payload = cJSON_AddObjectToObject(json, "payload");
  cJSON_AddStringToObject(payload, "taskId", word(event, "taskId"));
  text = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
  code = holdoff_event_from_json(&read, text, strlen(text), task, size, NULL, 0, NULL);
  free(text);
  return code != 0 ? code : holdoff_event_get(&read, fields);
}

bool count_tries(cJSON *counters, const cJSON *log) {
  const cJSON *event;
  cJSON_ArrayForEach(event, log) {
    const cJSON *of = get(event, "taskId");
    holdoff_event_fields fields;
    cJSON *counter;
    char task[128];
    double tries;
    if (strcmp(word(event, "type"), "RETRY_SCHEDULED") != 0 || of == NULL || cJSON_IsNull(of)) {
      continue;
    }
    if (read_event(event, &fields, task, sizeof task) != 0) {
      return false;
    }
    tries = fields.attempt > 1 ? fields.attempt - 1 : 1;
    counter = cJSON_GetObjectItemCaseSensitive(counters, task);
    if (counter == NULL) {
      cJSON_AddNumberToObject(counters, task, tries);
    } else if (counter->valuedouble < tries) {
      cJSON_SetNumberValue(counter, tries);
    }
  }
  return true;
}

verdict run_aster_restore(const cJSON *item) {
  const cJSON *before = get(get(item, "config"), "counters_before"), *expected = first(get(item, "expected")), *event;
  cJSON *counters = before != NULL ? cJSON_Duplicate(before, true) : cJSON_CreateObject();
  bool counts = count_tries(counters, get(item, "inputs")), is_out = false;
  verdict judged;
  cJSON_ArrayForEach(event, get(item, "inputs")) {
    const cJSON *attempt = get(event, "attempt_number");
    is_out = is_out || (attempt != NULL && !cJSON_IsNull(attempt) && whole_of(attempt) < 1);
  }
  if (is_out || !counts) {
    judged = is_out && !counts ? OUT_OF_DOMAIN : fail("an attempt below the first, refused", "otherwise", -1);
  } else {
    judged = cJSON_Compare(expected, counters, true) ? PASSED : differ(expected, counters, -1);
  }
  cJSON_Delete(counters);
  return judged;
}

/* When a timer is due that is set now. One beyond 2^63-1 stays there and does not fire at once. */
verdict run_aster_schedule(const cJSON *item) {
  const cJSON *input, *expected;
  int at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    int64_t now = whole(input, "now"), delay = whole(input, "delay_ms");
    holdoff_wheel *wheel;
    uint64_t due, got, key;
    bool fires;
    char one[24], two[24];
    if (now < 0) {
      return OUT_OF_DOMAIN;
    }
    due = (uint64_t)now + (delay > 0 ? (uint64_t)delay : 0);
    wheel = holdoff_wheel_new();
    if (wheel == NULL || holdoff_wheel_insert(wheel, due, &key) != 0) {
      holdoff_wheel_free(wheel);
      return fail("room for a timer", "none", at);
    }
    got = holdoff_wheel_next_wake(wheel);
    fires = holdoff_wheel_pop(wheel, (uint64_t)now, NULL, NULL);
    holdoff_wheel_free(wheel);
    if (got != due || fires != (delay <= 0)) {
      return fail(time_text(due, one), time_text(got, two), at);
    }
    /* Where it wrapped there, it fires at the next tick. */
    if (whole_of(expected) != (int64_t)due) {
      return fail("the time", time_text(due, one), at);
    }
    counted.deviations += whole_of(expected) < 0;
  }
  return PASSED;
}

#define MOST 64

/* The timers of a delay queue, and how often each fired there and here. */
typedef struct queue {
  const char *tasks[MOST];
  uint64_t due[MOST], keys[MOST];
  int theirs[MOST], ours[MOST];
  int count;
} queue;

/* Which task has that name; MOST for one that is none. */
static int task_of(const queue *queue, const char *name) {
  int at = 0;
  while (at < queue->count && strcmp(queue->tasks[at], name) != 0) {
    at++;
  }
  return at < queue->count ? at : MOST;
}

/* One tick: at most one timer fires, and what was recorded is due at the same time. */
static bool tick(queue *queue, holdoff_wheel *wheel, uint64_t now, const cJSON *expected, int at) {
  const char *name = cJSON_GetStringValue(first(expected));
  int theirs = name != NULL ? task_of(queue, name) : MOST, ours = MOST;
  uint64_t key;
  if (holdoff_wheel_pop(wheel, now, &key, NULL)) {
    for (ours = 0; ours < queue->count && queue->keys[ours] != key; ours++) {
    }
  }
  if (cJSON_GetArraySize(expected) > 1 || (name != NULL && theirs == MOST) || (theirs == MOST) != (ours == MOST)) {
    fail(name != NULL ? name : "none", ours < MOST ? queue->tasks[ours] : "none", at);
    return false;
  }
  if (theirs == MOST) {
    return true;
  }
  if (queue->due[theirs] != queue->due[ours]) {
    fail(name, queue->tasks[ours], at);
    return false;
  }
  queue->theirs[theirs]++;
  queue->ours[ours]++;
  counted.deviations += theirs != ours;
  return true;
}

/*
 * At most one timer a tick. Of those that are due at one time, ours fire in the order in which they came, and theirs in that of
 * a heap.
 */
verdict run_aster_poll(const cJSON *item) {
  const cJSON *entry, *input, *expected;
  holdoff_wheel *wheel = holdoff_wheel_new();
  verdict judged = PASSED;
  queue queue;
  int at = 0;
  memset(&queue, 0, sizeof queue);
  if (wheel == NULL || !steps_of(item, &input, &expected)) {
    holdoff_wheel_free(wheel);
    return FAILED;
  }
  cJSON_ArrayForEach(entry, get(get(item, "config"), "queue")) {
    int64_t due = whole(entry, "trigger_at");
    if (due < 0 || queue.count == MOST) {
      judged = due < 0 ? OUT_OF_DOMAIN : fail("a short queue", "a long one", -1);
      break;
    }
    queue.tasks[queue.count] = word(entry, "taskId");
    queue.due[queue.count] = (uint64_t)due;
    if (holdoff_wheel_insert(wheel, (uint64_t)due, &queue.keys[queue.count++]) != 0) {
      judged = fail("room for a timer", "none", -1);
      break;
    }
  }
  for (; judged == PASSED && input != NULL; input = input->next, expected = expected->next) {
    judged = tick(&queue, wheel, number_of(input), expected, at++) ? PASSED : FAILED;
  }
  if (judged == PASSED && memcmp(queue.theirs, queue.ours, sizeof queue.ours) != 0) {
    judged = fail("the same timers", "others", -1);
  }
  holdoff_wheel_free(wheel);
  return judged;
}

/*
 * Aster's log keeps what was drawn, and ours the seed. What takes the place of a recorded draw: from the seed that the event of
 * a start brings back come the same delays.
 */
verdict run_aster_draws(const cJSON *item) {
  const cJSON *input;
  holdoff_policy policy;
  int at = 0;
  holdoff_policy_default(&policy);
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    uint64_t seed = (uint64_t)whole_of(input), one = 0, two = 0;
    holdoff_schedule drawn, again;
    holdoff_event_fields fields;
    holdoff_recorder recorder;
    holdoff_events events;
    holdoff_event event;
    char text[512];
    holdoff_recorder_begin(&recorder, &policy, NULL, seed, 0, &events);
    holdoff_event_json(&events.events[0], NULL, NULL, text, sizeof text);
    if (holdoff_event_from_json(&event, text, strlen(text), NULL, 0, NULL, 0, NULL) != 0 ||
        holdoff_event_get(&event, &fields) != 0) {
      return fail("an event that can be read", text, at);
    }
    holdoff_schedule_init(&drawn, &policy, seed);
    holdoff_schedule_init(&again, &policy, fields.seed);
    while (holdoff_schedule_next(&drawn, &one)) {
      if (!holdoff_schedule_next(&again, &two) || one != two) {
        return fail("the same delays", text, at);
      }
    }
    at++;
  }
  return OUT_OF_DOMAIN;
}
