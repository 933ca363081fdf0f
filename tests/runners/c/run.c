/*
 * Runs vector files through the C library: `run PATH`, a file or a folder.
 *
 * One line a file, `FILE: N passed, M failed, K deviations`, the first failures before it, and exit code 1 if anything
 * failed. Reads JSON with cJSON; every decision is the library's.
 */
#define _POSIX_C_SOURCE 200809L

#include <holdoff.h>

#include <cjson/cJSON.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN 5

static unsigned long passed, failed;
static const char *case_name;

/* Says that the case failed, unless enough of the file has. */
static void fail(const char *expected, const char *got, int step) {
  if (failed++ < SHOWN) {
    printf("  %s: expected %s, got %s", case_name, expected, got);
    if (step >= 0) {
      printf(" (at step %d)", step);
    }
    printf("\n");
  }
}

static const char *word(const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return text != NULL ? text : "";
}

/* A whole number: a JSON number up to 2^53, else a decimal text, or the word "never". */
static uint64_t number_of(const cJSON *item) {
  const char *text = cJSON_GetStringValue(item);
  if (text == NULL) {
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? (uint64_t)item->valuedouble : 0;
  }
  return strcmp(text, "never") == 0 ? HOLDOFF_NEVER : strtoull(text, NULL, 10);
}

static uint64_t number(const cJSON *object, const char *key) {
  return number_of(cJSON_GetObjectItemCaseSensitive(object, key));
}

static holdoff_failure failure_of(const cJSON *item) {
  const cJSON *hint = cJSON_GetObjectItemCaseSensitive(item, "hint");
  const char *kind = word(item, "kind"), *said = cJSON_GetStringValue(hint);
  holdoff_failure failure = {0, HOLDOFF_HINT_NONE, 0};
  for (uint32_t code = HOLDOFF_TRANSIENT; code <= HOLDOFF_PERMANENT; code++) {
    if (strcmp(kind, holdoff_failure_kind_name(code)) == 0) {
      failure.kind = code;
    }
  }
  if (said != NULL && strcmp(said, "never") == 0) {
    failure.hint = HOLDOFF_HINT_NEVER;
  } else if (hint != NULL && !cJSON_IsNull(hint) && !(said != NULL && strcmp(said, "none") == 0)) {
    failure.hint = HOLDOFF_HINT_AFTER;
    failure.hint_ns = number_of(hint);
  }
  return failure;
}

/* Hands a document to the options, its nested objects flattened with dots. */
static void set_all(holdoff_options *options, const cJSON *object, const char *prefix) {
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", prefix, *prefix != 0 ? "." : "", item->string);
    if (cJSON_IsString(item)) {
      holdoff_options_set_text(options, path, item->valuestring);
    } else if (cJSON_IsNumber(item)) {
      holdoff_options_set_number(options, path, item->valuedouble);
    } else if (cJSON_IsObject(item)) {
      set_all(options, item, path);
    } else if (cJSON_IsNull(item)) {
      holdoff_options_set_nothing(options, path);
    } else {
      holdoff_options_set_other(options, path);
    }
  }
}

static int build(holdoff_policy *policy, const cJSON *document, holdoff_problem *problem) {
  holdoff_options options;
  holdoff_options_init(&options);
  set_all(&options, document, "");
  return holdoff_policy_build(policy, &options, problem);
}

/* The policy of a case whose subject is another; false, and a failure, when it has a problem. */
static bool policy_of(const cJSON *item, holdoff_policy *policy) {
  holdoff_problem problem;
  char line[256];
  if (build(policy, cJSON_GetObjectItemCaseSensitive(item, "policy"), &problem) == 0) {
    return true;
  }
  holdoff_problem_text(&problem, line, sizeof line);
  fail("a valid policy", line, -1);
  return false;
}

static const char *time_text(uint64_t time, char *buffer) {
  if (time == HOLDOFF_NEVER) {
    return "never";
  }
  sprintf(buffer, "%" PRIu64, time);
  return buffer;
}

/* A step as one line of text. */
static void show(holdoff_step step, char *out) {
  char at[24], wake[24];
  const char *kind = holdoff_step_name(step.kind), *when = time_text(step.at, at);
  switch (step.kind) {
    case HOLDOFF_ATTEMPT:
      sprintf(out, "attempt %" PRIu32 " abort_at %s wake_at %s", step.attempt, when, time_text(step.wake_at, wake));
      break;
    case HOLDOFF_SLEEP:
      sprintf(out, "sleep until %s cause %s", when, holdoff_cause_name(step.cause));
      break;
    case HOLDOFF_WAIT:
      sprintf(out, "wait until %s", when);
      break;
    default:
      if (step.outcome == HOLDOFF_GAVE_UP) {
        sprintf(out, "%s gave_up reason %s retry_at %s", kind, holdoff_reason_name(step.reason), when);
      } else {
        sprintf(out, "%s %s %u", kind, holdoff_outcome_name(step.outcome), step.reason);
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

/* Whether a step is the one expected; says so when it is not. */
static bool same(holdoff_step step, const cJSON *expected, int at) {
  char got[160], wanted[160];
  show(step, got);
  show_expected(expected, wanted, sizeof wanted);
  if (strcmp(got, wanted) == 0) {
    return true;
  }
  fail(wanted, got, at);
  return false;
}

static bool run_call(const cJSON *item) {
  holdoff_policy policy;
  holdoff_call call;
  const cJSON *event;
  const cJSON *expected = cJSON_GetObjectItemCaseSensitive(item, "steps");
  uint64_t seed = number(item, "seed");
  int at = 0;
  if (!policy_of(item, &policy)) {
    return false;
  }
  memset(&call, 0, sizeof call);
  expected = expected != NULL ? expected->child : NULL;
  cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(item, "events")) {
    const char *op = word(event, "op");
    uint64_t now = number(event, "now"), ticket = number(event, "ticket");
    holdoff_step step;
    if (expected == NULL) {
      return fail("as many steps as events", "fewer", at), false;
    }
    if (strcmp(op, "underway") == 0) {
      holdoff_call_underway(&call, seed, number(event, "started"));
      if (!cJSON_IsNull(expected)) {
        return fail("a step", "none", at), false;
      }
    } else {
      if (strcmp(op, "begin") == 0) {
        step = holdoff_call_begin(&call, &policy, seed, now);
      } else if (strcmp(op, "succeed") == 0) {
        step = holdoff_call_succeed(&call, ticket, now);
      } else if (strcmp(op, "fail") == 0) {
        step = holdoff_call_fail(&call, &policy, ticket, now,
                                 failure_of(cJSON_GetObjectItemCaseSensitive(event, "failure")));
      } else if (strcmp(op, "tick") == 0) {
        step = holdoff_call_tick(&call, &policy, now);
      } else if (strcmp(op, "cancel") == 0) {
        step = holdoff_call_cancel(&call, now);
      } else {
        return fail("an event that is known", op, at), false;
      }
      if (!same(step, expected, at)) {
        return false;
      }
    }
    expected = expected->next;
    at++;
  }
  return expected == NULL || (fail("as many events as steps", "fewer", at), false);
}

static bool run_retry(const cJSON *item) {
  holdoff_policy policy;
  holdoff_retry retry;
  const cJSON *event;
  const cJSON *expected = cJSON_GetObjectItemCaseSensitive(item, "decisions");
  int at = 0;
  if (!policy_of(item, &policy)) {
    return false;
  }
  holdoff_retry_init(&retry, number(item, "seed"), number(item, "started"));
  expected = expected != NULL ? expected->child : NULL;
  cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(item, "failures")) {
    holdoff_failure failure = failure_of(cJSON_GetObjectItemCaseSensitive(event, "failure"));
    if (expected == NULL) {
      return fail("as many decisions as failures", "fewer", at), false;
    }
    if (!same(holdoff_retry_on_failure(&retry, &policy, number(event, "now"), failure), expected, at)) {
      return false;
    }
    expected = expected->next;
    at++;
  }
  return expected == NULL || (fail("as many failures as decisions", "fewer", at), false);
}

static bool run_schedule(const cJSON *item) {
  holdoff_policy policy;
  holdoff_schedule schedule;
  const cJSON *delay;
  uint64_t got = 0;
  char one[24], two[24];
  int at = 0;
  bool ends = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "ends"));
  if (!policy_of(item, &policy)) {
    return false;
  }
  holdoff_schedule_init(&schedule, &policy, number(item, "seed"));
  cJSON_ArrayForEach(delay, cJSON_GetObjectItemCaseSensitive(item, "delays")) {
    bool there = holdoff_schedule_next(&schedule, &got);
    if (!there || got != number_of(delay)) {
      return fail(time_text(number_of(delay), one), there ? time_text(got, two) : "the end", at), false;
    }
    at++;
  }
  if (holdoff_schedule_next(&schedule, &got) == ends) {
    return fail(ends ? "the end" : "another delay", ends ? time_text(got, one) : "the end", at), false;
  }
  return true;
}

static bool run_policy(const cJSON *item) {
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(item, "error");
  holdoff_policy policy;
  holdoff_problem problem;
  char got[200], wanted[200];
  int code = build(&policy, cJSON_GetObjectItemCaseSensitive(item, "policy"), &problem);
  strcpy(got, "no error");
  strcpy(wanted, "no error");
  if (code != 0) {
    snprintf(got, sizeof got, "%d %s at %s near %s", code, holdoff_error_name((uint32_t)code), problem.path,
             problem.nearest);
  }
  if (error != NULL && !cJSON_IsNull(error)) {
    /* A problem keeps as much of an unknown name as it has room for. */
    snprintf(wanted, sizeof wanted, "%" PRIu64 " %s at %.*s near %s", number(error, "code"), word(error, "name"),
             (int)sizeof problem.path - 1, word(error, "path"), word(error, "nearest"));
  }
  return strcmp(got, wanted) == 0 || (fail(wanted, got, -1), false);
}

static void show_failure(holdoff_failure failure, char *out) {
  char hint[24];
  sprintf(out, "%s hint %s", holdoff_failure_kind_name(failure.kind),
          failure.hint == HOLDOFF_HINT_NONE    ? "none"
          : failure.hint == HOLDOFF_HINT_NEVER ? "never"
                                               : time_text(failure.hint_ns, hint));
}

static bool run_http(const cJSON *item) {
  const cJSON *expected = cJSON_GetObjectItemCaseSensitive(item, "failure");
  const char *retry_after = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "retry_after"));
  holdoff_failure failure;
  char got[64] = "no failure", wanted[64] = "no failure";
  if (holdoff_failure_from_http((uint32_t)number(item, "status"), retry_after, &failure)) {
    show_failure(failure, got);
  }
  if (expected != NULL && !cJSON_IsNull(expected)) {
    show_failure(failure_of(expected), wanted);
  }
  return strcmp(got, wanted) == 0 || (fail(wanted, got, -1), false);
}

static bool run_duration(const cJSON *item) {
  const cJSON *expected = cJSON_GetObjectItemCaseSensitive(item, "nanos");
  bool is_one = expected != NULL && !cJSON_IsNull(expected);
  uint64_t got = 0;
  char one[24], two[24];
  bool read = holdoff_parse_duration(word(item, "text"), &got) == 0;
  if (read == is_one && (!read || got == number_of(expected))) {
    return true;
  }
  return fail(is_one ? time_text(number_of(expected), one) : "no duration", read ? time_text(got, two) : "no duration",
              -1),
         false;
}

static bool run_seed(const cJSON *item) {
  uint64_t got = holdoff_seed_at(number(item, "n"), number(item, "k")), wanted = number(item, "seed");
  char one[24], two[24];
  sprintf(one, "%" PRIu64, wanted);
  sprintf(two, "%" PRIu64, got);
  return got == wanted || (fail(one, two, -1), false);
}

static const struct {
  const char *kind;
  bool (*run)(const cJSON *);
} KINDS[] = {
    {"call", run_call}, {"retry", run_retry},       {"schedule", run_schedule}, {"policy", run_policy},
    {"http", run_http}, {"duration", run_duration}, {"seed", run_seed},
};

/* The whole of a file, ended with a zero; NULL when it cannot be read. */
static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  long size = -1;
  if (file == NULL) {
    return NULL;
  }
  if (fseek(file, 0, SEEK_END) == 0) {
    size = ftell(file);
  }
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)) != NULL) {
    text[fread(text, 1, (size_t)size, file)] = 0;
  }
  fclose(file);
  return text;
}

/* Runs one file; answers whether all of it passed. */
static bool run_file(const char *path, const char *name) {
  char *text = contents(path);
  cJSON *document = text != NULL ? cJSON_Parse(text) : NULL;
  const cJSON *item, *cases = cJSON_GetObjectItemCaseSensitive(document, "cases");
  const char *kind = word(document, "kind");
  bool (*run)(const cJSON *) = NULL;
  passed = failed = 0;
  for (size_t at = 0; at < sizeof KINDS / sizeof *KINDS; at++) {
    if (strcmp(kind, KINDS[at].kind) == 0) {
      run = KINDS[at].run;
    }
  }
  if (run == NULL || !cJSON_IsArray(cases)) {
    case_name = name;
    fail("a file of vectors of a known kind", text == NULL ? "one that cannot be read" : *kind != 0 ? kind : "none", -1);
  } else {
    cJSON_ArrayForEach(item, cases) {
      case_name = word(item, "name");
      if (run(item)) {
        passed++;
      }
    }
  }
  printf("%s: %lu passed, %lu failed, 0 deviations\n", name, passed, failed);
  cJSON_Delete(document);
  free(text);
  return failed == 0;
}

static int by_name(const void *one, const void *other) {
  return strcmp(*(char *const *)one, *(char *const *)other);
}

typedef struct paths {
  char **all;
  size_t count;
} paths;

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), size = strlen(end);
  return length >= size && strcmp(text + length - size, end) == 0;
}

/* Adds the JSON files below a folder. */
static void collect(const char *folder, paths *found) {
  DIR *dir = opendir(folder);
  struct dirent *entry;
  while (dir != NULL && (entry = readdir(dir)) != NULL) {
    struct stat about;
    size_t size = strlen(folder) + strlen(entry->d_name) + 2;
    char *path = malloc(size);
    if (path == NULL || entry->d_name[0] == '.') {
      free(path);
      continue;
    }
    snprintf(path, size, "%s/%s", folder, entry->d_name);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
      collect(path, found);
    } else if (ends_with(path, ".json") && strcmp(entry->d_name, "schema.json") != 0) {
      char **more = realloc(found->all, (found->count + 1) * sizeof *more);
      if (more != NULL) {
        found->all = more;
        found->all[found->count++] = path;
        continue;
      }
    }
    free(path);
  }
  if (dir != NULL) {
    closedir(dir);
  }
}

int main(int argc, char **argv) {
  struct stat about;
  bool good = true;
  size_t at, root;
  paths found = {NULL, 0};
  if (argc != 2 || stat(argv[1], &about) != 0) {
    fprintf(stderr, "usage: run PATH, a file or folder of vectors\n");
    return 2;
  }
  if (!S_ISDIR(about.st_mode)) {
    const char *slash = strrchr(argv[1], '/');
    return !run_file(argv[1], slash != NULL ? slash + 1 : argv[1]);
  }
  root = strlen(argv[1]);
  while (root > 1 && argv[1][root - 1] == '/') {
    argv[1][--root] = 0;
  }
  collect(argv[1], &found);
  if (found.count > 1) {
    qsort(found.all, found.count, sizeof *found.all, by_name);
  }
  for (at = 0; at < found.count; at++) {
    good = run_file(found.all[at], found.all[at] + root + 1) && good;
    free(found.all[at]);
  }
  free(found.all);
  return !good;
}
