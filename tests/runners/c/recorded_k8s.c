/* Recordings of Kubernetes: wait.Backoff, its managers, flowcontrol.Backoff and the rate limiters of the work queue. */
#include "runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static verdict same_number(int64_t wanted, uint64_t got, int at) {
  char one[24], two[24];
  sprintf(one, "%" PRId64, wanted);
  sprintf(two, "%" PRIu64, got);
  return compare(one, two, at);
}

/* A clock that has moved, and stays within what the recordings can say. */
static int64_t moved(int64_t clock, int64_t by) {
  if (by > 0) {
    return by > INT64_MAX - clock ? INT64_MAX : clock + by;
  }
  return clock + by > 0 ? clock + by : 0;
}

const cJSON *uniforms_of(const cJSON *config) {
  const cJSON *list = get(config, "uniforms");
  return first(cJSON_IsArray(list) ? list : get(get(config, "backoff"), "uniforms"));
}

bool wait_backoff_of(const cJSON *config, holdoff_wait_backoff *wait_backoff) {
  int64_t duration = whole(config, "duration");
  return duration >= 0 &&
         holdoff_wait_backoff_init_kubernetes(wait_backoff, (uint64_t)duration, real(config, "factor"), real(config, "jitter"),
                                         whole(config, "steps"), whole(config, "cap")) == 0;
}

/* The backoff of a case; false for one that is refused. */
static bool backoff_of(const cJSON *config, holdoff_wait_backoff *wait_backoff) {
  if (strcmp(word(config, "op"), "Jitter") == 0) {
    int64_t duration = whole(config, "duration");
    return duration >= 0 && holdoff_wait_backoff_init_kubernetes_jitter(wait_backoff, (uint64_t)duration,
                                                                   real(config, "max_factor")) == 0;
  }
  return truth(config, "nil") ? holdoff_wait_backoff_init(wait_backoff, 0, 0, 0, 0, 0) == 0 : wait_backoff_of(config, wait_backoff);
}

/* Whether the backoff is as it was recorded after a step. */
static verdict same_wait_backoff(const cJSON *expected, const holdoff_wait_backoff *wait_backoff, int at) {
  return same_number(whole(expected, "duration_after"), holdoff_wait_backoff_duration(wait_backoff), at) == PASSED
             ? same_number(whole(expected, "steps_after"), holdoff_wait_backoff_steps(wait_backoff), at)
             : FAILED;
}

verdict run_k8s_backoff(const cJSON *item) {
  const cJSON *input, *expected;
  holdoff_wait_backoff wait_backoff;
  bool lost = false;
  int at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  if (!backoff_of(get(item, "config"), &wait_backoff)) {
    return OUT_OF_DOMAIN;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    bool has_after = get(expected, "duration_after") != NULL;
    int64_t delay = whole(expected, "delay"), after = whole(expected, "duration_after");
    uint64_t got;
    if (cJSON_IsNumber(input) != holdoff_wait_backoff_draws(&wait_backoff)) {
      return fail("a uniform that is drawn or none", "the other", at);
    }
    got = holdoff_wait_backoff_step(&wait_backoff, real_of(input));
    if (delay < 0 || after < 0) {
      /* The duration went out of range, now or before, or else the sum of it and its jitter. */
      counted.deviations++;
      if (!lost && same_number(delay < 0 ? INT64_MAX : delay, got, at) == FAILED) {
        return FAILED;
      }
    } else if (same_number(delay, got, at) == FAILED) {
      return FAILED;
    }
    if (after < 0) {
      lost = true;
      if (same_number((int64_t)holdoff_wait_backoff_cap(&wait_backoff), holdoff_wait_backoff_duration(&wait_backoff), at) == FAILED) {
        return FAILED;
      }
    } else if (has_after && same_wait_backoff(expected, &wait_backoff, at) == FAILED) {
      return FAILED;
    }
  }
  return PASSED;
}

bool loop_backoff_of(const cJSON *config, uint64_t start, holdoff_loop_backoff *loop_backoff) {
  const char *kind = word(config, "kind");
  int64_t reset = whole(config, "reset");
  holdoff_wait_backoff wait_backoff;
  if (strcmp(kind, "NewJitteredBackoffManager") == 0) {
    int64_t period = whole(config, "duration");
    return period >= 0 &&
           holdoff_wait_backoff_init_kubernetes(&wait_backoff, (uint64_t)period, 0.0, real(config, "jitter"), 0, 0) == 0 &&
           holdoff_loop_backoff_init(loop_backoff, &wait_backoff, HOLDOFF_RESET_NEVER, 0, 0) == 0;
  }
  if (strcmp(kind, "NewExponentialBackoffManager") == 0) {
    int64_t initial = whole(config, "init"), max = whole(config, "max");
    return initial >= 0 && max >= 0 && reset >= 0 &&
           holdoff_wait_backoff_init_kubernetes(&wait_backoff, (uint64_t)initial, real(config, "factor"),
                                                real(config, "jitter"), INT32_MAX, max) == 0 &&
           holdoff_loop_backoff_init(loop_backoff, &wait_backoff, HOLDOFF_RESET_AFTER_QUIET, (uint64_t)reset, start) == 0;
  }
  return reset >= 0 && wait_backoff_of(config, &wait_backoff) &&
         holdoff_loop_backoff_init(loop_backoff, &wait_backoff, HOLDOFF_RESET_OR_HOLD, (uint64_t)reset, start) == 0;
}

verdict run_k8s_manager(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected, *uniform = uniforms_of(config);
  /* A clock that runs backwards needs room before the start. */
  int64_t clock = INT64_C(1) << 60;
  holdoff_loop_backoff loop_backoff;
  int at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  if (!loop_backoff_of(config, (uint64_t)clock, &loop_backoff)) {
    return OUT_OF_DOMAIN;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    int64_t wanted = whole_of(expected);
    double u = 0;
    uint64_t got;
    clock = moved(clock, whole_of(input));
    if (holdoff_loop_backoff_draws(&loop_backoff)) {
      if (uniform == NULL) {
        return fail("as many draws as the original made", "more", at);
      }
      u = real_of(uniform);
      uniform = uniform->next;
    }
    got = holdoff_loop_backoff_next(&loop_backoff, (uint64_t)clock, u);
    if (wanted >= 0 && (uint64_t)wanted == got) {
      continue;
    }
    /* The sum of a wrapped duration and its jitter may be positive again. */
    if (wanted >= 0 && !truth(config, "impl_defined")) {
      return same_number(wanted, got, at);
    }
    counted.deviations++;
  }
  return PASSED;
}

/* The program's own map of gates by key. */
#define KEYS 1024

typedef struct entry {
  const char *key;
  holdoff_gate gate;
  /* Whether there is a gate, and whether the original's delay has wrapped. */
  bool known, lost;
} entry;

typedef struct gates {
  holdoff_gate_config config;
  entry entries[KEYS];
  int count;
} gates;

/* The key's place, with a gate in it or not; NULL when there is no room for it. */
static entry *place_of(gates *map, const char *key) {
  entry *place;
  int at;
  for (at = 0; at < map->count; at++) {
    if (strcmp(map->entries[at].key, key) == 0) {
      return &map->entries[at];
    }
  }
  if (map->count == KEYS) {
    fail("room for all keys", "none left", -1);
    return NULL;
  }
  place = &map->entries[map->count++];
  place->key = key;
  return place;
}

static void drop(entry *place) {
  memset(&place->gate, 0, sizeof place->gate);
  place->known = false;
}

/*
 * The uniform that the original drew. This family scripts the source below Go's generator, whose Float64 takes the low 53
 * bits of a number into which the script wrote 43, so that every draw is the 1024th part of what is written.
 */
static double drawn(double script) { return trunc(script * 2147483648.0 * 4096.0) / 9007199254740992.0; }

/* Drops what is not worth keeping, and says which of the keys that are asked about are left. */
static cJSON *collected(gates *map, const cJSON *asked, uint64_t now) {
  cJSON *left = cJSON_CreateObject();
  const cJSON *key;
  int at;
  for (at = 0; at < map->count; at++) {
    if (holdoff_gate_is_discardable(&map->entries[at].gate, &map->config, now)) {
      drop(&map->entries[at]);
    }
  }
  cJSON_ArrayForEach(key, asked) {
    const entry *place = place_of(map, key->string);
    cJSON_AddBoolToObject(left, key->string, place != NULL && place->known);
  }
  return left;
}

/* What the gate of a key answers to an op; NULL when it was said what is wrong. */
static cJSON *answer(gates *map, entry *place, const cJSON *input, const cJSON *expected, int64_t clock,
                     const cJSON **uniform) {
  const char *op = word(input, "op");
  uint64_t now = (uint64_t)clock, event = (uint64_t)moved(clock, whole(input, "event_offset"));
  double u = 0;
  if (strcmp(op, "next") == 0) {
    if (holdoff_gate_draws(&place->gate, &map->config, event)) {
      if (*uniform == NULL) {
        fail("as many draws as the original made", "more", -1);
        return NULL;
      }
      u = drawn(real_of(*uniform));
      *uniform = (*uniform)->next;
    }
    place->known = true;
    return made((int64_t)holdoff_gate_failure_of(&place->gate, &map->config, event, now, u));
  }
  if (strcmp(op, "get") == 0) {
    return made((int64_t)place->gate.delay_ns);
  }
  if (strcmp(op, "in_backoff_since_update") == 0) {
    return cJSON_CreateBool(holdoff_gate_covers(&place->gate, &map->config, event));
  }
  if (strcmp(op, "in_backoff_since") == 0) {
    return cJSON_CreateBool(holdoff_gate_covers_since(&place->gate, &map->config, event, now));
  }
  if (strcmp(op, "gc") == 0) {
    return collected(map, expected, now);
  }
  if (strcmp(op, "reset") == 0 || strcmp(op, "delete") == 0) {
    drop(place);
    place->lost = false;
  } else if (strcmp(op, "advance") != 0) {
    fail("an op that is known", op, -1);
    return NULL;
  }
  return cJSON_CreateNull();
}

/* The gates of a case; false for those that are refused. */
static bool gates_of(const cJSON *config, gates *map, const char *rule) {
  int64_t initial = whole(config, "initial"), max = whole(config, "max");
  uint64_t limit;
  memset(map, 0, sizeof *map);
  if (initial < 0 || max < 0 || holdoff_gate_config_flowcontrol(&map->config, (uint64_t)initial, (uint64_t)max,
                                                                real(config, "max_jitter_factor")) != 0) {
    return false;
  }
  if (rule != NULL && sscanf(rule, "event-last >= %" SCNu64, &limit) == 1) {
    /* Said as more than the nanosecond before. */
    holdoff_gate_config_quiet(&map->config, limit - 1);
  }
  return true;
}

verdict run_k8s_flowcontrol(const cJSON *item) {
  static gates map;
  const cJSON *config = get(item, "config"), *input, *expected, *uniform = uniforms_of(config);
  const char *rule = cJSON_GetStringValue(get(config, "has_expired"));
  /* Twice the maximum is the time after which an entry has expired, and a negative one is always over. */
  bool is_any = truth(config, "impl_defined") || (rule == NULL && whole(config, "max") > INT64_MAX / 2);
  /* Events may be before the start. */
  int64_t clock = INT64_C(1) << 62;
  int at = 0;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  if (rule != NULL && strncmp(rule, "event-last >= ", 14) != 0) {
    return fail("a rule that is known", rule, -1);
  }
  if (!gates_of(config, &map, rule)) {
    return OUT_OF_DOMAIN;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    entry *place = place_of(&map, word(input, "id"));
    cJSON *got;
    bool same;
    clock = moved(clock, whole(input, "ns"));
    got = place != NULL ? answer(&map, place, input, expected, clock, &uniform) : NULL;
    if (got == NULL) {
      return FAILED;
    }
    same = cJSON_Compare(expected, got, true);
    if (whole_of(expected) < 0) {
      /* A wrapped delay is doubled again, which may give any number, until the entry is gone. */
      counted.deviations++;
      place->lost = true;
    } else if (!same && (place->lost || is_any)) {
      counted.deviations++;
    } else if (!same) {
      differ(expected, got, at);
      cJSON_Delete(got);
      return FAILED;
    }
    cJSON_Delete(got);
  }
  return PASSED;
}

/* A rate limiter of the work queue: gates by key, a bucket, or the longest of several. */
typedef struct limiter {
  enum { ITEMS, BUCKET, MAX_OF } kind;
  gates items;
  holdoff_bucket_config config;
  holdoff_bucket bucket;
  /* The first of the several, and the next one of those that this is one of. */
  struct limiter *of, *next;
} limiter;

static void free_limiter(limiter *limits) {
  while (limits != NULL) {
    limiter *next = limits->next;
    free_limiter(limits->of);
    free(limits);
    limits = next;
  }
}

static verdict limiter_of(const cJSON *config, limiter **limits);

/* PASSED, OUT_OF_DOMAIN for one that is refused, or FAILED. */
static verdict fill(limiter *limits, const cJSON *config) {
  const char *kind = word(config, "kind");
  const cJSON *one;
  int code = 1;
  if (strcmp(kind, "ItemExponentialFailure") == 0) {
    int64_t base = whole(config, "base"), max = whole(config, "max");
    limits->kind = ITEMS;
    if (base >= 0 && max >= 0) {
      code = holdoff_gate_config_item_exponential(&limits->items.config, (uint64_t)base, (uint64_t)max);
    }
  } else if (strcmp(kind, "ItemFastSlow") == 0) {
    int64_t fast = whole(config, "fast"), slow = whole(config, "slow");
    limits->kind = ITEMS;
    if (fast >= 0 && slow >= 0) {
      code = holdoff_gate_config_fast_slow(&limits->items.config, (uint64_t)fast, (uint64_t)slow,
                                           whole(config, "max_fast_attempts"));
    }
  } else if (strcmp(kind, "Bucket") == 0) {
    int64_t burst = whole(config, "burst");
    limits->kind = BUCKET;
    if (burst >= 0) {
      code = holdoff_bucket_config_init(&limits->config, real(config, "limit_per_s"), 1000000000u, (uint64_t)burst);
    }
    if (code == 0) {
      code = holdoff_bucket_fill(&limits->bucket, &limits->config, 0);
    }
  } else if (strcmp(kind, "MaxOf") == 0) {
    limiter **end = &limits->of;
    limits->kind = MAX_OF;
    code = 0;
    cJSON_ArrayForEach(one, get(config, "of")) {
      verdict judged = limiter_of(one, end);
      if (judged != PASSED) {
        return judged;
      }
      end = &(*end)->next;
    }
  } else {
    return fail("a limiter that is known", kind, -1);
  }
  return code == 0 ? PASSED : OUT_OF_DOMAIN;
}

/* The same; the limiter is to be freed, whatever the verdict. */
static verdict limiter_of(const cJSON *config, limiter **limits) {
  *limits = calloc(1, sizeof **limits);
  return *limits != NULL ? fill(*limits, config) : fail("memory", "none left", -1);
}

static uint64_t when(limiter *limits, const char *key, uint64_t now) {
  uint64_t longest = 0;
  limiter *one;
  entry *place;
  switch (limits->kind) {
    case ITEMS:
      place = place_of(&limits->items, key);
      return holdoff_gate_failure(place != NULL ? &place->gate : NULL, &limits->items.config, now, 0);
    case BUCKET:
      /* Go says "never" as its longest duration. */
      return holdoff_bucket_reserve(&limits->bucket, &limits->config, 1, now, HOLDOFF_LONGEST_NS, &longest)
                 ? longest
                 : HOLDOFF_LONGEST_NS;
    default:
      for (one = limits->of; one != NULL; one = one->next) {
        uint64_t delay = when(one, key, now);
        longest = delay > longest ? delay : longest;
      }
      return longest;
  }
}

static uint64_t requeues(limiter *limits, const char *key) {
  uint64_t most = 0;
  limiter *one;
  if (limits->kind == ITEMS) {
    entry *place = place_of(&limits->items, key);
    return place != NULL ? place->gate.failures : 0;
  }
  for (one = limits->of; one != NULL; one = one->next) {
    uint64_t times = requeues(one, key);
    most = times > most ? times : most;
  }
  return most;
}

static void forget(limiter *limits, const char *key) {
  limiter *one;
  if (limits->kind == ITEMS) {
    entry *place = place_of(&limits->items, key);
    if (place != NULL) {
      drop(place);
    }
  }
  for (one = limits->of; one != NULL; one = one->next) {
    forget(one, key);
  }
}

/*
 * Whether an exponential limiter inside another leaves the range of an integer after that many failures: its product is
 * exactly 2^63, or no number.
 */
static bool leaves(const cJSON *config, uint64_t failures) {
  const cJSON *one;
  cJSON_ArrayForEach(one, get(config, "of")) {
    double product = real(one, "base") * ldexp(1, failures < 2000 ? (int)failures : 2000);
    if ((get(one, "base") != NULL && (isnan(product) || !(product < ldexp(1, 63) || product > ldexp(1, 63)))) ||
        leaves(one, failures)) {
      return true;
    }
  }
  return false;
}

/* Holds a limiter against what was recorded of it. */
static verdict queue(limiter *limits, const cJSON *config, const cJSON *input, const cJSON *expected) {
  const cJSON *max = get(config, "max");
  uint64_t longest = max != NULL && !cJSON_IsNull(max) ? number_of(max) : HOLDOFF_LONGEST_NS;
  int at = 0;
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    const char *op = word(input, "op"), *key = word(input, "id");
    bool is_when = strcmp(op, "when") == 0;
    int64_t wanted = whole_of(expected);
    uint64_t got = 0, times;
    if (is_when) {
      got = when(limits, key, number(input, "at"));
    } else if (strcmp(op, "requeues") == 0) {
      got = requeues(limits, key);
    } else if (strcmp(op, "forget") == 0) {
      forget(limits, key);
    } else {
      return fail("an op that is known", op, at);
    }
    times = requeues(limits, key);
    if (wanted < 0) {
      counted.deviations++;
      if (got > longest) {
        return fail("a delay in range", "a longer one", at);
      }
    } else if ((uint64_t)wanted != got && is_when && leaves(config, times > 0 ? times - 1 : 0)) {
      /* The longest of several hides the negative one. */
      counted.deviations++;
    } else if (same_number(wanted, got, at) == FAILED) {
      return FAILED;
    }
  }
  return PASSED;
}

verdict run_k8s_workqueue(const cJSON *item) {
  const cJSON *input, *expected;
  limiter *limits;
  verdict judged;
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  judged = limiter_of(get(item, "config"), &limits);
  if (judged == PASSED) {
    judged = queue(limits, get(item, "config"), input, expected);
  }
  free_limiter(limits);
  return judged;
}
