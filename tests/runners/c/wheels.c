/* Vectors of timing wheels. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wheel whose timers have numbers. */
typedef struct numbered {
  holdoff_wheel *wheel;
  /* The key of each timer, and the number of the one at each index. */
  uint64_t *keys, *numbers;
  uint64_t count, indices;
} numbered;

/* What the wheel says to an op, as text; false, and a failure, for what must not be. */
static bool answer(numbered *all, const cJSON *op, char *got, int at) {
  const char *name = word(op, "op");
  char text[24];
  uint64_t key, due;
  strcpy(got, "nothing");
  if (strcmp(name, "insert") == 0) {
    uint32_t index;
    if (holdoff_wheel_insert(all->wheel, number(op, "at"), &key) != 0) {
      return fail("room for a timer", "none", at) != FAILED;
    }
    index = holdoff_timer_index(key);
    if (index > all->indices) {
      /* Indices are dense: an array is enough for what belongs to timers. */
      return fail("a dense index", "one that leaves others out", at) != FAILED;
    }
    all->indices += index == all->indices;
    all->numbers[index] = all->count;
    all->keys[all->count++] = key;
  } else if (strcmp(name, "cancel") == 0) {
    uint64_t timer = number(op, "timer");
    if (timer >= all->count) {
      return fail("a timer that there was", "none", at) != FAILED;
    }
    strcpy(got, holdoff_wheel_cancel(all->wheel, all->keys[timer]) ? "cancelled" : "not cancelled");
  } else if (strcmp(name, "pop") == 0) {
    strcpy(got, "none due");
    if (holdoff_wheel_pop(all->wheel, number(op, "now"), &key, &due)) {
      sprintf(got, "timer %" PRIu64 " due at %s", all->numbers[holdoff_timer_index(key)], time_text(due, text));
    }
  } else if (strcmp(name, "look") == 0) {
    sprintf(got, "wakes at %s, %zu pending", time_text(holdoff_wheel_next_wake(all->wheel), text),
            holdoff_wheel_length(all->wheel));
  } else if (strcmp(name, "clear") == 0) {
    holdoff_wheel_clear(all->wheel);
  } else {
    return fail("an op that is known", name, at) != FAILED;
  }
  return true;
}

static void show_answer(const cJSON *answer, char *wanted) {
  const cJSON *cancelled = get(answer, "cancelled"), *fired = get(answer, "fired"), *wake = get(answer, "next_wake");
  char text[24];
  if (cancelled != NULL) {
    strcpy(wanted, cJSON_IsTrue(cancelled) ? "cancelled" : "not cancelled");
  } else if (fired != NULL && !cJSON_IsNull(fired)) {
    sprintf(wanted, "timer %" PRIu64 " due at %s", number(fired, "timer"), time_text(number(fired, "at"), text));
  } else if (fired != NULL) {
    strcpy(wanted, "none due");
  } else if (get(answer, "len") != NULL) {
    uint64_t at = wake == NULL || cJSON_IsNull(wake) ? HOLDOFF_NEVER : number_of(wake);
    sprintf(wanted, "wakes at %s, %" PRIu64 " pending", time_text(at, text), number(answer, "len"));
  } else {
    strcpy(wanted, "nothing");
  }
}

verdict run_wheel(const cJSON *item) {
  const cJSON *op, *expected = first(get(item, "answers"));
  size_t most = (size_t)cJSON_GetArraySize(get(item, "ops")) + 1;
  numbered all = {NULL, NULL, NULL, 0, 0};
  verdict judged = FAILED;
  int at = 0;
  all.wheel = holdoff_wheel_new();
  all.keys = calloc(most, sizeof *all.keys);
  all.numbers = calloc(most, sizeof *all.numbers);
  if (all.wheel == NULL || all.keys == NULL || all.numbers == NULL) {
    fail("memory", "none", -1);
    goto done;
  }
  cJSON_ArrayForEach(op, get(item, "ops")) {
    char got[80], wanted[80];
    if (expected == NULL) {
      fail("as many answers as ops", "fewer", at);
      goto done;
    }
    show_answer(expected, wanted);
    if (!answer(&all, op, got, at) || compare(wanted, got, at) == FAILED) {
      goto done;
    }
    expected = expected->next;
    at++;
  }
  judged = expected == NULL ? PASSED : fail("as many answers as ops", "more", at);
done:
  holdoff_wheel_free(all.wheel);
  free(all.keys);
  free(all.numbers);
  return judged;
}
