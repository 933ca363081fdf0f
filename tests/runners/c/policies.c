/* Vectors of configurations and of what failures are. */
#include "runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Sets what a value of JSON says, its objects and lists flattened. */
void set_one(holdoff_options *options, const cJSON *item, const char *path) {
  const char *text = cJSON_GetStringValue(item);
  if (text != NULL && *text != '#') {
    holdoff_options_set_text(options, path, text);
  } else if (text != NULL || cJSON_IsNumber(item)) {
    holdoff_options_set_number(options, path, real_of(item));
  } else if (cJSON_IsNull(item)) {
    holdoff_options_set_value(options, path, HOLDOFF_VALUE_NULL);
  } else if (cJSON_IsArray(item) && item->child == NULL) {
    holdoff_options_set_value(options, path, HOLDOFF_VALUE_EMPTY_LIST);
  } else if (cJSON_IsObject(item) && item->child == NULL) {
    holdoff_options_set_value(options, path, HOLDOFF_VALUE_EMPTY_OBJECT);
  } else if (cJSON_IsArray(item) || cJSON_IsObject(item)) {
    set_all(options, item, path);
  } else {
    holdoff_options_set_value(options, path, cJSON_IsTrue(item) ? HOLDOFF_VALUE_TRUE : HOLDOFF_VALUE_FALSE);
  }
}

void set_all(holdoff_options *options, const cJSON *object, const char *prefix) {
  const cJSON *item;
  int index = 0;
  cJSON_ArrayForEach(item, object) {
    char path[512];
    if (cJSON_IsArray(object)) {
      snprintf(path, sizeof path, "%s[%d]", prefix, index++);
    } else {
      snprintf(path, sizeof path, "%s%s%s", prefix, *prefix != 0 ? "." : "", item->string);
    }
    set_one(options, item, path);
  }
}

static int build(holdoff_policy *policy, const cJSON *document, holdoff_problem *problem) {
  holdoff_options options;
  char patterns[1024];
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  set_all(&options, document, "");
  return holdoff_policy_build(policy, &options, problem);
}

/* The policy of a case whose subject is another; false, and a failure, when it has a problem. */
bool policy_from(const cJSON *document, holdoff_policy *policy) {
  holdoff_problem problem;
  char line[400];
  if (build(policy, document, &problem) == 0) {
    return true;
  }
  holdoff_problem_text(&problem, line, sizeof line);
  fail("a valid policy", line, -1);
  return false;
}

bool policy_of(const cJSON *item, holdoff_policy *policy) {
  return policy_from(get(item, "policy"), policy);
}

uint32_t kind_of(const char *name) {
  uint32_t kind;
  for (kind = HOLDOFF_TRANSIENT; kind <= HOLDOFF_PERMANENT; kind++) {
    if (strcmp(name, holdoff_word(HOLDOFF_WORD_FAILURE, kind)) == 0) {
      return kind;
    }
  }
  return 0;
}

holdoff_failure failure_of(const cJSON *item) {
  const cJSON *hint = get(item, "hint");
  const char *said = cJSON_GetStringValue(hint);
  holdoff_failure failure = {0, HOLDOFF_HINT_NONE, 0, 0};
  failure.kind = kind_of(word(item, "kind"));
  failure.rule = (uint16_t)number(item, "rule");
  if (said != NULL && strcmp(said, "never") == 0) {
    failure.hint = HOLDOFF_HINT_NEVER;
  } else if (hint != NULL && !cJSON_IsNull(hint) && !(said != NULL && strcmp(said, "none") == 0)) {
    failure.hint = HOLDOFF_HINT_AFTER;
    failure.hint_ns = number_of(hint);
  }
  return failure;
}

static const char *hint_text(uint32_t hint, uint64_t ns, char *buffer) {
  return hint == HOLDOFF_HINT_NONE ? "none" : hint == HOLDOFF_HINT_NEVER ? "never" : time_text(ns, buffer);
}

void show_failure(holdoff_failure failure, char *out) {
  char hint[24];
  sprintf(out, "%s hint %s", holdoff_word(HOLDOFF_WORD_FAILURE, failure.kind), hint_text(failure.hint, failure.hint_ns, hint));
}

verdict same_problem(const cJSON *error, int code, const holdoff_problem *problem) {
  char got[400] = "no error", wanted[400] = "no error";
  const char *rule = cJSON_GetStringValue(get(error, "rule"));
  if (code != 0) {
    snprintf(got, sizeof got, "%d %s at %s near %s: %s", code, holdoff_word(HOLDOFF_WORD_ERROR, (uint32_t)code), problem->path,
             problem->nearest, rule != NULL ? problem->rule : "");
  }
  if (error != NULL && !cJSON_IsNull(error)) {
    /* A problem keeps as much of an unknown name as it has room for. */
    snprintf(wanted, sizeof wanted, "%" PRIu64 " %s at %.*s near %s: %s", number(error, "code"), word(error, "name"),
             (int)sizeof problem->path - 1, word(error, "path"), word(error, "nearest"), rule != NULL ? rule : "");
  }
  return compare(wanted, got, -1);
}

verdict run_policy(const cJSON *item) {
  holdoff_policy policy;
  holdoff_problem problem;
  int code = build(&policy, get(item, "policy"), &problem);
  return same_problem(get(item, "error"), code, &problem);
}

verdict run_document(const cJSON *item) {
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  char patterns[1024];
  const char *text = word(item, "text");
  int code;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  holdoff_options_read_json(&options, text, strlen(text));
  code = holdoff_policy_build(&policy, &options, &problem);
  return same_problem(get(item, "error"), code, &problem);
}

/* The number of a form, by its name; 0 for none. */
static uint32_t form_of(const char *name) {
  static const char *const names[] = {
      "document", "grpc", "temporal", "kubernetes", "langgraphgo", "langgraphgo-graph", "aster", "step-functions",
      "serverless-workflow", "dapr", "gateway-api", "istio", "resilience4j", "polly",
  };
  uint32_t form = sizeof names / sizeof *names - 1;
  while (form > 0 && strcmp(name, names[form]) != 0) {
    form--;
  }
  return form;
}

/* A policy and its rules as a document. */
static void written(const holdoff_policy *policy, const holdoff_rules *rules, const holdoff_options *guards, char *out, size_t size) {
  int length = holdoff_policy_json(policy, rules, HOLDOFF_FORM_DOCUMENT, out, size, NULL);
  if (length > 0 && (size_t)length < size) {
    holdoff_options_json(guards, HOLDOFF_FORM_DOCUMENT, out + length, size - (size_t)length, NULL);
  }
}

verdict run_form(const cJSON *item) {
  holdoff_options options, guards;
  holdoff_policy policy;
  holdoff_rules rules;
  holdoff_problem problem;
  char patterns[1024], others[1024], got[4096] = "", wanted[4096] = "";
  const char *text = word(item, "text");
  const cJSON *entry = get(item, "entry"), *document = get(item, "document");
  uint32_t form = form_of(word(item, "form"));
  int code;
  holdoff_options_init(&guards);
  code = cJSON_IsNull(entry) ? holdoff_form_read_json(form, text, strlen(text), &policy, &rules, patterns, sizeof patterns,
                                                      &guards, &problem)
                             : holdoff_form_read_entry_json(form, (uint32_t)number_of(entry), text, strlen(text), &policy,
                                                            &rules, patterns, sizeof patterns, &guards, &problem);
  if (cJSON_IsNull(document) || code != 0) {
    return same_problem(get(item, "error"), code, &problem);
  }
  written(&policy, &rules, &guards, got, sizeof got);
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, others, sizeof others);
  set_all(&options, document, "");
  holdoff_policy_build(&policy, &options, NULL);
  holdoff_rules_build(&rules, &options, NULL);
  written(&policy, &rules, &guards, wanted, sizeof wanted);
  return compare(wanted, got, -1);
}

verdict run_explain(const cJSON *item) {
  holdoff_options options;
  holdoff_policy policy;
  holdoff_problem problem;
  char patterns[1024], said[8192] = "", wanted[8192] = "", wait[24] = "null";
  const cJSON *line, *total = get(item, "total_wait");
  char *text = cJSON_PrintUnformatted(get(item, "policy"));
  uint64_t ns = 0;
  size_t length;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  holdoff_options_read_json(&options, text, strlen(text));
  cJSON_free(text);
  if (holdoff_policy_build(&policy, &options, &problem) != 0) {
    return fail("a policy", problem.rule, -1);
  }
  holdoff_options_explain(&options, 0, said, sizeof said);
  for (length = strlen(said); length > 0 && said[length - 1] == '\n'; length--) {
    said[length - 1] = '\0';
  }
  cJSON_ArrayForEach(line, get(item, "lines")) {
    strcat(strcat(wanted, wanted[0] == '\0' ? "" : "\n"), cJSON_GetStringValue(line));
  }
  if (compare(wanted, said, -1) == FAILED) {
    return FAILED;
  }
  if (holdoff_policy_total_wait(&policy, &ns)) {
    sprintf(wait, "%" PRIu64, ns);
  }
  return compare(cJSON_IsNull(total) ? "null" : time_text(number_of(total), wanted), wait, -1);
}

/* The texts of a list, with NULL behind the last one. */
static const char *const *names(const cJSON *list, const char **room) {
  const cJSON *item;
  size_t count = 0;
  cJSON_ArrayForEach(item, list) {
    room[count++] = cJSON_GetStringValue(item);
  }
  room[count] = NULL;
  return room;
}

verdict run_classify(const cJSON *item) {
  const cJSON *grpc = get(item, "grpc");
  holdoff_options options;
  holdoff_rules rules;
  holdoff_facts facts;
  holdoff_problem problem;
  holdoff_failure judged;
  unsigned rule;
  const char *codes[9], *types[9];
  char patterns[1024], got[64], wanted[64];
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, patterns, sizeof patterns);
  set_all(&options, get(item, "policy"), "");
  if (holdoff_rules_build(&rules, &options, &problem) != 0) {
    return fail("valid rules", problem.rule, -1);
  }
  memset(&facts, 0, sizeof facts);
  facts.message = word(item, "message");
  facts.http = (uint32_t)number(item, "http");
  facts.has_grpc = cJSON_IsNumber(grpc);
  facts.grpc = (uint32_t)number_of(grpc);
  facts.codes = names(get(item, "codes"), codes);
  facts.types = names(get(item, "types"), types);
  facts.non_idempotent = !truth(item, "idempotent");
  facts.unsent = truth(item, "unsent");
  facts.program_fault = truth(item, "program_fault");
  facts.should_retry = get(item, "should_retry") == NULL ? 0 : truth(item, "should_retry") ? 1 : 2;
  judged = holdoff_rules_judge(&rules, &facts, failure_of(get(item, "failure")));
  rule = get(item, "rule") == NULL || judged.rule == HOLDOFF_NO_RULE ? 0 : judged.rule;
  show_failure(judged, got);
  sprintf(got + strlen(got), " rule %u", rule);
  show_failure(failure_of(get(item, "judged")), wanted);
  sprintf(wanted + strlen(wanted), " rule %u", (unsigned)number(item, "rule"));
  return compare(wanted, got, -1);
}

verdict run_http(const cJSON *item) {
  const cJSON *expected = get(item, "failure");
  holdoff_failure failure;
  char got[64] = "no failure", wanted[64] = "no failure";
  if (holdoff_failure_from_http((uint32_t)number(item, "status"), cJSON_GetStringValue(get(item, "retry_after")),
                                &failure)) {
    show_failure(failure, got);
  }
  if (expected != NULL && !cJSON_IsNull(expected)) {
    show_failure(failure_of(expected), wanted);
  }
  return compare(wanted, got, -1);
}

verdict run_hint(const cJSON *item) {
  const cJSON *line, *expected = get(item, "hint");
  holdoff_headers headers;
  uint64_t ns;
  uint32_t hint;
  char one[24], two[24];
  holdoff_headers_begin(&headers, get(item, "wall") != NULL ? number(item, "wall") : HOLDOFF_NEVER);
  cJSON_ArrayForEach(line, get(item, "headers")) {
    const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(line, 0));
    const char *value = cJSON_GetStringValue(cJSON_GetArrayItem(line, 1));
    holdoff_headers_add(&headers, name, value);
  }
  hint = holdoff_headers_hint(&headers, (uint32_t)number(item, "status"), &ns);
  return compare(cJSON_IsString(expected) && *expected->valuestring != '#' && (*expected->valuestring < '0' || *expected->valuestring > '9')
                     ? expected->valuestring
                     : time_text(number_of(expected), one),
                 hint_text(hint, ns, two), -1);
}
