/* Vectors of calls under guards that they share, and of retries that a budget pays for. */
#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool session_begin(session *all, const cJSON *item, uint64_t seed, uint64_t start) {
  holdoff_problem problem;
  char patterns[1024], line[400];
  memset(all, 0, sizeof *all);
  all->guards = holdoff_guards_in(&all->memory);
  holdoff_options_init(&all->options);
  holdoff_options_keep_patterns(&all->options, patterns, sizeof patterns);
  set_all(&all->options, get(item, "policy"), "");
  all->length = holdoff_guards_words(&all->options);
  all->room = calloc(all->length + 1, sizeof *all->room);
  if (holdoff_policy_build(&all->policy, &all->options, &problem) == 0 &&
      holdoff_guards_init(&all->guards, &all->options, seed, start, all->room, all->length, &problem) == 0) {
    return true;
  }
  holdoff_problem_text(&problem, line, sizeof line);
  fail("a valid policy with its guards", line, -1);
  return false;
}

/* All guards through bytes to another clock; 0, or the number of an error. */
static int move(session *all, uint64_t now, uint64_t to) {
  void *each[sizeof(holdoff_guards) / sizeof(void *)];
  size_t at;
  int code = 0;
  memcpy(each, &all->guards, sizeof each);
  for (at = 0; code == 0 && at < sizeof each / sizeof *each; at++) {
    const bool logs = each[at] == (void *)&all->memory.limiter;
    const size_t size = logs ? holdoff_limiter_saved(&all->memory.limiter) : HOLDOFF_SAVED_BREAKER;
    size_t length;
    char *bytes;
    if (each[at] == NULL) {
      continue;
    }
    if (each[at] == (void *)&all->memory.bulkhead) {
      code = holdoff_bulkhead_init(&all->memory.bulkhead, &all->options, all->places, PLACES, NULL);
      continue;
    }
    bytes = malloc(size);
    length = bytes == NULL ? 0 : holdoff_guard_save(each[at], now, bytes, size);
    if (logs) {
      memset(all->room, 0, all->length * sizeof *all->room);
    }
    code = length == 0 ? -1 : holdoff_guard_restore(each[at], bytes, length, to, NULL);
    free(bytes);
  }
  memset(all->calls, 0, sizeof all->calls);
  return code;
}

/* What is said to an event of a call; false for another event. */
static bool put(session *all, const cJSON *event, holdoff_step *step) {
  const char *op = word(event, "op");
  uint64_t now = number(event, "now"), ticket = number(event, "ticket"), of = number(event, "call");
  holdoff_guarded_call *call = &all->calls[of < CALLS ? of : 0];
  if (of >= CALLS || get(event, "call") == NULL) {
    return false;
  }
  if (strcmp(op, "begin") == 0) {
    *step = holdoff_guarded_call_begin(call, &all->policy, &all->guards, number(event, "seed"), now);
  } else if (strcmp(op, "succeed") == 0) {
    *step = holdoff_guarded_call_succeed(call, &all->guards, ticket, now);
  } else if (strcmp(op, "fail") == 0) {
    *step = holdoff_guarded_call_fail(call, &all->policy, &all->guards, ticket, now, failure_of(get(event, "failure")));
  } else if (strcmp(op, "abandon") == 0) {
    *step = holdoff_guarded_call_abandon(call, &all->guards, ticket, now);
  } else if (strcmp(op, "tick") == 0) {
    *step = holdoff_guarded_call_tick(call, &all->policy, &all->guards, now);
  } else if (strcmp(op, "cancel") == 0) {
    *step = holdoff_guarded_call_cancel(call, &all->guards, now);
  } else {
    return false;
  }
  return true;
}

/* Hands an event to the guards; whether it is one of theirs. */
static bool happen(session *all, const cJSON *event, int at) {
  const char *op = word(event, "op");
  uint64_t now = number(event, "now");
  int code;
  if (strcmp(op, "isolate") == 0) {
    code = holdoff_breaker_isolate(all->guards.breaker, now);
  } else if (strcmp(op, "force_close") == 0) {
    code = holdoff_breaker_force_close(all->guards.breaker, now);
  } else if (strcmp(op, "reset") == 0) {
    code = holdoff_breaker_reset(all->guards.breaker, now);
  } else if (strcmp(op, "move") == 0) {
    code = move(all, now, number(event, "to"));
  } else {
    fail("an event that is known", op, at);
    return false;
  }
  if (code != 0) {
    fail("guards that it can happen to", holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), at);
  }
  return code == 0;
}

/* What the guards say at the end, as far as the case looks. */
static verdict same_after(const session *all, const cJSON *after) {
  uint64_t now = number(after, "now");
  char got[200] = "", wanted[200] = "", *end = got, *other = wanted;
  const cJSON *item;
  cJSON_ArrayForEach(item, after) {
    const char *name = item->string;
    if (strcmp(name, "budget") == 0) {
      end += sprintf(end, "budget %.17g ", holdoff_budget_balance(all->guards.budget, now));
      other += sprintf(other, "budget %.17g ", real_of(item));
    } else if (strcmp(name, "breaker") == 0) {
      end += sprintf(end, "breaker %s ", holdoff_word(HOLDOFF_WORD_BREAKER, holdoff_breaker_state(all->guards.breaker, now)));
      other += sprintf(other, "breaker %.20s ", cJSON_GetStringValue(item));
    } else if (strcmp(name, "openings") == 0) {
      end += sprintf(end, "openings %" PRIu32 " ", holdoff_breaker_openings(all->guards.breaker));
      other += sprintf(other, "openings %" PRIu64 " ", number_of(item));
    } else if (strcmp(name, "running") == 0) {
      end += sprintf(end, "running %" PRIu32 " ", holdoff_bulkhead_running(all->guards.bulkhead));
      other += sprintf(other, "running %" PRIu64 " ", number_of(item));
    } else if (strcmp(name, "waiting") == 0) {
      end += sprintf(end, "waiting %" PRIu32 " ", holdoff_bulkhead_waiting(all->guards.bulkhead));
      other += sprintf(other, "waiting %" PRIu64 " ", number_of(item));
    } else if (strcmp(name, "rate") == 0) {
      end += sprintf(end, "rate %.17g ", holdoff_adaptive_rate(all->guards.adaptive));
      other += sprintf(other, "rate %.17g ", real_of(item));
    } else if (strcmp(name, "now") != 0) {
      return fail("what guards can say", name, -1);
    }
  }
  return compare(wanted, got, -1);
}

verdict run_guarded(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "steps"));
  verdict judged = FAILED;
  session *all = malloc(sizeof *all);
  int at = 0;
  if (all == NULL) {
    return fail("memory", "none", -1);
  }
  if (!session_begin(all, item, number(item, "seed"), number(item, "start"))) {
    goto done;
  }
  if (cJSON_GetArraySize(get(item, "events")) != cJSON_GetArraySize(get(item, "steps"))) {
    fail("as many steps as events", "another number", -1);
    goto done;
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    holdoff_step step;
    if (!put(all, event, &step)) {
      if (!happen(all, event, at)) {
        goto done;
      }
      if (!cJSON_IsNull(expected)) {
        fail("a step", "none", at);
        goto done;
      }
    } else if (same_step(step, expected, at) == FAILED) {
      goto done;
    }
    expected = expected->next;
    at++;
  }
  judged = get(item, "after") == NULL ? PASSED : same_after(all, get(item, "after"));
done:
  free(all->room);
  free(all);
  return judged;
}

verdict run_paid(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "decisions")), *tokens = first(get(item, "tokens"));
  uint64_t seed = number(item, "seed"), started = number(item, "started");
  verdict judged = FAILED;
  session *all = malloc(sizeof *all);
  holdoff_guarded_call call;
  holdoff_step step;
  int at = 0;
  if (all == NULL) {
    return fail("memory", "none", -1);
  }
  if (!session_begin(all, item, 0, started)) {
    goto done;
  }
  step = holdoff_guarded_call_begin(&call, &all->policy, &all->guards, seed, started);
  cJSON_ArrayForEach(event, get(item, "failures")) {
    uint64_t now = number(event, "now"), ticket;
    const cJSON *failure = get(event, "failure");
    char got[40], wanted[40];
    if (truth(event, "new_call")) {
      step = holdoff_guarded_call_begin(&call, &all->policy, &all->guards, seed, now);
    } else if (step.kind == HOLDOFF_SLEEP) {
      step = holdoff_guarded_call_tick(&call, &all->policy, &all->guards, now);
    }
    ticket = holdoff_step_ticket(step);
    if (ticket == 0 || expected == NULL || tokens == NULL) {
      fail("an attempt", "none", at);
      goto done;
    }
    step = failure == NULL || cJSON_IsNull(failure)
               ? holdoff_guarded_call_succeed(&call, &all->guards, ticket, now)
               : holdoff_guarded_call_fail(&call, &all->policy, &all->guards, ticket, now, failure_of(failure));
    if (strcmp(word(expected, "kind"), "succeeded") == 0) {
      if (compare("succeeded", holdoff_word(HOLDOFF_WORD_OUTCOME, step.outcome), at) == FAILED) {
        goto done;
      }
    } else if (same_step(step, expected, at) == FAILED) {
      goto done;
    }
    if (!cJSON_IsNull(tokens)) {
      sprintf(got, "%.17g tokens", holdoff_budget_balance(all->guards.budget, now));
      sprintf(wanted, "%.17g tokens", real_of(tokens));
      if (compare(wanted, got, at) == FAILED) {
        goto done;
      }
    }
    expected = expected->next;
    tokens = tokens->next;
    at++;
  }
  judged = expected == NULL ? PASSED : fail("as many decisions as ends", "fewer", at);
done:
  free(all->room);
  free(all);
  return judged;
}
