/* Calls that are written down: what goes into a log, and what comes out of it. */
#include "check.h"

static const holdoff_failure lost = {HOLDOFF_TRANSIENT, HOLDOFF_HINT_NONE, 0, 0};
static const holdoff_guards none = {0};

/* A log in memory: the bytes that a host would have put into a file, and the events. */
typedef struct written {
  holdoff_event events[32];
  size_t count, length;
  char bytes[32 * (HOLDOFF_EVENT_BYTES + 32)];
} written;

static holdoff_event_fields fields_of(const holdoff_event *event) {
  holdoff_event_fields fields;
  CHECK_NUMBER(holdoff_event_get(event, &fields), HOLDOFF_OK);
  return fields;
}

static void write_down(written *log, const holdoff_events *events) {
  uint64_t at;
  for (at = 0; at < events->count; at++) {
    const holdoff_event *event = &events->events[at];
    const char *failure = fields_of(event).kind == HOLDOFF_EVENT_ATTEMPT_FAILED ? "refused" : NULL;
    size_t length = holdoff_event_bytes(event, failure, log->bytes + log->length, sizeof log->bytes - log->length);
    CHECK(length > 0 && log->count < 32);
    log->events[log->count++] = *event;
    log->length += length;
  }
}

/* The first attempt failed and was written down; the second is due after the delay. */
static holdoff_recorder asleep(const holdoff_policy *policy, written *log) {
  holdoff_recorder call;
  holdoff_events events;
  memset(log, 0, sizeof *log);
  holdoff_recorder_begin(&call, policy, NULL, 7, 1000 * SECOND, &events);
  write_down(log, &events);
  holdoff_recorder_fail(&call, policy, NULL, 1, 1001 * SECOND, lost, &events);
  write_down(log, &events);
  return call;
}

/* The same, and the second attempt runs: it began one second later. */
static holdoff_recorder in_flight(const holdoff_policy *policy, written *log) {
  holdoff_recorder call = asleep(policy, log);
  holdoff_events events;
  holdoff_recorder_tick(&call, policy, NULL, 1002 * SECOND, &events);
  write_down(log, &events);
  return call;
}

static int replay(holdoff_recorder *call, const holdoff_policy *policy, const written *log, uint32_t mode,
                  holdoff_divergence *divergence) {
  return holdoff_replay(call, policy, log->bytes, log->length, mode, divergence, NULL);
}

/* Replays events that a program has kept as they are. */
static int replay_events(holdoff_recorder *call, const holdoff_policy *policy, const holdoff_event *events, size_t count,
                         uint32_t mode, holdoff_divergence *divergence) {
  char bytes[32 * HOLDOFF_EVENT_BYTES];
  size_t length = 0, at;
  for (at = 0; at < count; at++) {
    length += holdoff_event_bytes(&events[at], NULL, bytes + length, sizeof bytes - length);
  }
  return holdoff_replay(call, policy, bytes, length, mode, divergence, NULL);
}

static void a_call_says_what_to_write_down(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_recorder call;
  holdoff_events events;
  holdoff_event_fields fields;
  holdoff_step step = holdoff_recorder_begin(&call, &policy, NULL, 7, 1000 * SECOND, &events);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(events.count, 1);
  fields = fields_of(&events.events[0]);
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_EVENT, fields.kind), "STARTED");
  CHECK_NUMBER(fields.sequence, 1);
  CHECK_NUMBER(fields.at, 1000 * SECOND);
  CHECK_NUMBER(fields.seed, 7);
  CHECK_NUMBER(fields.policy, holdoff_policy_fingerprint(&policy));
  CHECK(!fields.is_guarded);
  CHECK_NUMBER(fields.until, HOLDOFF_NEVER);

  step = holdoff_recorder_fail(&call, &policy, NULL, holdoff_step_ticket(step), 1001 * SECOND, lost, &events);
  CHECK_NUMBER(step.at, 1002 * SECOND);
  CHECK_NUMBER(events.count, 2);
  fields = fields_of(&events.events[0]);
  CHECK_NUMBER(fields.kind, HOLDOFF_EVENT_ATTEMPT_FAILED);
  CHECK_NUMBER(fields.failure.kind, HOLDOFF_TRANSIENT);
  CHECK_NUMBER(fields.attempt, 1);
  fields = fields_of(&events.events[1]);
  CHECK_NUMBER(fields.kind, HOLDOFF_EVENT_RETRY_SCHEDULED);
  CHECK_NUMBER(fields.attempt, 2);
  CHECK_NUMBER(fields.until, 1002 * SECOND);
  CHECK_NUMBER(fields.delay_ns, SECOND);
  CHECK_NUMBER(fields.cause, HOLDOFF_CAUSE_BACKOFF);
  CHECK_NUMBER(holdoff_recorder_remaining(&call, 1001 * SECOND), SECOND);

  step = holdoff_recorder_tick(&call, &policy, NULL, step.at, &events);
  CHECK_NUMBER(events.count, 1);
  CHECK_NUMBER(fields_of(&events.events[0]).kind, HOLDOFF_EVENT_RESUMED);
  step = holdoff_recorder_succeed(&call, NULL, holdoff_step_ticket(step), 1003 * SECOND, &events);
  CHECK_NUMBER(step.outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(fields_of(&events.events[0]).kind, HOLDOFF_EVENT_SUCCEEDED);
  CHECK_NUMBER(holdoff_recorder_sequence(&call), 5);
  CHECK_NUMBER(holdoff_recorder_attempt(&call), 2);
  CHECK_NUMBER(holdoff_recorder_started(&call), 1000 * SECOND);
}

static void what_changes_nothing_is_not_written_down(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call = asleep(&policy, &log), before = call;
  holdoff_events events;
  CHECK_NUMBER(holdoff_recorder_tick(&call, &policy, NULL, 1001 * SECOND, &events).kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(events.count, 0);
  /* The ticket of an attempt that is over. */
  CHECK_NUMBER(holdoff_recorder_succeed(&call, NULL, 1, 1001 * SECOND, &events).kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(events.count, 0);
  CHECK(memcmp(&call, &before, sizeof call) == 0);
  CHECK_NUMBER(holdoff_recorder_cancel(&call, NULL, 1001 * SECOND, &events).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(events.count, 1);
  CHECK_NUMBER(holdoff_recorder_cancel(&call, NULL, 1002 * SECOND, &events).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(events.count, 0);
}

static void an_end_says_why(void) {
  holdoff_policy policy = constant("1s", 1);
  holdoff_recorder call;
  holdoff_events events;
  holdoff_recorder_begin(&call, &policy, NULL, 7, 0, &events);
  holdoff_recorder_fail(&call, &policy, NULL, 1, SECOND, lost, &events);
  CHECK_NUMBER(fields_of(&events.events[1]).kind, HOLDOFF_EVENT_GAVE_UP);
  CHECK_NUMBER(fields_of(&events.events[1]).reason, HOLDOFF_REASON_ATTEMPTS);
  holdoff_recorder_begin(&call, &policy, NULL, 7, 0, &events);
  CHECK_NUMBER(holdoff_recorder_abandon(&call, NULL, 1, SECOND, &events).reason, HOLDOFF_REASON_PERMANENT);
  CHECK_NUMBER(fields_of(&events.events[0]).failure.kind, HOLDOFF_PERMANENT);
  CHECK_NUMBER(fields_of(&events.events[1]).reason, HOLDOFF_REASON_PERMANENT);
}

static void events_are_bytes_and_again_events(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  size_t at = 0, count = 0;
  in_flight(&policy, &log);
  while (at < log.length) {
    holdoff_event event;
    holdoff_problem problem;
    const char *failure;
    size_t used, length;
    CHECK_NUMBER(
        holdoff_event_from_bytes(&event, log.bytes + at, log.length - at, &used, &failure, &length, &problem),
        HOLDOFF_OK);
    CHECK_NUMBER(problem.code, 0);
    CHECK(memcmp(&event, &log.events[count], sizeof event) == 0);
    CHECK_NUMBER(length, count == 1 ? 7 : 0);
    CHECK(length == 0 || memcmp(failure, "refused", 7) == 0);
    CHECK_NUMBER(holdoff_event_from_bytes(&event, log.bytes + at, log.length - at, NULL, NULL, NULL, NULL), HOLDOFF_OK);
    at += used;
    count++;
  }
  CHECK_NUMBER(count, 4);
  CHECK_NUMBER(at, log.length);
}

static void bytes_that_do_not_fit_are_none(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  char bytes[HOLDOFF_EVENT_BYTES];
  size_t length, size;
  asleep(&policy, &log);
  length = holdoff_event_bytes(&log.events[0], NULL, bytes, sizeof bytes);
  CHECK(length > 0 && length <= sizeof bytes);
  for (size = 0; size < length; size++) {
    CHECK_NUMBER(holdoff_event_bytes(&log.events[0], NULL, bytes, size), 0);
  }
  CHECK_NUMBER(holdoff_event_bytes(&log.events[0], "\xff", bytes, sizeof bytes), 0);
}

static void cut_and_damaged_bytes_are_noticed(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call = in_flight(&policy, &log), kept = call;
  holdoff_event event = log.events[0];
  holdoff_divergence divergence;
  holdoff_problem problem;
  char line[300];
  size_t ends[4], whole = 0, number = 0, at, used = 0;
  while (whole < log.length) {
    holdoff_event_from_bytes(&event, log.bytes + whole, log.length - whole, &used, NULL, NULL, NULL);
    ends[number++] = whole += used;
  }
  for (at = 0; at < log.length; at++) {
    size_t next = 0;
    while (next < number && ends[next] <= at) {
      next++;
    }
    /* Cut between two events it is a shorter log, cut within one it is not. */
    if (at == 0) {
      CHECK_NUMBER(holdoff_replay(&call, &policy, log.bytes, at, HOLDOFF_REPLAY_VERIFY, NULL, NULL),
                   HOLDOFF_ERROR_LOG_EMPTY);
    } else if (ends[next - (next > 0)] == at) {
      CHECK_NUMBER(holdoff_replay(&call, &policy, log.bytes, at, HOLDOFF_REPLAY_VERIFY, NULL, NULL), HOLDOFF_OK);
    } else {
      call = kept;
      CHECK_NUMBER(holdoff_replay(&call, &policy, log.bytes, at, HOLDOFF_REPLAY_VERIFY, &divergence, NULL),
                   HOLDOFF_ERROR_EVENT_CUT);
      CHECK_NUMBER(divergence.sequence, next + 1);
      CHECK(memcmp(&call, &kept, sizeof call) == 0);
    }
    call = kept;
    log.bytes[at] = (char)(log.bytes[at] ^ 1);
    CHECK(holdoff_replay(&call, &policy, log.bytes, log.length, HOLDOFF_REPLAY_FOLLOW, &divergence, &problem) >= 160);
    CHECK_NUMBER(divergence.sequence, next + 1);
    CHECK(memcmp(&call, &kept, sizeof call) == 0);
    log.bytes[at] = (char)(log.bytes[at] ^ 1);
  }
  event = log.events[3];
  CHECK_NUMBER(holdoff_event_from_bytes(&event, log.bytes, 9, &used, NULL, NULL, &problem), HOLDOFF_ERROR_EVENT_CUT);
  CHECK(memcmp(&event, &log.events[3], sizeof event) == 0);
  log.bytes[1] = 2;
  CHECK_NUMBER(holdoff_event_from_bytes(&event, log.bytes, log.length, &used, NULL, NULL, &problem),
               HOLDOFF_ERROR_EVENT_VERSION);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK(strstr(line, "version = 2") != NULL);
}

static void an_event_is_json_and_again_an_event(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_event read;
  char line[400], task[16], failure[16];
  int length;
  asleep(&policy, &log);
  length = holdoff_event_json(&log.events[1], "charge", "refused", line, sizeof line);
  CHECK_NUMBER((size_t)length, strlen(line));
  CHECK_TEXT(line, "{\"version\":1,\"sequence\":2,\"type\":\"ATTEMPT_FAILED\",\"at\":\"1001000000000\","
                   "\"attemptNumber\":1,\"failureReason\":\"refused\","
                   "\"payload\":{\"taskId\":\"charge\",\"reason\":\"refused\"},"
                   "\"failure\":\"transient\",\"hint\":\"none\"}");
  CHECK_NUMBER(holdoff_event_from_json(&read, line, (size_t)length, task, sizeof task, failure, sizeof failure, NULL),
               HOLDOFF_OK);
  CHECK(memcmp(&read, &log.events[1], sizeof read) == 0);
  CHECK_TEXT(task, "charge");
  CHECK_TEXT(failure, "refused");
  CHECK_NUMBER(holdoff_event_from_json(&read, line, (size_t)length, NULL, 0, NULL, 0, NULL), HOLDOFF_OK);
  /* A text of the line before is not that of this one. */
  length = holdoff_event_json(&log.events[0], NULL, NULL, line, sizeof line);
  CHECK_NUMBER(holdoff_event_from_json(&read, line, (size_t)length, task, sizeof task, failure, sizeof failure, NULL),
               HOLDOFF_OK);
  CHECK(memcmp(&read, &log.events[0], sizeof read) == 0);
  CHECK_TEXT(task, "");
  CHECK_TEXT(failure, "");
  CHECK_NUMBER((size_t)holdoff_event_json(&log.events[0], NULL, NULL, NULL, 0), (size_t)length);
  CHECK_NUMBER((size_t)holdoff_event_json(&log.events[0], "\xff", NULL, line, sizeof line), 0);
}

static int json_error(const char *json, holdoff_problem *problem) {
  holdoff_event event, before;
  char task[8], failure[8];
  int code;
  memset(&event, 7, sizeof event);
  before = event;
  code = holdoff_event_from_json(&event, json, strlen(json), task, sizeof task, failure, sizeof failure, problem);
  CHECK(code == 0 || memcmp(&event, &before, sizeof event) == 0);
  return code;
}

static void wrong_json_of_an_event_is_explained(void) {
  holdoff_problem problem;
  char line[300];
  CHECK_NUMBER(json_error("{", &problem), HOLDOFF_ERROR_NOT_JSON);
  CHECK_NUMBER(json_error("[]", &problem), HOLDOFF_ERROR_NOT_AN_OBJECT);
  CHECK_NUMBER(json_error("{\"sequence\":3,\"attemptNummer\":1}", &problem), HOLDOFF_ERROR_UNKNOWN_EVENT_FIELD);
  CHECK_TEXT(problem.nearest, "attemptNumber");
  CHECK_NUMBER(json_error("{\"version\":1,\"sequence\":3}", &problem), HOLDOFF_ERROR_MISSING_EVENT_FIELD);
  CHECK_TEXT(problem.path, "event 3, type");
  CHECK_NUMBER(json_error("{\"version\":2}", &problem), HOLDOFF_ERROR_EVENT_VERSION);
  CHECK_NUMBER(json_error("{\"type\":\"RESUMD\"}", &problem), HOLDOFF_ERROR_UNKNOWN_WORD);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK(strstr(line, "did you mean \"RESUMED\"") != NULL);
  CHECK_NUMBER(json_error("{\"failureReason\":\"far too long\"}", &problem), HOLDOFF_ERROR_NO_ROOM);
  CHECK_TEXT(problem.path, "failureReason");
  CHECK_NUMBER(json_error("{\"payload\":{\"taskId\":5}}", &problem), HOLDOFF_ERROR_WRONG_TYPE);
}

static void of_two_texts_of_a_failure_the_event_s_own_counts(void) {
  static const char *const lines[] = {
      "{\"version\":1,\"sequence\":2,\"type\":\"ATTEMPT_FAILED\",\"at\":\"5\",\"attemptNumber\":1,"
      "\"failureReason\":\"ours\",\"payload\":{\"reason\":\"Aster's\"},\"failure\":\"timeout\",\"hint\":\"none\"}",
      "{\"payload\":{\"reason\":\"Aster's\"},\"failureReason\":\"ours\",\"version\":1,\"sequence\":2,"
      "\"type\":\"ATTEMPT_FAILED\",\"at\":\"5\",\"attemptNumber\":1,\"failure\":\"timeout\",\"hint\":\"none\"}"};
  size_t at;
  for (at = 0; at < 2; at++) {
    holdoff_event event;
    char failure[16];
    CHECK_NUMBER(
        holdoff_event_from_json(&event, lines[at], strlen(lines[at]), NULL, 0, failure, sizeof failure, NULL),
        HOLDOFF_OK);
    CHECK_TEXT(failure, "ours");
  }
}

static void a_log_makes_the_recorder_that_wrote_it(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call = in_flight(&policy, &log), replayed;
  holdoff_divergence divergence;
  uint32_t mode;
  for (mode = HOLDOFF_REPLAY_FOLLOW; mode <= HOLDOFF_REPLAY_VERIFY; mode++) {
    memset(&replayed, 0, sizeof replayed);
    CHECK_NUMBER(replay(&replayed, &policy, &log, mode, &divergence), HOLDOFF_OK);
    CHECK(memcmp(&replayed, &call, sizeof call) == 0);
    CHECK_NUMBER(divergence.sequence, 0);
    CHECK(!divergence.has_recorded && !divergence.has_computed);
    memset(&replayed, 0, sizeof replayed);
    CHECK_NUMBER(replay_events(&replayed, &policy, log.events, log.count, mode, NULL), HOLDOFF_OK);
    CHECK(memcmp(&replayed, &call, sizeof call) == 0);
  }
  CHECK_NUMBER(holdoff_recorder_step(&replayed).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(holdoff_recorder_attempt(&replayed), 2);
}

static void another_policy_is_an_error_unless_any_is_taken(void) {
  holdoff_policy policy = constant("1s", 3), changed = constant("2s", 3);
  written log;
  holdoff_recorder call;
  holdoff_divergence divergence;
  holdoff_problem problem;
  holdoff_event_fields recorded, computed;
  char line[400];
  asleep(&policy, &log);
  CHECK_NUMBER(replay(&call, &changed, &log, HOLDOFF_REPLAY_FOLLOW, &divergence), HOLDOFF_ERROR_LOG_POLICY);
  CHECK_NUMBER(divergence.sequence, 1);
  /* To follow is to take what was decided; what comes next is the new policy's. */
  CHECK_NUMBER(replay(&call, &changed, &log, HOLDOFF_REPLAY_FOLLOW | HOLDOFF_REPLAY_ANY_POLICY, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_recorder_step(&call).at, 1002 * SECOND);
  CHECK_NUMBER(holdoff_replay(&call, &changed, log.bytes, log.length, HOLDOFF_REPLAY_VERIFY | HOLDOFF_REPLAY_ANY_POLICY,
                              &divergence, &problem),
               HOLDOFF_ERROR_LOG_DIVERGED);
  CHECK_NUMBER(divergence.sequence, 3);
  CHECK(divergence.has_recorded && divergence.has_computed);
  recorded = fields_of(&divergence.recorded);
  computed = fields_of(&divergence.computed);
  CHECK_NUMBER(recorded.delay_ns, SECOND);
  CHECK_NUMBER(computed.delay_ns, 2 * SECOND);
  holdoff_problem_text(&problem, line, sizeof line);
  CHECK(strstr(line, "event 3: ") == line);
  CHECK(strstr(line, "the policy says RETRY_SCHEDULED, attempt 2, in 2s (backoff)") != NULL);
}

static void events_that_are_no_log_are_told_from_one_another(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call, kept = in_flight(&policy, &log);
  holdoff_divergence divergence;
  holdoff_event mixed[4];
  struct {
    size_t events[4], count;
    int code;
    uint64_t sequence;
  } cases[] = {
      {{0, 0, 0, 0}, 0, HOLDOFF_ERROR_LOG_EMPTY, 1},      {{1, 2, 3, 0}, 3, HOLDOFF_ERROR_LOG_START, 1},
      {{0, 2, 3, 0}, 3, HOLDOFF_ERROR_LOG_GAP, 2},        {{0, 1, 1, 2}, 4, HOLDOFF_ERROR_LOG_TWICE, 2},
      {{0, 1, 2, 0}, 4, HOLDOFF_ERROR_LOG_ORDER, 1},
  };
  size_t at, place;
  call = kept;
  for (at = 0; at < sizeof cases / sizeof *cases; at++) {
    for (place = 0; place < 4; place++) {
      mixed[place] = log.events[cases[at].events[place]];
    }
    CHECK_NUMBER((unsigned)replay_events(&call, &policy, mixed, cases[at].count, HOLDOFF_REPLAY_FOLLOW, &divergence),
                 (unsigned)cases[at].code);
    CHECK_NUMBER(divergence.sequence, cases[at].sequence);
  }
  CHECK(memcmp(&call, &kept, sizeof call) == 0);
}

static void an_interrupted_attempt_runs_again_but_not_for_ever(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call;
  holdoff_events events;
  holdoff_step step;
  uint64_t now = 1010 * SECOND;
  uint32_t crash;
  in_flight(&policy, &log);
  for (crash = 1; crash <= 2; crash++) {
    CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
    CHECK_NUMBER(holdoff_recorder_reruns(&call), crash - 1);
    step = holdoff_recorder_resume(&call, &policy, NULL, now += SECOND, 2, &events);
    write_down(&log, &events);
    CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
    CHECK_NUMBER(step.attempt, 2);
    CHECK_NUMBER(holdoff_recorder_reruns(&call), crash);
    CHECK_NUMBER(fields_of(&events.events[0]).kind, HOLDOFF_EVENT_RESUMED);
  }
  CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
  step = holdoff_recorder_resume(&call, &policy, NULL, now += SECOND, 2, &events);
  write_down(&log, &events);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(events.count, 2);
  CHECK_NUMBER(fields_of(&events.events[0]).failure.kind, HOLDOFF_TIMEOUT);
  step = holdoff_recorder_tick(&call, &policy, NULL, step.at, &events);
  write_down(&log, &events);
  step = holdoff_recorder_succeed(&call, NULL, holdoff_step_ticket(step), step.at, &events);
  write_down(&log, &events);
  CHECK_NUMBER(step.outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_recorder_resume(&call, &policy, NULL, HOLDOFF_NEVER, 2, &events).outcome, HOLDOFF_SUCCEEDED);
  CHECK_NUMBER(events.count, 0);
}

static void a_sleep_goes_on_where_it_was(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call;
  holdoff_events events;
  holdoff_saved one, other;
  holdoff_recorder before = asleep(&policy, &log);
  CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_recorder_save(&before, &policy, 1001 * SECOND, &one), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_recorder_save(&call, &policy, 1001 * SECOND, &other), HOLDOFF_OK);
  CHECK(memcmp(&one, &other, sizeof one) == 0);
  CHECK_NUMBER(holdoff_recorder_resume(&call, &policy, NULL, 9999 * SECOND, 3, &events).at, 1002 * SECOND);
  CHECK_NUMBER(events.count, 0);
  CHECK_NUMBER(holdoff_recorder_tick(&call, &policy, NULL, 9999 * SECOND, &events).attempt, 2);
}

static void a_decision_that_was_cut_off_is_made_up_for(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call;
  holdoff_events events;
  holdoff_event missing;
  asleep(&policy, &log);
  missing = log.events[2];
  CHECK_NUMBER(replay_events(&call, &policy, log.events, 2, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
  CHECK_NUMBER(holdoff_recorder_resume(&call, &policy, NULL, 1010 * SECOND, 3, &events).kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(events.count, 1);
  CHECK(memcmp(&events.events[0], &missing, sizeof missing) == 0);
}

static void guards_are_told_of_a_recorded_call(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_options options;
  holdoff_breaker breaker, anew;
  holdoff_guards guards = none;
  holdoff_recorder call, other;
  holdoff_events events;
  holdoff_event_fields fields;
  written log;
  holdoff_step step;
  memset(&log, 0, sizeof log);
  holdoff_options_init(&options);
  holdoff_options_set_number(&options, "breaker.failures", 1);
  holdoff_options_set_text(&options, "breaker.open_for", "30s");
  holdoff_options_set_text(&options, "breaker.refusal", "wait");
  CHECK_NUMBER(holdoff_breaker_init(&breaker, &options, 1, 0, NULL), HOLDOFF_OK);
  anew = breaker;
  guards.breaker = &breaker;
  holdoff_recorder_begin(&call, &policy, &guards, 1, 0, &events);
  write_down(&log, &events);
  CHECK(fields_of(&events.events[0]).is_guarded);
  holdoff_recorder_fail(&call, &policy, &guards, 1, 0, lost, &events);
  write_down(&log, &events);
  CHECK_NUMBER(holdoff_breaker_state(&breaker, 0), HOLDOFF_BREAKER_OPEN);
  CHECK_NUMBER(events.count, 2);
  fields = fields_of(&events.events[1]);
  CHECK_NUMBER(fields.cause, HOLDOFF_CAUSE_BREAKER);
  CHECK_NUMBER(fields.until, 30 * SECOND);
  /* Who did not fail finds no attempt to begin with. */
  step = holdoff_recorder_begin(&other, &policy, &guards, 2, SECOND, &events);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  CHECK_NUMBER(events.count, 2);
  CHECK_NUMBER(fields_of(&events.events[0]).attempt, 0);

  /* Another process has a breaker of its own, and that one lets the call through. */
  CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_VERIFY, NULL), HOLDOFF_OK);
  guards.breaker = &anew;
  step = holdoff_recorder_resume(&call, &policy, &guards, 2 * SECOND, 3, &events);
  CHECK_NUMBER(step.kind, HOLDOFF_SLEEP);
  step = holdoff_recorder_tick(&call, &policy, &guards, 2 * SECOND, &events);
  CHECK_NUMBER(step.kind, HOLDOFF_ATTEMPT);
  CHECK_NUMBER(holdoff_recorder_succeed(&call, &guards, holdoff_step_ticket(step), 3 * SECOND, &events).outcome,
               HOLDOFF_SUCCEEDED);
}

static void a_recorded_call_does_not_hedge(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_options options;
  holdoff_hedge hedge;
  holdoff_guards guards = none;
  holdoff_recorder call;
  holdoff_events events;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "hedge", "100ms");
  holdoff_hedge_init(&hedge, &options, NULL);
  guards.hedge = &hedge;
  CHECK_NUMBER(holdoff_recorder_begin(&call, &policy, &guards, 1, 0, &events).wake_at, HOLDOFF_NEVER);
  CHECK_NUMBER(holdoff_recorder_tick(&call, &policy, &guards, SECOND, &events).kind, HOLDOFF_WAIT);
  CHECK_NUMBER(events.count, 0);
}

static void wrong_use_of_a_recorder_changes_and_writes_nothing(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call = asleep(&policy, &log), before = call, stale;
  holdoff_breaker no_breaker;
  holdoff_guards guards = none;
  holdoff_events events;
  holdoff_step step;
  memset(&no_breaker, 3, sizeof no_breaker);
  memset(&stale, 5, sizeof stale);
  memset(&events, 9, sizeof events);
  CHECK(is_invalid(holdoff_recorder_tick(NULL, &policy, NULL, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(events.count, 0);
  CHECK(is_invalid(holdoff_recorder_tick(&call, NULL, NULL, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_tick(&call, &policy, NULL, HOLDOFF_NEVER, NULL), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_succeed(NULL, NULL, 1, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_abandon(NULL, NULL, 1, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_cancel(&stale, NULL, 0, &events), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_recorder_resume(&stale, &policy, NULL, 0, 3, &events), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_recorder_step(&stale), HOLDOFF_ERROR_NOT_A_CALL));
  CHECK(is_invalid(holdoff_recorder_step(NULL), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_fail(&call, &policy, NULL, 1, 0, holdoff_failure_of(99), &events),
                   HOLDOFF_ERROR_UNKNOWN_FAILURE_KIND));
  guards.breaker = &no_breaker;
  step = holdoff_recorder_tick(&call, &policy, &guards, 2000 * SECOND, &events);
  CHECK_NUMBER(step.outcome, HOLDOFF_INVALID);
  CHECK_NUMBER(events.count, 0);
  CHECK(memcmp(&call, &before, sizeof call) == 0);

  CHECK(is_invalid(holdoff_recorder_begin(NULL, &policy, NULL, 1, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK(is_invalid(holdoff_recorder_begin(&call, &policy, NULL, 1, 0, NULL), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(holdoff_recorder_step(&call).outcome, HOLDOFF_CANCELLED);
  memset(&events, 9, sizeof events);
  CHECK(is_invalid(holdoff_recorder_begin(&call, NULL, NULL, 1, 0, &events), HOLDOFF_ERROR_NULL_POINTER));
  CHECK_NUMBER(events.count, 0);
}

static void zeroed_memory_holds_a_recorder_that_has_ended_and_no_event(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_recorder call;
  holdoff_event event;
  holdoff_event_fields fields;
  holdoff_events events;
  holdoff_saved saved;
  char bytes[HOLDOFF_EVENT_BYTES], line[200];
  memset(&call, 0, sizeof call);
  memset(&event, 0, sizeof event);
  CHECK_NUMBER(holdoff_recorder_tick(&call, &policy, NULL, 0, &events).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(events.count, 0);
  CHECK_NUMBER(holdoff_recorder_resume(&call, &policy, NULL, 0, 3, &events).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_recorder_step(&call).outcome, HOLDOFF_CANCELLED);
  CHECK_NUMBER(holdoff_recorder_sequence(&call), 0);
  CHECK_NUMBER(holdoff_recorder_attempt(&call), 0);
  CHECK_NUMBER(holdoff_recorder_reruns(&call), 0);
  CHECK_NUMBER(holdoff_recorder_started(&call), 0);
  CHECK_NUMBER(holdoff_recorder_remaining(&call, 0), 0);
  CHECK_NUMBER(holdoff_recorder_save(&call, &policy, 0, &saved), HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_event_get(&event, &fields), HOLDOFF_ERROR_MISSING_EVENT_FIELD);
  CHECK_NUMBER(holdoff_event_bytes(&event, NULL, bytes, sizeof bytes), 0);
  CHECK_NUMBER((size_t)holdoff_event_json(&event, NULL, NULL, line, sizeof line), 0);
  CHECK_TEXT(line, "");
}

static void null_pointers_are_no_log(void) {
  holdoff_policy policy = constant("1s", 3);
  written log;
  holdoff_recorder call;
  holdoff_event event;
  holdoff_event_fields fields;
  holdoff_problem problem;
  char line[400];
  asleep(&policy, &log);
  event = log.events[0];
  CHECK_NUMBER(holdoff_event_get(NULL, &fields), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_event_get(&event, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_event_bytes(NULL, NULL, line, sizeof line), 0);
  CHECK_NUMBER(holdoff_event_bytes(&event, NULL, NULL, 100), 0);
  CHECK_NUMBER((size_t)holdoff_event_json(NULL, NULL, NULL, line, sizeof line), 0);
  CHECK_NUMBER(holdoff_event_from_bytes(&event, NULL, 5, NULL, NULL, NULL, &problem), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_event_from_bytes(NULL, log.bytes, log.length, NULL, NULL, NULL, NULL),
               HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_event_from_json(&event, NULL, 5, NULL, 0, NULL, 0, &problem), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_event_from_json(NULL, "{}", 2, NULL, 0, NULL, 0, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(replay(NULL, &policy, &log, HOLDOFF_REPLAY_FOLLOW, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(replay(&call, NULL, &log, HOLDOFF_REPLAY_FOLLOW, NULL), HOLDOFF_ERROR_NULL_POINTER);
  CHECK_NUMBER(holdoff_replay(&call, &policy, NULL, 0, HOLDOFF_REPLAY_FOLLOW, NULL, NULL), HOLDOFF_ERROR_LOG_EMPTY);
  CHECK_NUMBER(replay(&call, &policy, &log, 0, NULL), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(replay(&call, &policy, &log, 3, NULL), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_NUMBER(replay(&call, &policy, &log, HOLDOFF_REPLAY_ANY_POLICY, NULL), HOLDOFF_ERROR_UNKNOWN_WORD);
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_EVENT, 0), "none");
  CHECK_TEXT(holdoff_word(HOLDOFF_WORD_EVENT, 8), "unknown");
}

static void memory_that_is_not_aligned_holds_no_recorder(void) {
  holdoff_policy policy = constant("1s", 3);
  uint64_t words[60];
  char *odd = (char *)words + 1;
  holdoff_event_fields fields;
  holdoff_events events;
  written log;
  memset(words, 0, sizeof words);
  asleep(&policy, &log);
  CHECK(is_invalid(holdoff_recorder_begin((holdoff_recorder *)(void *)odd, &policy, NULL, 1, 0, &events),
                   HOLDOFF_ERROR_NOT_A_CALL));
  CHECK_NUMBER(events.count, 0);
  CHECK(is_invalid(holdoff_recorder_cancel((holdoff_recorder *)(void *)odd, NULL, 0, &events),
                   HOLDOFF_ERROR_NOT_A_CALL));
  CHECK_NUMBER(replay((holdoff_recorder *)(void *)odd, &policy, &log, HOLDOFF_REPLAY_FOLLOW, NULL),
               HOLDOFF_ERROR_NOT_A_CALL);
  CHECK_NUMBER(holdoff_event_get((holdoff_event *)(void *)odd, &fields), HOLDOFF_ERROR_NULL_POINTER);
}

static void an_overwritten_recorder_is_answered_without_harm(void) {
  holdoff_policy policy = constant("1s", 3);
  holdoff_recorder call;
  holdoff_event event;
  holdoff_events events;
  unsigned round;
  size_t at;
  char line[400], bytes[HOLDOFF_EVENT_BYTES];
  for (round = 0; round < 2000; round++) {
    unsigned char *state = (unsigned char *)&call, *noise = (unsigned char *)&event;
    holdoff_step step;
    int steps = 0;
    holdoff_recorder_begin(&call, &policy, NULL, round, 0, &events);
    for (at = 8; at < sizeof call; at++) {
      state[at] = (unsigned char)holdoff_seed_at(round, at);
    }
    for (at = 0; at < sizeof event; at++) {
      noise[at] = (unsigned char)holdoff_seed_at(round + 1, at);
    }
    step = holdoff_recorder_resume(&call, &policy, NULL, round, 3, &events);
    while (step.kind != HOLDOFF_STOP && steps++ < 8) {
      step = step.kind == HOLDOFF_SLEEP ? holdoff_recorder_tick(&call, &policy, NULL, step.at, &events)
                                        : holdoff_recorder_fail(&call, &policy, NULL, holdoff_step_ticket(step), round,
                                                                lost, &events);
      CHECK(events.count <= 2);
    }
    CHECK_NUMBER(holdoff_recorder_cancel(&call, NULL, 0, &events).kind, HOLDOFF_STOP);
    holdoff_event_json(&event, NULL, NULL, line, sizeof line);
    CHECK(holdoff_event_bytes(&event, NULL, bytes, sizeof bytes) <= sizeof bytes);
    CHECK(replay_events(&call, &policy, &event, 1, HOLDOFF_REPLAY_VERIFY, NULL) != HOLDOFF_OK);
  }
}

void log_tests(void) {
  RUN(a_call_says_what_to_write_down);
  RUN(what_changes_nothing_is_not_written_down);
  RUN(an_end_says_why);
  RUN(events_are_bytes_and_again_events);
  RUN(bytes_that_do_not_fit_are_none);
  RUN(cut_and_damaged_bytes_are_noticed);
  RUN(an_event_is_json_and_again_an_event);
  RUN(wrong_json_of_an_event_is_explained);
  RUN(of_two_texts_of_a_failure_the_event_s_own_counts);
  RUN(a_log_makes_the_recorder_that_wrote_it);
  RUN(another_policy_is_an_error_unless_any_is_taken);
  RUN(events_that_are_no_log_are_told_from_one_another);
  RUN(an_interrupted_attempt_runs_again_but_not_for_ever);
  RUN(a_sleep_goes_on_where_it_was);
  RUN(a_decision_that_was_cut_off_is_made_up_for);
  RUN(guards_are_told_of_a_recorded_call);
  RUN(a_recorded_call_does_not_hedge);
  RUN(wrong_use_of_a_recorder_changes_and_writes_nothing);
  RUN(zeroed_memory_holds_a_recorder_that_has_ended_and_no_event);
  RUN(null_pointers_are_no_log);
  RUN(memory_that_is_not_aligned_holds_no_recorder);
  RUN(an_overwritten_recorder_is_answered_without_harm);
}
