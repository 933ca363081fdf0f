/* Vectors of guards alone: what each says to what happens to it. */
#include "runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options of a case that has one section of a document. */
static void section(holdoff_options *options, const cJSON *item, const char *name) {
  holdoff_options_init(options);
  set_one(options, get(item, name), name);
}

/* Whether a guard was made; says why not. */
static bool is_made(int code, const holdoff_problem *problem) {
  char line[400];
  if (code == 0) {
    return true;
  }
  holdoff_problem_text(problem, line, sizeof line);
  fail("a valid guard", line, -1);
  return false;
}

/* Whether a case has an answer for each event. */
static bool in_pairs(const cJSON *item, const char *events, const char *answers) {
  if (cJSON_GetArraySize(get(item, events)) == cJSON_GetArraySize(get(item, answers))) {
    return true;
  }
  fail("as many answers as events", "another number", -1);
  return false;
}

static bool is_null(const cJSON *item) { return item == NULL || cJSON_IsNull(item); }

/* A time that may not be there, as text. */
static void show_time(const cJSON *item, char *out) {
  char buffer[24];
  strcpy(out, is_null(item) ? "none" : time_text(number_of(item), buffer));
}

static verdict same_real(double wanted, double got, double within, const char *what, int at) {
  char one[80], two[80];
  if (wanted == got || fabs(wanted - got) <= within) {
    return PASSED;
  }
  snprintf(one, sizeof one, "%s %.17g", what, wanted);
  snprintf(two, sizeof two, "%s %.17g", what, got);
  return fail(one, two, at);
}

/* What a budget's calls hold. */
enum { CALLS = 1024 };
typedef struct holding {
  uint32_t held[CALLS];
  bool has[CALLS];
} holding;

/* Hands an event to a budget; how many yeses it got, or -1 for an event that is not known. */
static int hand_budget(holdoff_budget *budget, holding *holding, const cJSON *event, uint64_t *now) {
  const char *op = word(event, "op");
  const char *kind = cJSON_GetStringValue(get(event, "kind"));
  uint64_t call = number(event, "call");
  uint32_t of = kind_of(kind != NULL ? kind : "transient");
  if (strcmp(op, "repeat") == 0) {
    uint64_t round, times = number(event, "times");
    int allowed = 0;
    for (round = 0; round < times; round++) {
      const cJSON *one;
      cJSON_ArrayForEach(one, get(event, "events")) {
        int answer = hand_budget(budget, holding, one, now);
        if (answer < 0) {
          return answer;
        }
        allowed += answer;
      }
    }
    return allowed;
  }
  *now = number(event, "at");
  if (call >= CALLS || of == 0) {
    return -1;
  }
  if (strcmp(op, "admit") == 0) {
    return holdoff_budget_admit(budget, *now);
  }
  if (strcmp(op, "withdraw") == 0) {
    bool allowed = holdoff_budget_withdraw(budget, *now, of, &holding->held[call]);
    holding->has[call] = holding->has[call] || allowed;
    return allowed;
  }
  if (strcmp(op, "begin") == 0) {
    holding->has[call] = false;
    holdoff_budget_begin(budget, *now);
  } else if (strcmp(op, "fail") == 0) {
    holdoff_budget_fail(budget, *now, of);
  } else if (strcmp(op, "refund") == 0) {
    if (!holding->has[call]) {
      return -1;
    }
    holding->has[call] = false;
    holdoff_budget_refund(budget, *now, holding->held[call]);
  } else if (strcmp(op, "retried") == 0) {
    holdoff_budget_retried(budget);
  } else if (strcmp(op, "succeed") == 0) {
    holdoff_budget_succeed(budget, *now, holding->has[call] ? &holding->held[call] : NULL);
  } else if (strcmp(op, "end") == 0) {
    holdoff_budget_end(budget);
  } else if (strcmp(op, "look") != 0) {
    return -1;
  }
  return 0;
}

verdict run_budget(const cJSON *item) {
  holdoff_options options;
  holdoff_budget budget;
  holdoff_problem problem;
  const cJSON *event, *answer = first(get(item, "answers"));
  holding holding;
  uint64_t now = 0;
  int at = 0;
  section(&options, item, "budget");
  if (!is_made(holdoff_budget_init(&budget, &options, number(item, "seed"), 0, &problem), &problem) ||
      !in_pairs(item, "events", "answers")) {
    return FAILED;
  }
  memset(&holding, 0, sizeof holding);
  cJSON_ArrayForEach(event, get(item, "events")) {
    const cJSON *wanted = get(answer, "allowed"), *balance = get(answer, "balance");
    const cJSON *rejection = get(answer, "rejection");
    int allowed = hand_budget(&budget, &holding, event, &now);
    if (allowed < 0) {
      return fail("an event that is known", word(event, "op"), at);
    }
    if (cJSON_IsBool(wanted) ? cJSON_IsTrue(wanted) != (allowed > 0)
                             : wanted != NULL && number_of(wanted) != (uint64_t)allowed) {
      return fail("allowed as recorded", allowed > 0 ? "yes" : "no", at);
    }
    if ((balance != NULL &&
         same_real(real_of(balance), holdoff_budget_balance(&budget, now), 0, "balance", at) == FAILED) ||
        (rejection != NULL && same_real(real_of(rejection), holdoff_budget_rejection(&budget, now), real(item, "within"),
                                        "rejection", at) == FAILED)) {
      return FAILED;
    }
    answer = answer->next;
    at++;
  }
  return PASSED;
}

verdict run_breaker_window(const cJSON *item) {
  const cJSON *config = get(item, "config"), *record, *expected = first(get(item, "after"));
  holdoff_options options;
  holdoff_breaker breaker;
  holdoff_problem problem;
  int at = 0;
  holdoff_options_init(&options);
  holdoff_options_set_text(&options, "breaker", "time");
  holdoff_options_set_ns(&options, "breaker.window", number(config, "window_ns"));
  holdoff_options_set_number(&options, "breaker.slots", (double)number(config, "slots"));
  holdoff_options_set_number(&options, "breaker.min_calls", UINT32_MAX);
  holdoff_options_set_number(&options, "breaker.failure_rate", 1);
  holdoff_options_set_ns(&options, "breaker.slow_after", 1);
  if (!is_made(holdoff_breaker_init(&breaker, &options, 0, number(config, "began_ns"), &problem), &problem) ||
      !in_pairs(item, "records", "after")) {
    return FAILED;
  }
  cJSON_ArrayForEach(record, get(item, "records")) {
    static const struct {
      const char *name;
      bool failed;
      uint64_t took;
    } SORTS[] = {{"ok", false, 0}, {"failed", true, 0}, {"slow_ok", false, 1}, {"slow_failed", true, 1}};
    uint64_t now = number(record, "at_ns"), times;
    uint32_t permit = 0, counts[3] = {0, 0, 0};
    char got[80], wanted[80];
    unsigned sort;
    double all;
    for (sort = 0; sort < 4; sort++) {
      for (times = number(record, SORTS[sort].name); times > 0; times--) {
        if (!holdoff_breaker_acquire(&breaker, now, &permit, NULL)) {
          return fail("a closed breaker", "an open one", at);
        }
        holdoff_breaker_record(&breaker, permit, now, SORTS[sort].failed, SORTS[sort].took);
      }
    }
    holdoff_breaker_rates(&breaker, now, &counts[0], &counts[1], &counts[2]);
    sprintf(got, "%" PRIu32 " %" PRIu32 " %" PRIu32, counts[0], counts[1], counts[2]);
    sprintf(wanted, "%" PRIu64 " %" PRIu64 " %" PRIu64, number(expected, "total"), number(expected, "failed"),
            number(expected, "slow"));
    all = counts[0] == 0 ? 1 : counts[0];
    if (compare(wanted, got, at) == FAILED ||
        same_real(real(expected, "failure_rate"), counts[1] / all, 0, "failure_rate", at) == FAILED ||
        same_real(real(expected, "slow_rate"), counts[2] / all, 0, "slow_rate", at) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}

verdict run_breaker(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "answers"));
  size_t count = (size_t)cJSON_GetArraySize(get(item, "events")) + 1;
  uint32_t *permits = calloc(count, sizeof *permits);
  bool *given = calloc(count, sizeof *given);
  holdoff_options options;
  holdoff_breaker breaker;
  holdoff_problem problem;
  verdict judged = FAILED;
  size_t at = 0;
  section(&options, item, "breaker");
  if (permits == NULL || given == NULL || !in_pairs(item, "events", "answers") ||
      !is_made(holdoff_breaker_init(&breaker, &options, number(item, "seed"), number(item, "made"), &problem), &problem)) {
    goto done;
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    const char *op = word(event, "event");
    uint64_t now = number(event, "now"), retry_at = 0, of = number(event, "permit");
    const cJSON *counted = first(get(expected, "counts"));
    bool uses = strcmp(op, "record") == 0 || strcmp(op, "abandon") == 0;
    uint32_t counts[3];
    char got[160], wanted[160], refused[24] = "unasked", asked[24] = "unasked", buffer[24];
    if (uses && (of >= at || !given[of])) {
      fail("a permit", "none", (int)at);
      goto done;
    }
    if (strcmp(op, "acquire") == 0) {
      given[at] = holdoff_breaker_acquire(&breaker, now, &permits[at], &retry_at);
      strcpy(refused, given[at] ? "none" : time_text(retry_at, buffer));
      show_time(get(expected, "refused"), asked);
    } else if (strcmp(op, "record") == 0) {
      holdoff_breaker_record(&breaker, permits[of], now, strcmp(word(event, "verdict"), "failure") == 0,
                             number(event, "took"));
    } else if (strcmp(op, "abandon") == 0) {
      holdoff_breaker_abandon(&breaker, permits[of], now);
    } else if (strcmp(op, "hint") == 0) {
      holdoff_breaker_hint(&breaker, now, number(event, "span"));
    } else if (strcmp(op, "isolate") == 0) {
      holdoff_breaker_isolate(&breaker, now);
    } else if (strcmp(op, "close") == 0) {
      holdoff_breaker_force_close(&breaker, now);
    } else if (strcmp(op, "reset") == 0) {
      holdoff_breaker_reset(&breaker, now);
    } else if (strcmp(op, "look") != 0) {
      fail("an event that is known", op, (int)at);
      goto done;
    }
    holdoff_breaker_rates(&breaker, now, &counts[0], &counts[1], &counts[2]);
    sprintf(got, "refused %s %s %" PRIu32 " %" PRIu32 " %" PRIu32 " openings %" PRIu32, refused,
            holdoff_word(HOLDOFF_WORD_BREAKER, holdoff_breaker_state(&breaker, now)), counts[0], counts[1], counts[2],
            holdoff_breaker_openings(&breaker));
    snprintf(wanted, sizeof wanted, "refused %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " openings %" PRIu64, asked,
             word(expected, "state"), number_of(counted), number_of(counted != NULL ? counted->next : NULL),
             number_of(counted != NULL && counted->next != NULL ? counted->next->next : NULL),
             number(expected, "openings"));
    if (compare(wanted, got, (int)at) == FAILED) {
      goto done;
    }
    expected = expected->next;
    at++;
  }
  judged = PASSED;
done:
  free(permits);
  free(given);
  return judged;
}

verdict run_limiter(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "refused"));
  holdoff_options options;
  holdoff_limiter limiter;
  holdoff_problem problem;
  verdict judged = FAILED;
  uint64_t *room;
  size_t length;
  int at = 0;
  section(&options, item, "limiter");
  length = holdoff_guards_words(&options);
  room = calloc(length + 1, sizeof *room);
  if (!is_made(holdoff_limiter_init(&limiter, &options, number(item, "made"), room, length, &problem), &problem) ||
      !in_pairs(item, "events", "refused")) {
    goto done;
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    const char *op = word(event, "event");
    const cJSON *given = get(event, "count");
    uint32_t count = given != NULL ? (uint32_t)number_of(given) : 1;
    uint64_t now = number(event, "now"), retry_at = 0;
    bool refused = false;
    char got[24], wanted[24], buffer[24];
    if (strcmp(op, "take") == 0) {
      refused = !holdoff_limiter_take(&limiter, count, now, &retry_at);
    } else if (strcmp(op, "look") == 0) {
      refused = holdoff_limiter_refuses(&limiter, count, now, &retry_at);
    } else if (strcmp(op, "give_back") == 0) {
      holdoff_limiter_give_back(&limiter, count, now);
    } else {
      fail("an event that is known", op, at);
      goto done;
    }
    strcpy(got, refused ? time_text(retry_at, buffer) : "none");
    show_time(expected, wanted);
    if (compare(wanted, got, at++) == FAILED) {
      goto done;
    }
    expected = expected->next;
  }
  judged = PASSED;
done:
  free(room);
  return judged;
}

verdict run_bulkhead(const cJSON *item) {
  static const char *const ENTRIES[] = {"", "entered", "queued", "refused"};
  const cJSON *event, *expected = first(get(item, "answers"));
  size_t count = (size_t)cJSON_GetArraySize(get(item, "events")) + 1;
  uint32_t *places = calloc(count, sizeof *places);
  bool *queued = calloc(count, sizeof *queued);
  holdoff_options options;
  holdoff_bulkhead bulkhead;
  holdoff_problem problem;
  verdict judged = FAILED;
  size_t at = 0, length;
  uint64_t *room;
  section(&options, item, "bulkhead");
  length = holdoff_guards_words(&options);
  room = calloc(length + 1, sizeof *room);
  if (places == NULL || queued == NULL || !in_pairs(item, "events", "answers") ||
      !is_made(holdoff_bulkhead_init(&bulkhead, &options, room, length, &problem), &problem)) {
    goto done;
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    const char *op = word(event, "event");
    uint64_t of = number(event, "place");
    bool uses = strcmp(op, "enter_from") == 0 || strcmp(op, "leave_queue") == 0;
    uint32_t entry = 0;
    char got[80], wanted[80];
    if (uses && (of >= at || !queued[of])) {
      fail("a place", "none", (int)at);
      goto done;
    }
    if (strcmp(op, "enter") == 0) {
      entry = holdoff_bulkhead_enter(&bulkhead, &places[at]);
    } else if (strcmp(op, "enter_from") == 0) {
      places[at] = places[of];
      entry = holdoff_bulkhead_enter_from(&bulkhead, places[of]);
    } else if (strcmp(op, "leave") == 0) {
      holdoff_bulkhead_leave(&bulkhead);
    } else if (strcmp(op, "leave_queue") == 0) {
      holdoff_bulkhead_leave_queue(&bulkhead, places[of]);
    } else {
      fail("an event that is known", op, (int)at);
      goto done;
    }
    queued[at] = entry == HOLDOFF_QUEUED;
    sprintf(got, "%s %" PRIu32 " %" PRIu32, ENTRIES[entry], holdoff_bulkhead_running(&bulkhead),
            holdoff_bulkhead_waiting(&bulkhead));
    snprintf(wanted, sizeof wanted, "%s %" PRIu64 " %" PRIu64, word(expected, "entry"), number(expected, "running"),
             number(expected, "waiting"));
    if (compare(wanted, got, (int)at) == FAILED) {
      goto done;
    }
    expected = expected->next;
    at++;
  }
  judged = PASSED;
done:
  free(room);
  free(places);
  free(queued);
  return judged;
}

/* An adaptive rate at work. */
typedef struct sending {
  holdoff_adaptive guard;
  uint64_t taken, wait, now;
  bool waits;
} sending;

static bool hand_adaptive(sending *sending, const cJSON *event, uint64_t later) {
  const char *op = word(event, "op");
  const cJSON *given = get(event, "cost");
  uint64_t now = number(event, "at_ns"), round, until;
  double cost = given != NULL ? real_of(given) : 1.0;
  bool calls = strcmp(op, "call") == 0;
  now = later < HOLDOFF_NEVER - 1 - now ? now + later : HOLDOFF_NEVER - 1;
  sending->now = now;
  if (strcmp(op, "repeat") == 0) {
    uint64_t times = get(event, "times") != NULL ? number(event, "times") : 1, every = number(event, "every_ns");
    for (round = 0; round < times; round++) {
      const cJSON *one;
      cJSON_ArrayForEach(one, get(event, "events")) {
        if (!hand_adaptive(sending, one, later + round * every)) {
          return false;
        }
      }
    }
    return true;
  }
  if (calls || strcmp(op, "take") == 0) {
    if (!holdoff_adaptive_take(&sending->guard, cost, now, &until)) {
      sending->waits = true;
      sending->wait = until == HOLDOFF_NEVER ? until : until - now;
      return true;
    }
    sending->taken++;
    if (calls) {
      holdoff_adaptive_update(&sending->guard, now, truth(event, "throttled"));
    }
  } else if (strcmp(op, "update") == 0) {
    holdoff_adaptive_update(&sending->guard, now, truth(event, "throttled"));
  } else if (strcmp(op, "give_back") == 0) {
    holdoff_adaptive_give_back(&sending->guard, cost, now);
  } else {
    return strcmp(op, "look") == 0;
  }
  return true;
}

/* Whether a number is as near to an expected one as the case wants it, if it expects any. */
static bool is_near(const cJSON *expected, double got, double within) {
  double wanted = real_of(expected), larger = fabs(wanted) > fabs(got) ? fabs(wanted) : fabs(got);
  return expected == NULL || fabs(got - wanted) <= within * larger;
}

verdict run_adaptive(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "answers")), *start = get(item, "start");
  uint64_t began = number(item, "began_ns");
  double within = real(item, "within");
  holdoff_options options;
  holdoff_problem problem;
  sending sending;
  int at = 0;
  section(&options, item, "adaptive");
  if (!is_made(holdoff_adaptive_init(&sending.guard, &options, began, &problem), &problem) ||
      !in_pairs(item, "events", "answers")) {
    return FAILED;
  }
  if (!is_null(start)) {
    holdoff_adaptive_start known;
    known.rate = real(start, "rate");
    known.tokens = real(start, "tokens");
    known.measured = real(start, "measured");
    known.last_max_rate = real(start, "last_max_rate");
    known.throttled_at = number(start, "throttled_ns");
    known.limits = truth(start, "limits");
    holdoff_adaptive_begin_with(&sending.guard, &known, began);
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    const cJSON *taken = get(expected, "taken"), *wait = get(expected, "wait_ns"), *left = get(expected, "tokens");
    double tokens;
    bool right = true;
    sending.taken = 0;
    sending.waits = false;
    if (!hand_adaptive(&sending, event, 0)) {
      return fail("an event that is known", word(event, "op"), at);
    }
    tokens = holdoff_adaptive_tokens(&sending.guard, sending.now);
    if (wait != NULL) {
      uint64_t wanted = number_of(wait), got = sending.wait;
      double apart = got > wanted ? (double)(got - wanted) : (double)(wanted - got);
      /* A wait is cut to a nanosecond, too. */
      right = sending.waits && (wanted == HOLDOFF_NEVER || got == HOLDOFF_NEVER
                                    ? wanted == got
                                    : apart <= fmax(within * (double)wanted, 1));
    }
    right = right && (taken == NULL || number_of(taken) == sending.taken) &&
            is_near(get(expected, "rate"), holdoff_adaptive_rate(&sending.guard), within) &&
            is_near(get(expected, "measured"), holdoff_adaptive_measured(&sending.guard), within) &&
            /* Of tokens that are used up a rounding is left. */
            (is_near(left, tokens, within) || (real_of(left) == 0 && fabs(tokens) < 1e-9));
    if (!right) {
      char got[160];
      snprintf(got, sizeof got, "taken %" PRIu64 " wait %" PRIu64 " rate %.17g measured %.17g tokens %.17g",
               sending.taken, sending.waits ? sending.wait : 0, holdoff_adaptive_rate(&sending.guard),
               holdoff_adaptive_measured(&sending.guard), tokens);
      return fail("what the case has", got, at);
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}

verdict run_stretch(const cJSON *item) {
  const cJSON *event, *expected = first(get(item, "delays"));
  holdoff_options options;
  holdoff_stretch stretch;
  holdoff_problem problem;
  int at = 0;
  section(&options, item, "stretch");
  if (!is_made(holdoff_stretch_init(&stretch, &options, number(item, "began_ns"), &problem), &problem) ||
      !in_pairs(item, "events", "delays")) {
    return FAILED;
  }
  cJSON_ArrayForEach(event, get(item, "events")) {
    uint64_t now = number(event, "at_ns"), count;
    char got[24] = "none", wanted[24], buffer[24];
    if (strcmp(word(event, "op"), "record") == 0) {
      for (count = number(event, "ok"); count > 0; count--) {
        holdoff_stretch_record(&stretch, now, false);
      }
      for (count = number(event, "failed"); count > 0; count--) {
        holdoff_stretch_record(&stretch, now, true);
      }
    } else {
      strcpy(got, time_text(holdoff_stretch_delay(&stretch, now, number(event, "delay_ns")), buffer));
    }
    show_time(expected, wanted);
    if (compare(wanted, got, at++) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return PASSED;
}

verdict run_latency(const cJSON *item) {
  const cJSON *took = first(get(item, "took_ns")), *expected = first(get(item, "quantile_ns"));
  holdoff_options options;
  holdoff_hedge hedge;
  holdoff_problem problem;
  char got[24], wanted[24], buffer[24];
  int at;
  section(&options, item, "hedge");
  if (!is_made(holdoff_hedge_init(&hedge, &options, &problem), &problem)) {
    return FAILED;
  }
  for (at = 0; at == 0 || took != NULL; at++) {
    uint64_t quantile;
    if (at > 0) {
      holdoff_hedge_record(&hedge, number_of(took));
      took = took->next;
    }
    strcpy(got, holdoff_hedge_quantile(&hedge, &quantile) ? time_text(quantile, buffer) : "none");
    if (expected == NULL) {
      return fail("as many estimates as records and one", "more", at);
    }
    show_time(expected, wanted);
    if (compare(wanted, got, at) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
  }
  return compare(time_text(number(item, "delay_ns"), wanted), time_text(holdoff_hedge_delay(&hedge), got), -1);
}

/* A number of attempts, or the word "forever". */
static uint32_t attempts_of(const cJSON *item) {
  return cJSON_GetStringValue(item) != NULL ? UINT32_MAX : (uint32_t)number_of(item);
}

verdict run_nested(const cJSON *item) {
  const char *header = cJSON_GetStringValue(get(item, "header")), *grpc = cJSON_GetStringValue(get(item, "grpc"));
  const cJSON *around, *token = get(item, "token"), *inner = get(item, "inner");
  holdoff_options options;
  holdoff_nesting nesting;
  holdoff_problem problem;
  holdoff_token known;
  char got[160] = "no token", wanted[160] = "no token", one[16], two[16];
  bool is_there = false;
  section(&options, item, "nested");
  if (!is_made(holdoff_nesting_init(&nesting, &options, &problem), &problem)) {
    return FAILED;
  }
  if (header != NULL) {
    is_there = holdoff_token_from_header(header, &known);
  } else if (grpc != NULL) {
    is_there = holdoff_token_from_grpc(grpc, &known);
  } else {
    cJSON_ArrayForEach(around, get(item, "around")) {
      const cJSON *attempt = first(around);
      known = holdoff_token_child(is_there ? &known : NULL, attempts_of(attempt),
                                  attempts_of(attempt != NULL ? attempt->next : NULL));
      is_there = true;
    }
  }
  if (is_there) {
    holdoff_token_header(&known, one, sizeof one);
    holdoff_token_grpc(&known, two, sizeof two);
    sprintf(got, "attempt %" PRIu32 " of %" PRIu32 " depth %" PRIu32 " header %s grpc %s", known.attempt, known.allowed,
            known.depth, one, two);
  }
  if (!is_null(token)) {
    snprintf(wanted, sizeof wanted, "attempt %" PRIu64 " of %" PRIu32 " depth %" PRIu64 " header %s grpc %s",
             number(token, "attempt"), attempts_of(get(token, "allowed")), number(token, "depth"), word(token, "header"),
             word(token, "grpc"));
  }
  if (compare(wanted, got, -1) == FAILED) {
    return FAILED;
  }
  sprintf(got, "%" PRIu32 " attempts",
          holdoff_nesting_attempts(&nesting, is_there ? &known : NULL, attempts_of(get(item, "own"))));
  sprintf(wanted, "%" PRIu32 " attempts", attempts_of(get(item, "attempts")));
  if (compare(wanted, got, -1) == FAILED) {
    return FAILED;
  }
  if (is_null(inner)) {
    return PASSED;
  }
  show_failure(holdoff_nesting_after_inner(&nesting, failure_of(inner)), got);
  show_failure(failure_of(get(item, "judged")), wanted);
  return compare(wanted, got, -1);
}
