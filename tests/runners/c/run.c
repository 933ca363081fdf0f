/*
 * Runs vector files through the C library: `run PATH`, a file or a folder.
 *
 * One line a file, `FILE: N passed, M failed, K deviations`, the first failures before it, and exit code 1 if anything
 * failed. Reads JSON with cJSON; every decision is the library's.
 */
#define _POSIX_C_SOURCE 200809L

#include "runner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SHOWN 5
/* No vectors, but the policies of random logs. */
#define POLICIES "log_policies.json"

tally counted;
const char *case_name;

verdict fail(const char *expected, const char *got, int step) {
  if (counted.failed++ < SHOWN) {
    printf("  %s: expected %s, got %s", case_name, expected, got);
    if (step >= 0) {
      printf(" (at step %d)", step);
    }
    printf("\n");
  }
  return FAILED;
}

verdict compare(const char *expected, const char *got, int step) {
  return strcmp(expected, got) == 0 ? PASSED : fail(expected, got, step);
}

verdict differ(const cJSON *expected, const cJSON *got, int step) {
  char *one = cJSON_PrintUnformatted(expected), *two = cJSON_PrintUnformatted(got);
  fail(one, two, step);
  free(one);
  free(two);
  return FAILED;
}

static const struct {
  const char *kind;
  verdict (*run)(const cJSON *);
} KINDS[] = {
    {"call", run_call},
    {"retry", run_retry},
    {"schedule", run_schedule},
    {"backoff", run_backoff},
    {"policy", run_policy},
    {"document", run_document},
    {"form", run_form},
    {"explain", run_explain},
    {"http", run_http},
    {"hint", run_hint},
    {"keyed_gate", run_gate},
    {"layered", run_layers},
    {"trace", run_trace},
    {"chaos", run_chaos},
    {"loop_backoff", run_loop_backoff},
    {"duration", run_duration},
    {"seed", run_seed},
    {"classify", run_classify},
    {"save", run_save},
    {"resume", run_resume},
    {"budget", run_budget},
    {"breaker", run_breaker},
    {"breaker_window", run_breaker_window},
    {"limiter", run_limiter},
    {"bulkhead", run_bulkhead},
    {"adaptive", run_adaptive},
    {"stretch", run_stretch},
    {"latency", run_latency},
    {"nested", run_nested},
    {"guarded", run_guarded},
    {"log", run_log},
    {"replay", run_replay},
    {"wheel", run_wheel},
    {"k8s_backoff", run_k8s_backoff},
    {"k8s_manager", run_k8s_manager},
    {"k8s_flowcontrol", run_k8s_flowcontrol},
    {"k8s_workqueue", run_k8s_workqueue},
    {"k8s_backoffuntil", run_k8s_backoffuntil},
    {"k8s_poll", run_k8s_poll},
    {"k8s_exponential_backoff", run_k8s_exponential_backoff},
    {"langgraphgo_retrynode", run_retrynode},
    {"langgraphgo_extras", run_extras},
    {"langgraphgo_graph", run_graph},
    {"aster", run_aster},
    {"aster_estimate", run_aster_estimate},
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

static void run_cases(verdict (*run)(const cJSON *), const cJSON *cases) {
  const cJSON *item;
  cJSON_ArrayForEach(item, cases) {
    unsigned long failed = counted.failed, deviations = counted.deviations;
    const cJSON *config = get(item, "config");
    verdict judged;
    case_name = word(item, "name");
    judged = cJSON_IsObject(item) && (config == NULL || cJSON_IsNull(config) || cJSON_IsObject(config))
                 ? run(item)
                 : fail("a case with its configuration", "something else", -1);
    if (counted.failed == failed) {
      counted.passed += judged == PASSED;
      counted.deviations += judged == OUT_OF_DOMAIN;
    } else {
      counted.deviations = deviations;
    }
  }
}

/* Runs one file; answers whether all of it passed. */
static bool run_file(const char *path, const char *name) {
  char *text = contents(path);
  cJSON *document = text != NULL ? read_json(text) : NULL;
  const cJSON *cases = get(document, "cases");
  const char *kind = word(document, "kind");
  verdict (*run)(const cJSON *) = NULL;
  size_t at;
  memset(&counted, 0, sizeof counted);
  for (at = 0; at < sizeof KINDS / sizeof *KINDS; at++) {
    if (strcmp(kind, KINDS[at].kind) == 0) {
      run = KINDS[at].run;
    }
  }
  if (run == NULL || !cJSON_IsArray(cases)) {
    case_name = name;
    fail("a file of vectors of a known kind", text == NULL ? "one that cannot be read" : *kind != 0 ? kind : "none", -1);
  } else {
    run_cases(run, cases);
  }
  printf("%s: %lu passed, %lu failed, %lu deviations\n", name, counted.passed, counted.failed, counted.deviations);
  cJSON_Delete(document);
  free(text);
  return counted.failed == 0;
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
    } else if (ends_with(path, ".json") && strcmp(entry->d_name, "schema.json") != 0 &&
               strcmp(entry->d_name, POLICIES) != 0) {
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

/* The digest of random logs; the policies lie in a folder of vectors or below. */
static int digest(const char *folder, const char *count, const char *seed) {
  struct stat about;
  size_t size = strlen(folder) + sizeof "/holdoff/" POLICIES;
  char *path = malloc(size), *text;
  bool good = path != NULL;
  if (good) {
    snprintf(path, size, "%s/" POLICIES, folder);
    if (stat(path, &about) != 0) {
      snprintf(path, size, "%s/holdoff/" POLICIES, folder);
    }
    text = contents(path);
    good = text != NULL && print_digest(text, strtoull(count, NULL, 10), strtoull(seed, NULL, 10));
    free(text);
  }
  free(path);
  return !good;
}

int main(int argc, char **argv) {
  struct stat about;
  bool good = true;
  size_t at, root;
  paths found = {NULL, 0};
  if (argc == 6 && strcmp(argv[2], "--logs") == 0 && strcmp(argv[4], "--seed") == 0) {
    return digest(argv[1], argv[3], argv[5]);
  }
  if (argc == 4 && strcmp(argv[2], "--relay") == 0) {
    return !leg(argv[3]);
  }
  if (argc != 2 || stat(argv[1], &about) != 0) {
    fprintf(stderr, "usage: run PATH [--logs COUNT --seed S | --relay LOG], a file or folder of vectors\n");
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
