/* Vectors of the machines. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A step as one line of text. */
static void show(holdoff_step step, char *out) {
  char at[24], wake[24];
  const char *kind = holdoff_word(HOLDOFF_WORD_STEP, step.kind), *when = time_text(step.at, at);
  switch (step.kind) {
    case HOLDOFF_ATTEMPT:
      sprintf(out, "attempt %" PRIu32 " abort_at %s wake_at %s", step.attempt, when, time_text(step.wake_at, wake));
      break;
    case HOLDOFF_SLEEP:
      sprintf(out, "sleep until %s cause %s", when, holdoff_word(HOLDOFF_WORD_CAUSE, step.cause));
      break;
    case HOLDOFF_WAIT:
      sprintf(out, "wait until %s", when);
      break;
    default:
      if (step.outcome == HOLDOFF_GAVE_UP) {
        sprintf(out, "%s gave_up reason %s retry_at %s", kind, holdoff_word(HOLDOFF_WORD_REASON, step.reason), when);
      } else {
        sprintf(out, "%s %s %u", kind, holdoff_word(HOLDOFF_WORD_OUTCOME, step.outcome), step.reason);
      }
  }
}

/* The step that a vector expects, in the same text. */
static void show_expected(const cJSON *step, char *out, size_t size) {
  const char *kind = word(step, "kind"), *outcome = word(step, "outcome");
  char one[24], two[24];
  if (strcmp(kind, "attempt") == 0) {
    snprintf(out, size, "attempt %" PRIu64 " abort_at %s wake_at %s", number(step, "attempt"),
             time_text(number(step, "abort_at"), one), time_text(number(step, "wake_at"), two));
  } else if (strcmp(kind, "sleep") == 0) {
    snprintf(out, size, "sleep until %s cause %s", time_text(number(step, "until"), one), word(step, "cause"));
  } else if (strcmp(kind, "wait") == 0) {
    snprintf(out, size, "wait until %s", time_text(number(step, "until"), one));
  } else if (strcmp(kind, "give_up") == 0 || strcmp(outcome, "gave_up") == 0) {
    snprintf(out, size, "stop gave_up reason %s retry_at %s", word(step, "reason"),
             time_text(number(step, "retry_at"), one));
  } else {
    snprintf(out, size, "%s %s 0", kind, outcome);
  }
}

verdict same_step(holdoff_step step, const cJSON *expected, int at) {
  char got[160], wanted[160];
  show(step, got);
  show_expected(expected, wanted, sizeof wanted);
  return compare(wanted, got, at);
}

/* What a call says to an event that is not lazy. */
static bool drive(holdoff_call *call, const holdoff_policy *policy, uint64_t seed, const cJSON *event,
                  holdoff_step *step) {
  const char *op = word(event, "op");
  uint64_t now = number(event, "now"), ticket = number(event, "ticket");
  if (strcmp(op, "begin") == 0) {
    *step = holdoff_call_begin(call, policy, seed, now);
  } else if (strcmp(op, "succeed") == 0) {
    *step = holdoff_call_succeed(call, ticket, now);
  } else if (strcmp(op, "fail") == 0) {
    *step = holdoff_call_fail(call, policy, ticket, now, failure_of(get(event, "failure")));
  } else if (strcmp(op, "tick") == 0) {
    *step = holdoff_call_tick(call, policy, now);
  } else if (strcmp(op, "cancel") == 0) {
    *step = holdoff_call_cancel(call, now);
  } else {
    return false;
  }
  return true;
}

/* Drives a call through events, and holds its steps against those expected unless that is NULL. */
static verdict play(holdoff_call *call, const holdoff_policy *policy, uint64_t seed, const cJSON *events,
                    const cJSON *steps) {
  const cJSON *event, *expected = steps != NULL ? steps->child : NULL;
  int at = 0;
  if (steps != NULL && cJSON_GetArraySize(events) != cJSON_GetArraySize(steps)) {
    return fail("as many steps as events", "another number", -1);
  }
  cJSON_ArrayForEach(event, events) {
    holdoff_step step;
    if (strcmp(word(event, "op"), "underway") == 0) {
      holdoff_call_underway(call, seed, number(event, "started"));
      if (expected != NULL && !cJSON_IsNull(expected)) {
        return fail("a step", "none", at);
      }
    } else if (!drive(call, policy, seed, event, &step)) {
      return fail("an event that is known", word(event, "op"), at);
    } else if (expected != NULL && same_step(step, expected, at) == FAILED) {
      return FAILED;
    }
    expected = expected != NULL ? expected->next : NULL;
    at++;
  }
  return PASSED;
}

verdict run_call(const cJSON *item) {
  holdoff_policy policy;
  holdoff_call call;
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  memset(&call, 0, sizeof call);
  return play(&call, &policy, number(item, "seed"), get(item, "events"), get(item, "steps"));
}

/* Decides about failures, and holds the decisions against those expected unless that is NULL. */
static verdict decide(holdoff_retry *retry, const holdoff_policy *policy, const cJSON *failures,
                      const cJSON *decisions) {
  const cJSON *event, *expected = decisions != NULL ? decisions->child : NULL;
  int at = 0;
  if (decisions != NULL && cJSON_GetArraySize(failures) != cJSON_GetArraySize(decisions)) {
    return fail("as many decisions as failures", "another number", -1);
  }
  cJSON_ArrayForEach(event, failures) {
    holdoff_failure failure = failure_of(get(event, "failure"));
    holdoff_step step = holdoff_retry_on_failure(retry, policy, number(event, "now"), failure);
    if (expected != NULL && same_step(step, expected, at++) == FAILED) {
      return FAILED;
    }
    expected = expected != NULL ? expected->next : NULL;
  }
  return PASSED;
}

verdict run_retry(const cJSON *item) {
  holdoff_policy policy;
  holdoff_retry retry;
  if (get(item, "tokens") != NULL) {
    return run_paid(item);
  }
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  holdoff_retry_init(&retry, number(item, "seed"), number(item, "started"));
  return decide(&retry, &policy, get(item, "failures"), get(item, "decisions"));
}

static verdict same_delay(bool there, uint64_t got, uint64_t wanted, uint64_t within, int at) {
  char one[24], two[24];
  uint64_t apart = got > wanted ? got - wanted : wanted - got;
  return there && apart <= within ? PASSED : fail(time_text(wanted, one), there ? time_text(got, two) : "the end", at);
}

static verdict same_end(holdoff_schedule *schedule, const cJSON *ends, int at) {
  bool wanted = cJSON_IsTrue(ends), more;
  if (ends == NULL || cJSON_IsNull(ends)) {
    return PASSED;
  }
  more = holdoff_schedule_next(schedule, NULL);
  return more != wanted ? PASSED : fail(wanted ? "the end" : "another delay", more ? "another delay" : "the end", at);
}

verdict run_schedule(const cJSON *item) {
  holdoff_policy policy;
  holdoff_schedule schedule;
  const cJSON *delay;
  int at = 0;
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  holdoff_schedule_init(&schedule, &policy, number(item, "seed"));
  cJSON_ArrayForEach(delay, get(item, "delays")) {
    uint64_t got = 0;
    bool there = holdoff_schedule_next(&schedule, &got);
    if (same_delay(there, got, number_of(delay), 0, at++) == FAILED) {
      return FAILED;
    }
  }
  return same_end(&schedule, get(item, "ends"), at);
}

verdict run_backoff(const cJSON *item) {
  holdoff_policy policy;
  holdoff_schedule schedule;
  const cJSON *delay, *kinds = get(item, "kinds"), *uniforms = get(item, "uniforms");
  int at = 0;
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  holdoff_schedule_init(&schedule, &policy, 0);
  cJSON_ArrayForEach(delay, get(item, "delays")) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(kinds, at));
    double u = real_of(cJSON_GetArrayItem(uniforms, at));
    uint64_t got = 0;
    bool there = holdoff_schedule_next_at(&schedule, kind_of(name != NULL ? name : "transient"), u, &got);
    if (same_delay(there, got, number_of(delay), number(item, "within"), at++) == FAILED) {
      return FAILED;
    }
  }
  return same_end(&schedule, get(item, "ends"), at);
}

verdict run_duration(const cJSON *item) {
  const cJSON *expected = get(item, "nanos");
  bool is_one = expected != NULL && !cJSON_IsNull(expected);
  uint64_t got = 0;
  char one[24], two[24];
  bool read = holdoff_parse_duration(word(item, "text"), &got) == 0;
  return compare(is_one ? time_text(number_of(expected), one) : "no duration", read ? time_text(got, two) : "no duration",
                 -1);
}

verdict run_seed(const cJSON *item) {
  char one[24], two[24];
  sprintf(one, "%" PRIu64, number(item, "seed"));
  sprintf(two, "%" PRIu64, holdoff_seed_at(number(item, "n"), number(item, "k")));
  return compare(one, two, -1);
}

/* A state read from a case's bytes, or from its JSON. */
static int read_state(const cJSON *item, bool by_json, holdoff_saved *saved, holdoff_problem *problem) {
  char bytes[256], *text;
  int code;
  if (!by_json) {
    return holdoff_saved_from_bytes(saved, bytes, unhex(word(item, "bytes"), bytes, sizeof bytes), problem);
  }
  text = cJSON_PrintUnformatted(get(item, "json"));
  code = holdoff_saved_from_json(saved, text, strlen(text), problem);
  free(text);
  return code;
}

/* Whether a saved state is written as the case has it, in bytes and in JSON. */
static verdict same_state(const cJSON *item, const holdoff_saved *saved) {
  char bytes[HOLDOFF_SAVED_CALL], text[2 * HOLDOFF_SAVED_CALL + 1], json[512];
  cJSON *written;
  bool same;
  hex(bytes, holdoff_saved_bytes(saved, bytes, sizeof bytes), text);
  if (compare(word(item, "bytes"), text, -1) == FAILED) {
    return FAILED;
  }
  holdoff_saved_json(saved, json, sizeof json);
  written = read_json(json);
  same = cJSON_Compare(written, get(item, "json"), true);
  cJSON_Delete(written);
  return same ? PASSED : fail("the JSON of the case", json, -1);
}

verdict run_save(const cJSON *item) {
  bool is_call = strcmp(word(item, "machine"), "call") == 0;
  uint64_t seed = number(item, "seed"), saved_at = number(item, "saved_at"), resumed_at = number(item, "resumed_at");
  holdoff_policy policy;
  holdoff_call call;
  holdoff_retry retry;
  holdoff_saved saved;
  holdoff_problem problem;
  int by_json;
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  memset(&call, 0, sizeof call);
  if (is_call) {
    play(&call, &policy, seed, get(item, "events"), NULL);
    holdoff_call_save(&call, &policy, saved_at, &saved);
  } else {
    holdoff_retry_init(&retry, seed, number(item, "started"));
    decide(&retry, &policy, get(item, "failures"), NULL);
    holdoff_retry_save(&retry, &policy, saved_at, &saved);
  }
  if (same_state(item, &saved) == FAILED) {
    return FAILED;
  }
  for (by_json = 0; by_json < 2; by_json++) {
    verdict went;
    int code = read_state(item, by_json != 0, &saved, &problem);
    if (code == 0 && is_call) {
      code = holdoff_call_resume(&call, &saved, &policy, resumed_at, &problem);
    } else if (code == 0) {
      code = holdoff_retry_resume(&retry, &saved, &policy, resumed_at, &problem);
    }
    if (code != 0) {
      return fail("a state to resume", problem.rule, -1);
    }
    went = is_call ? play(&call, &policy, 0, get(item, "then"), get(item, "steps"))
                   : decide(&retry, &policy, get(item, "then"), get(item, "decisions"));
    if (went == FAILED) {
      return FAILED;
    }
  }
  return PASSED;
}

verdict run_resume(const cJSON *item) {
  holdoff_policy policy;
  holdoff_call call;
  holdoff_retry retry;
  holdoff_saved saved;
  holdoff_problem problem;
  int code;
  if (!policy_of(item, &policy)) {
    return FAILED;
  }
  code = read_state(item, get(item, "json") != NULL, &saved, &problem);
  if (code == 0 && truth(item, "forced")) {
    holdoff_saved_force(&saved, &policy);
  }
  if (code == 0) {
    code = strcmp(word(item, "machine"), "call") == 0 ? holdoff_call_resume(&call, &saved, &policy, 0, &problem)
                                                      : holdoff_retry_resume(&retry, &saved, &policy, 0, &problem);
  }
  return same_problem(get(item, "error"), code, &problem);
}

/* A limit of Chromium's in milliseconds, where -1 is none. */
static uint64_t limit(const cJSON *gate, const char *key) {
  int64_t ms = whole(gate, key);
  return ms < 0 ? HOLDOFF_NEVER : (uint64_t)ms;
}

static int gate_config(const cJSON *gate, holdoff_gate_config *config) {
  const char *preset = word(gate, "preset");
  if (strcmp(preset, "chromium") == 0) {
    return holdoff_gate_config_chromium(config, (uint32_t)number(gate, "num_errors_to_ignore"),
                                        number(gate, "initial_delay_ms"), real(gate, "multiply_factor"),
                                        real(gate, "jitter_factor"), limit(gate, "maximum_backoff_ms"),
                                        limit(gate, "entry_lifetime_ms"), truth(gate, "always_use_initial_delay"));
  }
  if (strcmp(preset, "flowcontrol") == 0) {
    return holdoff_gate_config_flowcontrol(config, number(gate, "initial"), number(gate, "max"),
                                           real(gate, "max_jitter"));
  }
  if (strcmp(preset, "item_exponential") == 0) {
    return holdoff_gate_config_item_exponential(config, number(gate, "base"), number(gate, "max"));
  }
  return holdoff_gate_config_fast_slow(config, number(gate, "fast"), number(gate, "slow"),
                                       whole(gate, "max_fast_attempts"));
}

verdict run_gate(const cJSON *item) {
  const cJSON *op, *expected = get(item, "answers");
  holdoff_gate_config config;
  holdoff_gate gate;
  int at = 0;
  if (get(item, "most") != NULL) {
    /* A map of gates is the program's own. */
    return OUT_OF_DOMAIN;
  }
  memset(&gate, 0, sizeof gate);
  if (gate_config(get(item, "gate"), &config) != 0) {
    return fail("a valid gate", "an error", -1);
  }
  if (cJSON_GetArraySize(get(item, "ops")) != cJSON_GetArraySize(expected)) {
    return fail("as many answers as ops", "another number", -1);
  }
  expected = expected->child;
  cJSON_ArrayForEach(op, get(item, "ops")) {
    const char *name = word(op, "op");
    uint64_t now = number(op, "now");
    char got[80], wanted[80];
    if (strcmp(name, "failure") == 0) {
      holdoff_gate_failure(&gate, &config, now, real(op, "u"));
    } else if (strcmp(name, "success") == 0) {
      holdoff_gate_success(&gate, &config, now);
    } else if (strcmp(name, "release_at") == 0) {
      holdoff_gate_release_at(&gate, number(op, "at"));
    } else if (strcmp(name, "forget") == 0) {
      memset(&gate, 0, sizeof gate);
    }
    sprintf(got, "reject %d release %" PRIu64 " can_discard %d", !holdoff_gate_is_open(&gate, now),
            gate.opens_at, holdoff_gate_is_discardable(&gate, &config, now));
    sprintf(wanted, "reject %d release %" PRIu64 " can_discard %d", truth(expected, "reject"),
            number(expected, "release"), truth(expected, "can_discard"));
    if (compare(wanted, got, at++) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return PASSED;
}

/* The layers of a case; false when it was said that they are refused. */
static bool layers_of(const cJSON *item, holdoff_layers *layers) {
  const cJSON *reasons = get(item, "go_on_after"), *reason;
  holdoff_policy outer, inner;
  uint32_t stop;
  if (!policy_from(get(item, "outer"), &outer) || !policy_from(get(item, "inner"), &inner)) {
    return false;
  }
  if (holdoff_layers_init(layers, &outer, &inner, (uint32_t)number(item, "attempts")) != 0) {
    fail("valid layers", "an error", -1);
    return false;
  }
  for (stop = HOLDOFF_REASON_PERMANENT; reasons != NULL && stop <= HOLDOFF_REASON_CANCELLED; stop++) {
    bool goes_on = false;
    cJSON_ArrayForEach(reason, reasons) {
      goes_on = goes_on || strcmp(reason->valuestring, holdoff_word(HOLDOFF_WORD_REASON, stop)) == 0;
    }
    holdoff_layers_go_on_after(layers, stop, goes_on);
  }
  return true;
}

/* Does what an event says; false for one that is not known. The step of a call that is underway is left alone. */
static bool drive_layered(holdoff_layered *call, const holdoff_layers *layers, uint64_t seed, const cJSON *event,
                          holdoff_step *step) {
  const char *op = word(event, "op");
  uint64_t now = number(event, "now"), ticket = number(event, "ticket");
  if (strcmp(op, "begin") == 0) {
    *step = holdoff_layered_begin(call, layers, seed, now);
  } else if (strcmp(op, "underway") == 0) {
    holdoff_layered_underway(call, layers, seed, number(event, "started"));
  } else if (strcmp(op, "succeed") == 0) {
    *step = holdoff_layered_succeed(call, ticket, now);
  } else if (strcmp(op, "fail") == 0) {
    const cJSON *given = get(event, "outward");
    holdoff_failure outward = failure_of(given);
    *step = holdoff_layered_fail(call, layers, ticket, now, failure_of(get(event, "failure")),
                                 given != NULL ? &outward : NULL);
  } else if (strcmp(op, "tick") == 0) {
    *step = holdoff_layered_tick(call, layers, now);
  } else if (strcmp(op, "cancel") == 0) {
    *step = holdoff_layered_cancel(call, now);
  } else {
    return false;
  }
  return true;
}

/* A word of a vector, or "none" for null. */
static const char *word_or_none(const cJSON *object, const char *key) {
  return cJSON_IsString(get(object, key)) ? word(object, key) : "none";
}

verdict run_layers(const cJSON *item) {
  static const char *const LEVELS[] = {"none", "inner", "outer", "cap"};
  const cJSON *event, *expected = get(item, "answers");
  holdoff_layers layers;
  holdoff_layered call;
  int at = 0;
  memset(&call, 0, sizeof call);
  if (!layers_of(item, &layers)) {
    return FAILED;
  }
  if (cJSON_GetArraySize(get(item, "events")) != cJSON_GetArraySize(expected)) {
    return fail("as many answers as events", "another number", -1);
  }
  expected = expected->child;
  cJSON_ArrayForEach(event, get(item, "events")) {
    char got[160], wanted[160];
    holdoff_step step;
    memset(&step, 0, sizeof step);
    if (!drive_layered(&call, &layers, number(item, "seed"), event, &step)) {
      return fail("an event that is known", word(event, "op"), at);
    }
    if (!cJSON_IsNull(get(expected, "step")) && same_step(step, get(expected, "step"), at) == FAILED) {
      return FAILED;
    }
    snprintf(got, sizeof got, "outer %" PRIu32 " inner %" PRIu32 " stopped by %s reason %s",
             holdoff_layered_outer_attempt(&call), holdoff_layered_inner_attempt(&call),
             LEVELS[holdoff_layered_stopped_by(&call)],
             holdoff_word(HOLDOFF_WORD_REASON, holdoff_layered_inner_reason(&call)));
    snprintf(wanted, sizeof wanted, "outer %" PRIu64 " inner %" PRIu64 " stopped by %s reason %s",
             number(expected, "outer_attempt"), number(expected, "inner_attempt"),
             word_or_none(expected, "stopped_by"), word_or_none(expected, "inner_reason"));
    if (compare(wanted, got, at++) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return PASSED;
}

verdict run_chaos(const cJSON *item) {
  const cJSON *ask, *expected = first(get(item, "answers"));
  holdoff_chaos chaos;
  int at = 0;
  if (holdoff_chaos_init(&chaos, number(item, "seed"), real(item, "failure_rate"), real(item, "latency_rate"),
                         number(item, "shortest"), number(item, "longest")) != 0) {
    return fail("a valid chaos", "an error", -1);
  }
  cJSON_ArrayForEach(ask, get(item, "asks")) {
    char got[48], wanted[48], time[24];
    if (expected == NULL) {
      return fail("as many answers as asks", "fewer", at);
    }
    time_text(holdoff_chaos_latency(&chaos, number_of(ask)), time);
    snprintf(got, sizeof got, "%d %s", holdoff_chaos_fails(&chaos, number_of(ask)), time);
    time_text(number(expected, "latency"), time);
    snprintf(wanted, sizeof wanted, "%d %s", cJSON_IsTrue(get(expected, "fails")), time);
    if (compare(wanted, got, at++) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return PASSED;
}

verdict run_loop_backoff(const cJSON *item) {
  const cJSON *of = get(item, "backoff"), *reset = get(item, "reset"), *ask, *expected = first(get(item, "delays"));
  bool quiet = get(reset, "after_quiet") != NULL, every = get(reset, "every") != NULL;
  holdoff_wait_backoff wait_backoff;
  holdoff_loop_backoff loop_backoff;
  int at = 0;
  if (holdoff_wait_backoff_init(&wait_backoff, number(of, "duration"), real(of, "factor"), real(of, "jitter"),
                                number(of, "cap"), number(of, "steps")) != 0 ||
      holdoff_loop_backoff_init(&loop_backoff, &wait_backoff,
                                quiet   ? HOLDOFF_RESET_AFTER_QUIET
                                : every ? HOLDOFF_RESET_EVERY
                                        : HOLDOFF_RESET_NEVER,
                                number(reset, quiet ? "after_quiet" : "every"), number(item, "made")) != 0) {
    return fail("a valid loop backoff", "an error", -1);
  }
  cJSON_ArrayForEach(ask, get(item, "asks")) {
    char got[24], wanted[24];
    if (expected == NULL) {
      return fail("as many delays as asks", "fewer", at);
    }
    time_text(holdoff_loop_backoff_next(&loop_backoff, number(ask, "now"), real(ask, "u")), got);
    time_text(number_of(expected), wanted);
    if (compare(wanted, got, at++) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return PASSED;
}
