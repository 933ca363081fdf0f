/* Recordings of Kubernetes' loops on the periodic machine, driven by a host with virtual time. */
#include "runner.h"

#include <string.h>

/* A host that drives a machine, and cancels it at a time or with the end of a run. */
typedef struct host {
  holdoff_periodic machine;
  /* The next run: how long it takes or, if `finds`, its answer. After the last answer each run goes on. */
  const cJSON *input;
  bool finds;
  /* The answer of the last run if runs only say how long they take; the runs before it go on. */
  uint32_t last;
  /* The next draw, if intervals are drawn. */
  bool draws;
  const cJSON *draw;
  /* The cancellation that is still to come: HOLDOFF_NEVER for none, and a number of runs, 0 for none. */
  uint64_t now, cancel_at;
  int cancel_after;
  /* The results so far. */
  int runs;
  uint32_t ended;
  cJSON *starts, *intervals;
} host;

/* The number of an answer; 0 for an unknown one, which the machine refuses. */
static uint32_t answer_of(const char *name) {
  bool is_error = strcmp(name, "error") == 0 || strcmp(name, "done+error") == 0;
  return is_error                       ? HOLDOFF_ANSWER_FAILED
         : strcmp(name, "done") == 0  ? HOLDOFF_ANSWER_DONE
         : strcmp(name, "retry") == 0 ? HOLDOFF_ANSWER_AGAIN
                                      : 0;
}

static double draw_of(const host *host) { return host->draws ? real_of(host->draw) : 0; }

/* Makes a run, and tells the machine its answer. */
static holdoff_periodic_step ran(host *host, uint64_t run) {
  uint32_t answer = HOLDOFF_ANSWER_AGAIN;
  uint64_t takes = 0;
  if (host->input != NULL && host->finds) {
    answer = cJSON_IsString(host->input) ? answer_of(host->input->valuestring) : 0;
  } else if (host->input != NULL) {
    takes = number_of(host->input);
    answer = host->input->next == NULL ? host->last : HOLDOFF_ANSWER_AGAIN;
  }
  host->input = host->input != NULL ? host->input->next : NULL;
  cJSON_AddItemToArray(host->starts, made((int64_t)host->now));
  host->runs++;
  host->now = takes < HOLDOFF_NEVER - host->now ? host->now + takes : HOLDOFF_NEVER - 1;
  if (host->cancel_at <= host->now || host->runs == host->cancel_after) {
    host->cancel_at = HOLDOFF_NEVER;
    holdoff_periodic_cancel(&host->machine);
  }
  return holdoff_periodic_finish_with(&host->machine, run, host->now, answer, draw_of(host));
}

/* Sleeps, and ticks the machine, or cancels it before. */
static holdoff_periodic_step slept(host *host, uint64_t until) {
  if (host->cancel_at <= host->now || host->cancel_at < until) {
    host->now = host->cancel_at > host->now ? host->cancel_at : host->now;
    host->cancel_at = HOLDOFF_NEVER;
    return holdoff_periodic_cancel(&host->machine);
  }
  host->now = until > host->now ? until : host->now;
  host->now = host->now < HOLDOFF_NEVER ? host->now : HOLDOFF_NEVER - 1;
  return holdoff_periodic_tick_with(&host->machine, host->now, draw_of(host));
}

/* Drives the machine to its end; false when it was said what is wrong. */
static bool drive(host *host) {
  holdoff_periodic_step step = slept(host, 0);
  uint64_t asked = 0;
  for (;;) {
    if (holdoff_periodic_intervals(&host->machine) != asked) {
      asked = holdoff_periodic_intervals(&host->machine);
      cJSON_AddItemToArray(host->intervals, made((int64_t)holdoff_periodic_interval(&host->machine)));
      if (host->draws && host->draw == NULL) {
        fail("as many draws as the original made", "more", host->runs);
        return false;
      }
      host->draw = host->draw != NULL ? host->draw->next : NULL;
    }
    switch (step.kind) {
      case HOLDOFF_RUN:
        if (host->input == NULL && !host->finds) {
          fail("as many runs as recorded", "more", host->runs);
          return false;
        }
        step = ran(host, step.run);
        break;
      case HOLDOFF_SLEEP:
        step = slept(host, step.at);
        break;
      case HOLDOFF_STOP:
        host->ended = step.ended;
        return true;
      default:
        fail("a step of a loop", "a wait for a run that has ended", host->runs);
        return false;
    }
  }
}

/*
 * Tells whether a recorded interval left the range of an integer, and then judges the case: from there on the original does
 * not wait, and here the interval is as long as it may be.
 */
static bool wrapped(const host *host, const cJSON *recorded, bool is_any, uint64_t longest, verdict *judged) {
  const cJSON *one = first(recorded), *other = host->intervals->child;
  bool same = true;
  int at = 0;
  for (; one != NULL; one = one->next, at++) {
    bool equal = other != NULL && cJSON_Compare(one, other, true);
    /* An interval that wraps twice may be positive again. */
    if (is_any ? other != NULL && !equal : whole_of(one) < 0) {
      break;
    }
    same = same && equal;
    other = other != NULL ? other->next : NULL;
  }
  if (one == NULL) {
    return false;
  }
  counted.deviations += (unsigned long)(cJSON_GetArraySize(recorded) - at);
  if (!same) {
    *judged = differ(recorded, host->intervals, at);
  } else if (other != NULL) {
    *judged = number_of(other) >= longest ? PASSED : fail("the longest interval", "a shorter one", at);
  } else {
    *judged = host->ended != HOLDOFF_ENDED_DONE ? PASSED : fail("an end before the wrap", "a run that was done", at);
  }
  return true;
}

/* Kubernetes' error at the end; client-go returns the last error if there is one. */
static const char *error_of(uint32_t ended, bool remembers) {
  switch (ended) {
    case HOLDOFF_ENDED_DONE:
      return "nil";
    case HOLDOFF_ENDED_FAILED:
      return "condition failed";
    case HOLDOFF_ENDED_STEPS:
      return remembers ? "transient" : "timed out waiting for the condition";
    case HOLDOFF_ENDED_DEADLINE:
      return "context deadline exceeded";
    case HOLDOFF_ENDED_CANCELLED:
      return "context canceled";
    default:
      return holdoff_word(HOLDOFF_WORD_ERROR, ended);
  }
}

/* Adds a list, or null where none was recorded. */
static void add_list(cJSON *got, const char *name, cJSON *list, const cJSON *expected) {
  if (list->child == NULL && cJSON_IsNull(get(expected, name))) {
    cJSON_AddNullToObject(got, name);
  } else {
    cJSON_AddItemReferenceToObject(got, name, list);
  }
}

/* Makes the recorded result: calls if runs have answers, else the times of their starts. */
static cJSON *recorded(const host *host, const cJSON *item, const char *intervals) {
  const cJSON *expected = first(get(item, "expected"));
  bool remembers = strcmp(word(get(item, "config"), "op"), "retry.OnError") == 0 && host->runs > 0;
  cJSON *got = cJSON_CreateObject();
  add_list(got, intervals, host->intervals, expected);
  cJSON_AddItemToObject(got, host->finds ? "now" : "returned_at", made((int64_t)host->now));
  if (host->finds) {
    bool is_over = host->ended == HOLDOFF_ENDED_DEADLINE || host->ended == HOLDOFF_ENDED_CANCELLED;
    cJSON_AddNumberToObject(got, "calls", host->runs);
    cJSON_AddBoolToObject(got, "interrupted", is_over || (host->ended == HOLDOFF_ENDED_STEPS && !remembers));
  } else {
    add_list(got, "starts", host->starts, expected);
  }
  if (get(expected, "error") != NULL) {
    cJSON_AddStringToObject(got, "error", error_of(host->ended, remembers));
  }
  return got;
}

/* Runs a case on a machine of these options; `config` has its draws. */
static verdict run_loop(host *host, const cJSON *item, const cJSON *config, const holdoff_loop_backoff *loop_backoff,
                        const holdoff_periodic_options *options, const char *intervals) {
  const cJSON *expected = first(get(item, "expected"));
  holdoff_wait_backoff backoff;
  verdict judged = FAILED;
  if (holdoff_periodic_init(&host->machine, loop_backoff, options, 0, 0) != 0 ||
      holdoff_loop_backoff_backoff(loop_backoff, &backoff) != 0) {
    return fail("a machine", "none", -1);
  }
  host->input = first(get(item, "inputs"));
  host->cancel_at = end_of(get(item, "config"));
  host->draws = holdoff_loop_backoff_draws(loop_backoff);
  host->draw = uniforms_of(config);
  host->starts = cJSON_CreateArray();
  host->intervals = cJSON_CreateArray();
  if (drive(host) && !wrapped(host, get(expected, intervals), truth(get(item, "config"), "impl_defined"),
                              holdoff_wait_backoff_cap(&backoff), &judged)) {
    cJSON *got = recorded(host, item, intervals);
    judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
    cJSON_Delete(got);
  }
  cJSON_Delete(host->starts);
  cJSON_Delete(host->intervals);
  return judged;
}

verdict run_k8s_backoffuntil(const cJSON *item) {
  const cJSON *config = get(item, "config"), *manager = get(config, "manager");
  holdoff_periodic_options options = holdoff_periodic_until(truth(config, "sliding"));
  holdoff_loop_backoff loop_backoff;
  host host;
  verdict judged;
  memset(&host, 0, sizeof host);
  host.last = HOLDOFF_ANSWER_AGAIN;
  if (!loop_backoff_of(manager, 0, &loop_backoff)) {
    return OUT_OF_DOMAIN;
  }
  if (end_of(config) == HOLDOFF_NEVER) {
    host.cancel_after = cJSON_GetArraySize(get(item, "inputs"));
  }
  judged = run_loop(&host, item, manager, &loop_backoff, &options, "delays");
  return judged == PASSED ? compare("context canceled", error_of(host.ended, false), -1) : judged;
}

/* A loop backoff of a wait.Backoff that never begins again. */
static bool once(const holdoff_wait_backoff *backoff, holdoff_loop_backoff *loop_backoff) {
  return holdoff_loop_backoff_init(loop_backoff, backoff, HOLDOFF_RESET_NEVER, 0, 0) == 0;
}

verdict run_k8s_poll(const cJSON *item) {
  const cJSON *config = get(item, "config"), *fields = get(config, "backoff");
  holdoff_periodic_options options;
  holdoff_wait_backoff backoff;
  holdoff_loop_backoff loop_backoff;
  host host;
  double jitter = real(fields, "jitter");
  memset(&host, 0, sizeof host);
  host.last = strcmp(word(config, "end"), "err") == 0 ? HOLDOFF_ANSWER_FAILED : HOLDOFF_ANSWER_DONE;
  /* The fields of Kubernetes read a negative jitter as none, and this loop does not. */
  if (!(jitter < 0 ? holdoff_wait_backoff_init(&backoff, 0, 0, jitter, HOLDOFF_LONGEST_NS, 0) == 0
                   : wait_backoff_of(fields, &backoff)) ||
      !once(&backoff, &loop_backoff)) {
    return OUT_OF_DOMAIN;
  }
  options = holdoff_periodic_poll(&backoff, truth(config, "immediate"), truth(config, "sliding"));
  return run_loop(&host, item, config, &loop_backoff, &options, "timer_durations");
}

verdict run_k8s_exponential_backoff(const cJSON *item) {
  const cJSON *config = get(item, "config");
  holdoff_periodic_options options = holdoff_periodic_while_steps_last();
  holdoff_wait_backoff backoff;
  holdoff_loop_backoff loop_backoff;
  host host;
  memset(&host, 0, sizeof host);
  host.finds = true;
  return wait_backoff_of(config, &backoff) && once(&backoff, &loop_backoff)
             ? run_loop(&host, item, config, &loop_backoff, &options, "sleeps")
             : OUT_OF_DOMAIN;
}
