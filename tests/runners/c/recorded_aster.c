/*
 * Recordings of Aster's retry of workflow tasks: its formula, and its registry around one task.
 *
 * The machine says when to try, how long to wait and when to stop. What Aster adds as a host is here: it appends events, words
 * its exceptions, and takes delays from a log when it replays one. Its milliseconds run as ticks.
 */
#define _POSIX_C_SOURCE 200809L

#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * A RetryPolicy as a policy: any strategy but exponential is linear, and what is added stays below half the base, however long
 * the delay is. Attempts are for ever without a number.
 */
static int policy_for(const cJSON *config, const cJSON *attempts, holdoff_policy *policy) {
  int64_t base = whole(config, "base_delay_ms");
  holdoff_options options;
  holdoff_options_init(&options);
  if (strcasecmp(word(config, "strategy"), "exponential") == 0) {
    /* Aster multiplies in doubles from the first delay on. */
    double rounded = (double)base;
    set_exponential(&options, "backoff", rounded < 9223372036854775808.0 ? (int64_t)rounded : INT64_MAX, 2, INT64_MAX);
  } else {
    holdoff_options_set_text(&options, "backoff.kind", "linear");
    set_signed(&options, "backoff.initial", base);
    holdoff_options_set_text(&options, "backoff.max", "none");
  }
  if (truth(config, "replay")) {
    /* A delay from the log is obeyed to the letter, whatever the policy says. */
    holdoff_options_set_text(&options, "jitter", "none");
    holdoff_options_set_text(&options, "hint.mode", "exact");
    holdoff_options_set_text(&options, "hint.max", "none");
  } else if (base / 2 > 0) {
    holdoff_options_set_text(&options, "jitter", "bounded");
    set_signed(&options, "jitter.bound", base / 2);
  } else {
    holdoff_options_set_text(&options, "jitter", "none");
  }
  holdoff_options_set_text(&options, "cap", "before_jitter");
  if (attempts == NULL) {
    holdoff_options_set_text(&options, "attempts", "forever");
  } else {
    set_attempts(&options, whole_of(attempts));
  }
  if (get(config, "timeout_ms") != NULL) {
    set_signed(&options, "attempt_timeout", whole(config, "timeout_ms"));
  }
  return holdoff_policy_build(policy, &options, NULL);
}

/* A configuration outside the domain is refused by the number of what is wrong with it. */
static verdict refused(const cJSON *config, int code) {
  int wanted = whole(config, "base_delay_ms") < 0 ? HOLDOFF_ERROR_NOT_A_DURATION : HOLDOFF_ERROR_ATTEMPTS_RANGE;
  return code == wanted ? OUT_OF_DOMAIN
                        : fail(holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)wanted), holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), -1);
}

/* The largest bound of which a uniform says each number. */
#define UNIFORM (INT64_C(1) << 50)

/* The uniform that the recorded number is: the middle of its place among as many as there are. */
static double place(const cJSON *raw, int64_t bound) {
  int64_t rest;
  if (bound <= 0 || raw == NULL || cJSON_IsNull(raw)) {
    return 0;
  }
  rest = whole_of(raw) % bound;
  return ((double)(rest < 0 ? rest + bound : rest) + 0.5) / (double)bound;
}

/* calculateBackoff: the delay after any attempt. One above 2^63-1 stays there. */
static verdict formula(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected;
  int64_t base = whole(config, "base_delay_ms");
  holdoff_policy policy;
  int at = 0, code;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  code = policy_for(config, NULL, &policy);
  if (base < 0 || code != 0) {
    return refused(config, code);
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    /* An attempt below the first reads as the first. */
    int64_t attempt = whole(input, "attempt");
    uint64_t delay = holdoff_policy_base_at(&policy, attempt > 1 ? (uint32_t)attempt - 1 : 0);
    const cJSON *raw = get(input, "raw");
    char one[24], two[24];
    delay = base / 2 > UNIFORM
                ? holdoff_policy_jitter_drawn(&policy, delay, whole_of(raw))
                : holdoff_policy_jitter(&policy, delay, HOLDOFF_LONGEST_NS, place(raw, base / 2));
    if (whole_of(expected) == (int64_t)delay) {
      continue;
    }
    if (delay != HOLDOFF_LONGEST_NS) {
      sprintf(one, "%" PRId64, whole_of(expected));
      return fail(one, time_text(delay, two), at);
    }
    counted.deviations++;
  }
  return PASSED;
}

/* The registry around one task, with a virtual clock. */
typedef struct registry {
  const cJSON *config, *inputs;
  holdoff_policy policy;
  holdoff_call call;
  holdoff_step step;
  uint64_t now;
  int calls;
  cJSON *events;
  /* The class and the message of what was thrown last; no class for a timeout, perhaps no message. */
  const char *thrown;
  char message[256];
  bool has_message, timed;
} registry;

static const char *reason(const registry *run) {
  if (run->thrown == NULL) {
    return "任务超时: t";
  }
  return run->has_message ? run->message : run->thrown;
}

/* The seed whose next draw is the one recorded for the next event (docs/spec.md, rule 2.2, backwards). */
static uint64_t seed_of(const registry *run) {
  const uint64_t added = UINT64_C(0x14057b7ef767814f), inverse = UINT64_C(0xc097ef87329e28a5);
  const cJSON *raw = cJSON_GetArrayItem(get(run->config, "raws"), cJSON_GetArraySize(run->events));
  double u = place(raw, whole(run->config, "base_delay_ms") / 2);
  uint64_t mixed = (uint64_t)(uint32_t)(u * 4294967296.0) << 27;
  uint64_t x = mixed ^ (mixed >> 18) ^ (mixed >> 36);
  return (x - added) * inverse - added;
}

/*
 * Takes the call up after its sleep, its next draw the recorded one, with a clock that starts anew: the sum of all delays may
 * be longer than time.
 */
static bool resume(registry *run) {
  holdoff_saved saved;
  holdoff_problem problem;
  char text[512], seed[24];
  cJSON *json;
  char *changed;
  bool resumed;
  if (holdoff_call_save(&run->call, &run->policy, run->now, &saved) != 0) {
    fail("a call that can be saved", "another", run->calls);
    return false;
  }
  holdoff_saved_json(&saved, text, sizeof text);
  json = cJSON_Parse(text);
  sprintf(seed, "%" PRIu64, seed_of(run));
  cJSON_ReplaceItemInObjectCaseSensitive(json, "seed", cJSON_CreateString(seed));
  changed = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
  run->now = 0;
  resumed = holdoff_saved_from_json(&saved, changed, strlen(changed), &problem) == 0 &&
            holdoff_call_resume(&run->call, &saved, &run->policy, run->now, &problem) == 0;
  free(changed);
  if (!resumed) {
    fail("a state that can be resumed", problem.rule, run->calls);
  }
  run->step = holdoff_call_tick(&run->call, &run->policy, run->now);
  return resumed;
}

/* Begins the call: that of a log has failed before, and makes no more tries than the policy allows. */
static bool begin(registry *run) {
  uint32_t most = holdoff_policy_attempts(&run->policy), last = 1;
  run->step = holdoff_call_begin(&run->call, &run->policy, seed_of(run), run->now);
  if (truth(run->config, "restore")) {
    cJSON *counters = cJSON_CreateObject();
    bool counts = count_tries(counters, get(run->config, "log"));
    double tries = cJSON_GetNumberValue(get(counters, "t"));
    last = tries >= most ? most : tries > 1 ? (uint32_t)tries : 1;
    cJSON_Delete(counters);
    if (!counts) {
      fail("a log that can be read", "another", -1);
      return false;
    }
  }
  while (run->step.kind == HOLDOFF_ATTEMPT && run->step.attempt < last) {
    holdoff_step step = holdoff_call_fail(&run->call, &run->policy, holdoff_step_ticket(run->step), run->now,
                                          holdoff_failure_of(HOLDOFF_TRANSIENT));
    run->now = step.at;
    if (!resume(run)) {
      return false;
    }
  }
  return true;
}

/*
 * Calls the task once; whether it succeeds. "null:" is an exception without a message, "error:" a java.lang.Error, which is
 * wrapped.
 */
static bool call_task(registry *run) {
  const cJSON *input = cJSON_GetArrayItem(run->inputs, run->timed ? 0 : run->calls);
  const char *text;
  if (run->timed) {
    if (++run->calls > whole(input, "slow_calls")) {
      return true;
    }
    run->now = run->step.at;
    return false;
  }
  run->calls++;
  text = cJSON_GetStringValue(input);
  text = text != NULL ? text : "called more often than recorded";
  run->thrown = "RuntimeException";
  run->has_message = strncmp(text, "null:", 5) != 0;
  if (strncmp(text, "error:", 6) == 0) {
    run->thrown = "Exception";
    snprintf(run->message, sizeof run->message, "java.lang.StackOverflowError: %s", text + 6);
  } else {
    snprintf(run->message, sizeof run->message, "%s", text);
  }
  return strcmp(text, "ok") == 0;
}

/* The delay that the log has for the wait after an attempt; NULL without one. */
static const cJSON *logged(const registry *run, uint32_t attempt) {
  const cJSON *event, *delay;
  if (cJSON_IsFalse(get(run->config, "event_store"))) {
    return NULL;
  }
  cJSON_ArrayForEach(event, get(run->config, "log")) {
    delay = get(event, "backoff_delay_ms");
    if (strcmp(word(event, "type"), "RETRY_SCHEDULED") == 0 && strcmp(word(event, "taskId"), "t") == 0 &&
        whole(event, "attempt_number") == (int64_t)attempt + 1 && delay != NULL && !cJSON_IsNull(delay)) {
      return delay;
    }
  }
  return NULL;
}

/*
 * What the machine is told. A delay from the log is a hint; false if the log should say one and does not, or if nobody is there
 * to be told of a retry.
 */
static bool told(const registry *run, uint32_t attempt, holdoff_failure *failure) {
  const cJSON *workflow = get(run->config, "workflow_id"), *delay;
  *failure = holdoff_failure_of(run->thrown == NULL ? HOLDOFF_TIMEOUT : HOLDOFF_TRANSIENT);
  if (attempt >= holdoff_policy_attempts(&run->policy)) {
    return true;
  }
  if (!run->timed && (workflow == NULL || cJSON_IsNull(workflow))) {
    return false;
  }
  if (!truth(run->config, "replay")) {
    return true;
  }
  delay = logged(run, attempt);
  if (delay != NULL) {
    failure->hint = HOLDOFF_HINT_AFTER;
    failure->hint_ns = whole_of(delay) > 0 ? number_of(delay) : 0;
  }
  return delay != NULL;
}

static void append(registry *run, uint32_t attempt, uint64_t delay) {
  int before = cJSON_GetArraySize(get(run->config, "log")) + cJSON_GetArraySize(run->events);
  cJSON *event = cJSON_CreateObject(), *payload;
  cJSON_AddNumberToObject(event, "seq", before + 1);
  cJSON_AddStringToObject(event, "type", "RETRY_SCHEDULED");
  payload = cJSON_AddObjectToObject(event, "payload");
  cJSON_AddStringToObject(payload, "reason", reason(run));
  cJSON_AddStringToObject(payload, "taskId", "t");
  cJSON_AddNumberToObject(event, "attempt_number", attempt + 1);
  cJSON_AddItemToObject(event, "backoff_delay_ms", made((int64_t)delay));
  cJSON_AddStringToObject(event, "failure_reason", reason(run));
  cJSON_AddItemToArray(run->events, event);
}

static void add_text(cJSON *object, const char *name, const char *text) {
  cJSON_AddItemToObject(object, name, text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

/* What a recording says about the end of the run. */
static cJSON *report(const registry *run) {
  cJSON *got = cJSON_CreateObject();
  bool stops = run->step.kind == HOLDOFF_STOP, throws = stops && run->step.outcome == HOLDOFF_GAVE_UP;
  bool stored = !cJSON_IsFalse(get(run->config, "event_store"));
  const char *message = run->has_message ? run->message : NULL;
  char text[320];
  cJSON_AddStringToObject(got, "outcome", !stops ? "hangs" : throws ? "throws" : "ok");
  cJSON_AddNumberToObject(got, "calls", run->calls);
  cJSON_AddStringToObject(got, "status", !stops ? "RUNNING" : throws ? "FAILED" : "COMPLETED");
  cJSON_AddItemToObject(got, "events", stored ? cJSON_Duplicate(run->events, true) : cJSON_CreateArray());
  if (!run->timed) {
    cJSON_AddItemToObject(got, "attempt_counter_after",
                          stops ? cJSON_CreateNull() : cJSON_CreateNumber(holdoff_call_attempt(&run->call)));
  }
  if (!throws) {
    return got;
  }
  if (run->thrown == NULL) {
    cJSON_AddStringToObject(got, "class", "RuntimeException");
    cJSON_AddStringToObject(got, "message", "Async task execution failed");
    cJSON_AddStringToObject(got, "cause_class", "TimeoutException");
    cJSON_AddStringToObject(got, "cause_message", reason(run));
    return got;
  }
  snprintf(text, sizeof text, "Max retries (%" PRId64 ") exceeded: %s", whole(run->config, "max_attempts"),
           message != NULL ? message : "null");
  cJSON_AddStringToObject(got, "class", "MaxRetriesExceededException");
  cJSON_AddStringToObject(got, "message", text);
  cJSON_AddItemToObject(got, "max_attempts", made(whole(run->config, "max_attempts")));
  add_text(got, "failure_reason", message);
  cJSON_AddStringToObject(got, "cause_class", run->thrown);
  add_text(got, "cause_message", message);
  return got;
}

/* Runs the task to its end; false when it was said what is wrong. */
static bool drive(registry *run) {
  uint32_t attempt = 0;
  if (!begin(run)) {
    return false;
  }
  while (run->step.kind == HOLDOFF_ATTEMPT || run->step.kind == HOLDOFF_SLEEP) {
    if (run->step.kind == HOLDOFF_SLEEP) {
      append(run, attempt, span_until(run->step.at, run->now));
      run->now = run->step.at;
      if (!resume(run)) {
        return false;
      }
    } else {
      uint64_t ticket = holdoff_step_ticket(run->step);
      holdoff_failure failure;
      attempt = run->step.attempt;
      if (call_task(run)) {
        run->step = holdoff_call_succeed(&run->call, ticket, run->now);
      } else if (told(run, attempt, &failure)) {
        run->step = holdoff_call_fail(&run->call, &run->policy, ticket, run->now, failure);
      } else {
        /* The registry throws where nobody hears it: the machine is not told, and waits for the attempt. */
        run->step = holdoff_call_tick(&run->call, &run->policy, run->now);
      }
    }
  }
  return true;
}

/* Takes over the recorded delays where ours is the longest one: there they wrapped. */
static void adopt(const cJSON *expected, cJSON *got) {
  const cJSON *recorded = first(get(expected, "events"));
  cJSON *event;
  cJSON_ArrayForEach(event, get(got, "events")) {
    const cJSON *delay = get(recorded, "backoff_delay_ms");
    if (delay != NULL && number(event, "backoff_delay_ms") == HOLDOFF_LONGEST_NS &&
        !cJSON_Compare(delay, get(event, "backoff_delay_ms"), true)) {
      cJSON_ReplaceItemInObjectCaseSensitive(event, "backoff_delay_ms", cJSON_Duplicate(delay, true));
      counted.deviations++;
    }
    recorded = recorded != NULL ? recorded->next : NULL;
  }
}

/* run, run_with_timeout. */
static verdict flow(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected"));
  verdict judged = FAILED;
  registry run;
  int code;
  memset(&run, 0, sizeof run);
  run.config = config;
  run.inputs = get(item, "inputs");
  run.timed = strcmp(word(config, "op"), "run") != 0;
  code = policy_for(config, get(config, "max_attempts"), &run.policy);
  if (code != 0) {
    return refused(config, code);
  }
  run.events = cJSON_CreateArray();
  if (drive(&run)) {
    cJSON *got = report(&run);
    adopt(expected, got);
    judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
    cJSON_Delete(got);
  }
  cJSON_Delete(run.events);
  return judged;
}

verdict run_aster(const cJSON *item) {
  static const struct {
    const char *op;
    verdict (*run)(const cJSON *);
  } OPS[] = {
      {"calculateBackoff", formula},
      {"run", flow},
      {"run_with_timeout", flow},
      {"restoreRetryState", run_aster_restore},
      {"scheduleRetry", run_aster_schedule},
      {"poll", run_aster_poll},
      {"nextInt", run_aster_draws},
      {"nextDouble", run_aster_draws},
  };
  const char *op = word(get(item, "config"), "op");
  size_t at;
  for (at = 0; at < sizeof OPS / sizeof *OPS; at++) {
    if (strcmp(op, OPS[at].op) == 0) {
      return OPS[at].run(item);
    }
  }
  return fail("an op that is known", op, -1);
}
