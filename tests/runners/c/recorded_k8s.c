/* Recordings of Kubernetes: wait.Backoff, its managers, flowcontrol.Backoff and the rate limiters of the work queue. */
#include "runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Events and clocks that run backwards need room before the start. */
#define START (INT64_C(1) << 60)

static verdict same_number(int64_t wanted, uint64_t got, int at) {
  char one[24], two[24];
  sprintf(one, "%" PRId64, wanted);
  sprintf(two, "%" PRIu64, got);
  return compare(one, two, at);
}

/* Outside the domain, as long as the library refuses what the configuration says. */
static verdict refused(bool made) {
  return made ? fail("an error", "a configuration outside the domain is taken", -1) : OUT_OF_DOMAIN;
}

/* The stepped backoff of a wait.Backoff; false for one that is refused. */
static bool stepped_of(const cJSON *config, holdoff_stepped *stepped) {
  int64_t duration = whole(config, "duration");
  return duration >= 0 &&
         holdoff_stepped_init_kubernetes(stepped, (uint64_t)duration, real(config, "factor"), real(config, "jitter"),
                                         whole(config, "steps"), whole(config, "cap")) == 0;
}

verdict run_k8s_backoff(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected = get(item, "expected")->child;
  holdoff_stepped stepped;
  bool usable;
  int at = 0;
  if (strcmp(word(config, "op"), "Jitter") == 0) {
    int64_t duration = whole(config, "duration");
    usable = duration >= 0 && holdoff_stepped_init_kubernetes_jitter(&stepped, (uint64_t)duration,
                                                                     real(config, "max_factor")) == 0;
  } else if (truth(config, "nil")) {
    usable = holdoff_stepped_init(&stepped, 0, 0, 0, 0, 0) == 0;
  } else {
    usable = stepped_of(config, &stepped);
  }
  if (!usable) {
    return refused(usable);
  }
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    const cJSON *after = get(expected, "duration_after");
    int64_t delay = whole(expected, "delay");
    uint64_t got;
    if (cJSON_IsNumber(input) != holdoff_stepped_draws(&stepped)) {
      return fail("a uniform that is drawn or none", "the other", at);
    }
    got = holdoff_stepped_step(&stepped, real_of(input));
    if (delay < 0 || (after != NULL && whole_of(after) < 0)) {
      /* The original left the range of an integer. */
      counted.deviations++;
      if (same_number((int64_t)holdoff_stepped_cap(&stepped), holdoff_stepped_duration(&stepped), at) == FAILED) {
        return FAILED;
      }
    } else if (same_number(delay, got, at) == FAILED ||
               (after != NULL &&
                (same_number(whole_of(after), holdoff_stepped_duration(&stepped), at) == FAILED ||
                 same_number(whole(expected, "steps_after"), holdoff_stepped_steps(&stepped), at) == FAILED))) {
      return FAILED;
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}

/* A manager's pace; false for one that is refused. */
static bool pace_of(const cJSON *config, holdoff_pace *pace) {
  const char *kind = word(config, "kind");
  int64_t reset = whole(config, "reset");
  holdoff_stepped stepped;
  if (strcmp(kind, "NewJitteredBackoffManager") == 0) {
    int64_t period = whole(config, "duration");
    return period >= 0 && holdoff_pace_init_jittered(pace, (uint64_t)period, real(config, "jitter")) == 0;
  }
  if (strcmp(kind, "NewExponentialBackoffManager") == 0) {
    int64_t initial = whole(config, "init"), max = whole(config, "max");
    return initial >= 0 && max >= 0 && reset >= 0 &&
           holdoff_pace_init_exponential(pace, (uint64_t)initial, (uint64_t)max, (uint64_t)reset,
                                         real(config, "factor"), real(config, "jitter"), START) == 0;
  }
  return reset >= 0 && stepped_of(config, &stepped) &&
         holdoff_pace_init_with_reset(pace, &stepped, (uint64_t)reset, START) == 0;
}

verdict run_k8s_manager(const cJSON *item) {
  const cJSON *input, *expected = get(item, "expected")->child, *uniforms = get(get(item, "config"), "uniforms");
  const cJSON *uniform = uniforms != NULL ? uniforms->child : NULL;
  holdoff_pace pace;
  int64_t clock = START;
  int at = 0;
  if (!pace_of(get(item, "config"), &pace)) {
    return refused(false);
  }
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    double u = 0;
    uint64_t got;
    clock += whole_of(input);
    if (holdoff_pace_draws(&pace)) {
      if (uniform == NULL) {
        return fail("as many draws as the original made", "more", at);
      }
      u = real_of(uniform);
      uniform = uniform->next;
    }
    got = holdoff_pace_next(&pace, (uint64_t)clock, u);
    if (whole_of(expected) < 0) {
      counted.deviations++;
    } else if (same_number(whole_of(expected), got, at) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}

/* The program's own map of gates by key. */
#define KEYS 64

typedef struct entry {
  const char *key;
  holdoff_gate gate;
  bool lost;
} entry;

typedef struct gates {
  holdoff_gate_config config;
  entry entries[KEYS];
  int count;
} gates;

static entry *find(gates *map, const char *key) {
  int at;
  for (at = 0; at < map->count; at++) {
    if (strcmp(map->entries[at].key, key) == 0) {
      return &map->entries[at];
    }
  }
  return NULL;
}

static entry *entry_of(gates *map, const char *key) {
  entry *known = find(map, key);
  if (known == NULL && map->count < KEYS) {
    known = &map->entries[map->count++];
    memset(known, 0, sizeof *known);
    known->key = key;
  }
  return known;
}

static void drop(gates *map, const char *key) {
  entry *known = find(map, key);
  if (known != NULL) {
    *known = map->entries[--map->count];
  }
}

/*
 * The uniform that the original drew. This family scripts the source below Go's generator, whose Float64 takes the low 53
 * bits of a number into which the script wrote 43, so that every draw is the 1024th part of what is written.
 */
static double drawn(double script) { return trunc(script * 2147483648.0 * 4096.0) / 9007199254740992.0; }

verdict run_k8s_flowcontrol(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected = get(item, "expected")->child;
  const cJSON *uniforms = get(config, "uniforms"), *uniform = uniforms != NULL ? uniforms->child : NULL, *asked;
  const char *rule = cJSON_GetStringValue(get(config, "has_expired"));
  int64_t initial = whole(config, "initial"), max = whole(config, "max"), clock = START;
  gates map;
  int at = 0;
  memset(&map, 0, sizeof map);
  if (initial < 0 || max < 0 || holdoff_gate_config_flowcontrol(&map.config, (uint64_t)initial, (uint64_t)max,
                                                                real(config, "max_jitter_factor")) != 0) {
    return refused(false);
  }
  if (rule != NULL) {
    uint64_t limit;
    if (sscanf(rule, "event-last >= %" SCNu64, &limit) != 1) {
      return fail("a rule that is known", rule, -1);
    }
    /* Said as more than the nanosecond before. */
    holdoff_gate_config_quiet(&map.config, limit - 1);
  }
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    const char *op = word(input, "op"), *key = word(input, "id");
    entry *known;
    holdoff_gate none, *gate;
    uint64_t now, event, answer = 0;
    bool is_number = false, is_truth = false;
    clock += whole(input, "ns");
    now = (uint64_t)clock;
    event = (uint64_t)(clock + whole(input, "event_offset"));
    known = find(&map, key);
    memset(&none, 0, sizeof none);
    gate = known != NULL ? &known->gate : &none;
    if (strcmp(op, "next") == 0) {
      double u = 0;
      known = entry_of(&map, key);
      if (known == NULL) {
        return fail("room for all keys", "none left", at);
      }
      if (holdoff_gate_draws(&known->gate, &map.config, event)) {
        if (uniform == NULL) {
          return fail("as many draws as the original made", "more", at);
        }
        u = drawn(real_of(uniform));
        uniform = uniform->next;
      }
      answer = holdoff_gate_failure_of(&known->gate, &map.config, event, now, u);
      is_number = true;
    } else if (strcmp(op, "get") == 0) {
      answer = holdoff_gate_delay(gate);
      is_number = true;
    } else if (strcmp(op, "in_backoff_since_update") == 0) {
      answer = holdoff_gate_covers(gate, &map.config, event);
      is_truth = true;
    } else if (strcmp(op, "in_backoff_since") == 0) {
      answer = holdoff_gate_covers_since(gate, &map.config, event, now);
      is_truth = true;
    } else if (strcmp(op, "reset") == 0 || strcmp(op, "delete") == 0) {
      drop(&map, key);
      known = NULL;
    } else if (strcmp(op, "gc") == 0) {
      int place = 0;
      while (place < map.count) {
        if (holdoff_gate_is_discardable(&map.entries[place].gate, &map.config, now)) {
          drop(&map, map.entries[place].key);
        } else {
          place++;
        }
      }
      cJSON_ArrayForEach(asked, expected) {
        if (cJSON_IsTrue(asked) != (find(&map, asked->string) != NULL)) {
          return fail("the keys that were kept", asked->string, at);
        }
      }
    } else if (strcmp(op, "advance") != 0) {
      return fail("an op that is known", op, at);
    }
    if (is_number && whole_of(expected) < 0) {
      /* A wrapped delay is doubled again, which may give any number, until the entry is gone. */
      counted.deviations++;
      if (known != NULL) {
        known->lost = true;
      }
    } else if (is_number || is_truth) {
      int64_t wanted = is_truth ? cJSON_IsTrue(expected) : whole_of(expected);
      if (known != NULL && known->lost) {
        counted.deviations += wanted != (int64_t)answer;
      } else if (same_number(wanted, answer, at) == FAILED) {
        return FAILED;
      }
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}

/* A rate limiter of the work queue: gates by key, a bucket, or the longest of several. */
#define LIMITERS 4

typedef struct limiter {
  enum { ITEMS, BUCKET, MAX_OF } kind;
  gates items;
  holdoff_bucket_config config;
  holdoff_bucket bucket;
  struct limiter *of[LIMITERS];
  int count;
} limiter;

static limiter pool[LIMITERS + 1];
static int pooled;

/* NULL for one that is refused. */
static limiter *limiter_of(const cJSON *config) {
  const char *kind = word(config, "kind");
  const cJSON *one;
  limiter *made;
  if (pooled > LIMITERS) {
    return NULL;
  }
  made = &pool[pooled++];
  memset(made, 0, sizeof *made);
  if (strcmp(kind, "ItemExponentialFailure") == 0) {
    int64_t base = whole(config, "base"), max = whole(config, "max");
    made->kind = ITEMS;
    return base >= 0 && max >= 0 &&
                   holdoff_gate_config_item_exponential(&made->items.config, (uint64_t)base, (uint64_t)max) == 0
               ? made
               : NULL;
  }
  if (strcmp(kind, "ItemFastSlow") == 0) {
    int64_t fast = whole(config, "fast"), slow = whole(config, "slow");
    made->kind = ITEMS;
    return fast >= 0 && slow >= 0 &&
                   holdoff_gate_config_fast_slow(&made->items.config, (uint64_t)fast, (uint64_t)slow,
                                                 whole(config, "max_fast_attempts")) == 0
               ? made
               : NULL;
  }
  if (strcmp(kind, "Bucket") == 0) {
    int64_t burst = whole(config, "burst");
    made->kind = BUCKET;
    return burst >= 0 && holdoff_bucket_config_init(&made->config, real(config, "limit_per_s"), 1000000000u,
                                                    (uint64_t)burst) == 0 &&
                   holdoff_bucket_fill(&made->bucket, &made->config, 0) == 0
               ? made
               : NULL;
  }
  made->kind = MAX_OF;
  cJSON_ArrayForEach(one, get(config, "of")) {
    limiter *inner = made->count < LIMITERS ? limiter_of(one) : NULL;
    if (inner == NULL) {
      return NULL;
    }
    made->of[made->count++] = inner;
  }
  return made;
}

static uint64_t when(limiter *limits, const char *key, uint64_t now) {
  uint64_t longest = 0;
  int at;
  entry *known;
  switch (limits->kind) {
    case ITEMS:
      known = entry_of(&limits->items, key);
      return holdoff_gate_failure(known != NULL ? &known->gate : NULL, &limits->items.config, now, 0);
    case BUCKET:
      /* Go says "never" as its longest duration. */
      return holdoff_bucket_reserve(&limits->bucket, &limits->config, 1, now, HOLDOFF_LONGEST_NS, &longest)
                 ? longest
                 : HOLDOFF_LONGEST_NS;
    default:
      for (at = 0; at < limits->count; at++) {
        uint64_t delay = when(limits->of[at], key, now);
        longest = delay > longest ? delay : longest;
      }
      return longest;
  }
}

static uint64_t requeues(limiter *limits, const char *key) {
  uint64_t most = 0;
  int at;
  if (limits->kind == ITEMS) {
    entry *known = find(&limits->items, key);
    return known != NULL ? holdoff_gate_failures(&known->gate) : 0;
  }
  for (at = 0; at < limits->count; at++) {
    uint64_t one = requeues(limits->of[at], key);
    most = one > most ? one : most;
  }
  return most;
}

static void forget(limiter *limits, const char *key) {
  int at;
  if (limits->kind == ITEMS) {
    drop(&limits->items, key);
  }
  for (at = 0; at < limits->count; at++) {
    forget(limits->of[at], key);
  }
}

verdict run_k8s_workqueue(const cJSON *item) {
  const cJSON *config = get(item, "config"), *input, *expected = get(item, "expected")->child;
  uint64_t longest = get(config, "max") != NULL ? number(config, "max") : HOLDOFF_LONGEST_NS;
  limiter *limits;
  int at = 0;
  pooled = 0;
  limits = limiter_of(config);
  if (limits == NULL) {
    return refused(false);
  }
  cJSON_ArrayForEach(input, get(item, "inputs")) {
    const char *op = word(input, "op"), *key = word(input, "id");
    uint64_t got = 0;
    if (strcmp(op, "when") == 0) {
      got = when(limits, key, number(input, "at"));
    } else if (strcmp(op, "requeues") == 0) {
      got = requeues(limits, key);
    } else if (strcmp(op, "forget") == 0) {
      forget(limits, key);
    } else {
      return fail("an op that is known", op, at);
    }
    if (whole_of(expected) < 0) {
      counted.deviations++;
      if (got > longest) {
        return fail("a delay in range", "a longer one", at);
      }
    } else if (!cJSON_IsNull(expected) && same_number(whole_of(expected), got, at) == FAILED) {
      return FAILED;
    }
    expected = expected->next;
    at++;
  }
  return PASSED;
}
