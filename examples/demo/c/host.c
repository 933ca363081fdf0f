/* The C host: libcurl and holdoff_run. */

#include <holdoff_loop.h>

#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* One call: what every attempt needs, and what is written down about them. */
typedef struct page {
  CURL *curl;
  char url[256];
  char saw[64];
  cJSON *attempts;
} page;

static size_t discard(char *data, size_t size, size_t count, void *context) {
  (void)data, (void)context;
  return size * count;
}

static bool get(void *context, const holdoff_attempt *attempt, holdoff_failure *failure) {
  page *page = context;
  int left = holdoff_attempt_left_ms(attempt);
  if (left == 0) {
    snprintf(page->saw, sizeof page->saw, "timeout");
    *failure = holdoff_failure_of(HOLDOFF_TIMEOUT);
    return false;
  }
  curl_easy_reset(page->curl);
  curl_easy_setopt(page->curl, CURLOPT_URL, page->url);
  curl_easy_setopt(page->curl, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(page->curl, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(page->curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(page->curl, CURLOPT_PROXY, "");
  if (left > 0) {
    curl_easy_setopt(page->curl, CURLOPT_TIMEOUT_MS, (long)left);
  }
  CURLcode code = curl_easy_perform(page->curl);
  if (code != CURLE_OK) {
    bool late = code == CURLE_OPERATION_TIMEDOUT;
    snprintf(page->saw, sizeof page->saw, late ? "timeout" : "lost");
    *failure = holdoff_failure_of(late ? HOLDOFF_TIMEOUT : HOLDOFF_TRANSIENT);
    return false;
  }
  long status = 0;
  curl_easy_getinfo(page->curl, CURLINFO_RESPONSE_CODE, &status);
  snprintf(page->saw, sizeof page->saw, "%ld", status);
  struct curl_header *retry_after = NULL;
  bool hinted = curl_easy_header(page->curl, "Retry-After", 0, CURLH_HEADER, -1, &retry_after) == CURLHE_OK;
  return !holdoff_failure_from_http((uint32_t)status, hinted ? retry_after->value : NULL, failure);
}

static void add_number(cJSON *object, const char *name, uint64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, number);
  cJSON_AddStringToObject(object, name, text);
}

/* Writes down what an attempt saw and which decision followed. */
static cJSON *note(page *page, uint32_t attempt, const char *decision) {
  cJSON *entry = cJSON_CreateObject();
  cJSON_AddNumberToObject(entry, "attempt", attempt);
  cJSON_AddStringToObject(entry, "saw", page->saw);
  cJSON_AddStringToObject(entry, "decision", decision);
  cJSON_AddItemToArray(page->attempts, entry);
  return entry;
}

static void add_failure(cJSON *entry, holdoff_failure failure) {
  cJSON_AddStringToObject(entry, "failure", holdoff_word(HOLDOFF_WORD_FAILURE, failure.kind));
  if (failure.hint == HOLDOFF_HINT_AFTER) {
    add_number(entry, "hint", failure.hint_ns);
  } else {
    cJSON_AddStringToObject(entry, "hint", failure.hint == HOLDOFF_HINT_NEVER ? "never" : "none");
  }
}

static void on_retry(void *context, const holdoff_retrying *retrying) {
  cJSON *entry = note(context, retrying->attempt, "sleep");
  add_failure(entry, retrying->failure);
  add_number(entry, "delay_ns", retrying->delay_ns);
  cJSON_AddStringToObject(entry, "cause", holdoff_word(HOLDOFF_WORD_CAUSE, retrying->cause));
}

static cJSON *call(CURL *curl, const char *base, const char *path, const holdoff_policy *policy, uint64_t seed) {
  page page = {.curl = curl, .attempts = cJSON_CreateArray()};
  holdoff_host host = {.on_retry = on_retry, .seed = &seed};
  holdoff_result result;
  snprintf(page.url, sizeof page.url, "%s%s", base, path);
  if (holdoff_run(policy, &host, get, &page, &result)) {
    note(&page, result.attempts, "succeeded");
  } else {
    cJSON *entry = note(&page, result.attempts, holdoff_word(HOLDOFF_WORD_OUTCOME, result.outcome));
    add_failure(entry, result.failure);
    cJSON_AddStringToObject(entry, "reason", holdoff_word(HOLDOFF_WORD_REASON, result.reason));
  }
  return page.attempts;
}

/* Reads a policy document: objects become paths with dots. */
static void set(holdoff_options *options, const char *prefix, const cJSON *object) {
  const cJSON *field;
  cJSON_ArrayForEach(field, object) {
    char path[128];
    snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", field->string);
    if (cJSON_IsObject(field)) {
      set(options, path, field);
    } else if (cJSON_IsString(field)) {
      holdoff_options_set_text(options, path, field->valuestring);
    } else if (cJSON_IsNumber(field)) {
      holdoff_options_set_number(options, path, field->valuedouble);
    } else {
      holdoff_options_set_value(options, path, HOLDOFF_VALUE_OTHER);
    }
  }
}

static int fail(const char *text) {
  fprintf(stderr, "%s\n", text);
  return 1;
}

static cJSON *read_plan(const char *name) {
  static char text[65536];
  FILE *file = fopen(name, "r");
  if (file == NULL) {
    return NULL;
  }
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return cJSON_Parse(text);
}

int main(int count, char **arguments) {
  if (count != 2) {
    return fail("usage: host PLAN");
  }
  cJSON *plan = read_plan(arguments[1]);
  const char *base = cJSON_GetStringValue(cJSON_GetObjectItem(plan, "base"));
  if (base == NULL) {
    return fail("this is no plan");
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *curl = curl_easy_init();
  cJSON *trace = cJSON_CreateObject();
  cJSON_AddStringToObject(trace, "host", "c");
  cJSON *runs = cJSON_AddArrayToObject(trace, "runs");

  const cJSON *planned;
  cJSON_ArrayForEach(planned, cJSON_GetObjectItem(plan, "runs")) {
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(planned, "path"));
    const char *seed = cJSON_GetStringValue(cJSON_GetObjectItem(planned, "seed"));
    holdoff_options options;
    holdoff_policy policy;
    holdoff_problem problem;
    holdoff_options_init(&options);
    set(&options, "", cJSON_GetObjectItem(planned, "policy"));
    if (holdoff_policy_build(&policy, &options, &problem) != HOLDOFF_OK) {
      char text[512];
      holdoff_problem_text(&problem, text, sizeof text);
      return fail(text);
    }
    cJSON *run = cJSON_CreateObject();
    cJSON_AddStringToObject(run, "path", path);
    cJSON_AddItemToObject(run, "attempts", call(curl, base, path, &policy, strtoull(seed, NULL, 10)));
    cJSON_AddItemToArray(runs, run);
  }

  char *text = cJSON_PrintUnformatted(trace);
  puts(text);
  cJSON_free(text);
  cJSON_Delete(trace);
  cJSON_Delete(plan);
  curl_easy_cleanup(curl);
  curl_global_cleanup();
  return 0;
}
