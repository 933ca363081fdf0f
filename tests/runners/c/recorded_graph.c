/*
 * Recordings of langgraphgo's graph-level retry: on the loop machine, on the layered one where a node retries by itself, on
 * schedules.
 *
 * The graph is the host: which node runs after which, the context that is looked at in waits alone, and errors in its words. A
 * recording gives the results of nodes but not the edges; the ones it needs are told from its error.
 */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph's RetryPolicy, whose rules look for patterns in the text of an error. */
typedef struct retrying {
  holdoff_policy policy;
  holdoff_rules rules;
  char patterns[4096];
} retrying;

static const char EXPONENTIAL[] = "{\"kind\": \"exponential\", \"initial\": \"1s\", \"factor\": 2, \"max\": \"none\"}";
static const char LINEAR[] = "{\"kind\": \"linear\", \"initial\": \"1s\", \"increment\": \"1s\", \"max\": \"none\"}";
static const char FIXED[] = "{\"kind\": \"constant\", \"delay\": \"1s\"}";

/* An unknown strategy is the fixed one. Without patterns no error is retried. Returns the number of an error. */
static int retrying_init(retrying *with, const char *strategy, int64_t tries, const cJSON *patterns,
                         holdoff_problem *problem) {
  cJSON *backoff = cJSON_Parse(strcmp(strategy, "exponential") == 0 ? EXPONENTIAL
                               : strcmp(strategy, "linear") == 0    ? LINEAR
                                                                    : FIXED);
  holdoff_options options;
  int code;
  holdoff_options_init(&options);
  holdoff_options_keep_patterns(&options, with->patterns, sizeof with->patterns);
  set_one(&options, backoff, "backoff");
  cJSON_Delete(backoff);
  holdoff_options_set_text(&options, "jitter", "none");
  set_attempts(&options, tries);
  holdoff_options_set_value(&options, "rules[0].if.patterns", HOLDOFF_VALUE_EMPTY_LIST);
  set_all(&options, patterns, "rules[0].if.patterns");
  holdoff_options_set_value(&options, "rules[0].retry", HOLDOFF_VALUE_TRUE);
  holdoff_options_set_value(&options, "rules[1].if", HOLDOFF_VALUE_EMPTY_OBJECT);
  holdoff_options_set_value(&options, "rules[1].retry", HOLDOFF_VALUE_FALSE);
  code = holdoff_policy_build(&with->policy, &options, problem);
  return code != 0 ? code : holdoff_rules_build(&with->rules, &options, problem);
}

/* PASSED, or FAILED, or OUT_OF_DOMAIN for fewer than no retries: no attempt at all, which the original takes for a success. */
static verdict retrying_of(const cJSON *config, retrying *with) {
  const cJSON *fields = get(config, "policy");
  int64_t retries = whole(fields, "max_retries");
  holdoff_problem problem;
  int code = retrying_init(with, word(fields, "strategy"), retries < INT64_MAX ? retries + 1 : retries,
                           get(fields, "retryable_errors"), &problem);
  if (code == HOLDOFF_ERROR_ATTEMPTS_RANGE && retries < 0) {
    return OUT_OF_DOMAIN;
  }
  return code == 0 ? PASSED : fail("a valid policy", problem.rule, -1);
}

static holdoff_failure judged(const retrying *with, const char *text) {
  holdoff_facts facts;
  memset(&facts, 0, sizeof facts);
  facts.message = text;
  return holdoff_rules_judge(&with->rules, &facts, holdoff_failure_of(HOLDOFF_TRANSIENT));
}

/* The rest of a text that has that start; NULL for another text. */
static const char *behind(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0 ? text + strlen(start) : NULL;
}

/* Tells whether a result is no error. */
static bool is_value(const char *result) { return strcmp(result, "ok") == 0 || behind(result, "goto:") != NULL; }

static bool has_ended(holdoff_step step) {
  bool is_end = step.kind == HOLDOFF_STOP && step.outcome != HOLDOFF_INVALID;
  return is_end || fail("an end", "wrong use", -1) == PASSED;
}

/* Runs a node under the graph's policy; false when it was said what is wrong. */
static bool run_retried(const retrying *with, scripted *node) {
  holdoff_call call;
  holdoff_step step = holdoff_call_begin(&call, &with->policy, 0, node->now);
  while (step.kind == HOLDOFF_ATTEMPT || step.kind == HOLDOFF_SLEEP) {
    uint64_t ticket = holdoff_step_ticket(step);
    if (step.kind == HOLDOFF_SLEEP) {
      step = scripted_wait(node, step.at) ? holdoff_call_cancel(&call, node->now)
                                          : holdoff_call_tick(&call, &with->policy, node->now);
    } else if (!scripted_call(node)) {
      return false;
    } else if (is_value(node->last)) {
      step = holdoff_call_succeed(&call, ticket, node->now);
    } else {
      step = holdoff_call_fail(&call, &with->policy, ticket, node->now, judged(with, node->last));
    }
  }
  return has_ended(step);
}

/* A node of a graph, and the error in its words if it retries by itself. */
typedef struct node {
  const char *name;
  const cJSON *script;
  scripted run;
  bool has_run;
  char error[1024];
} node;

/* Runs a RetryNode under the graph's policy, which judges the text of the error that the node returns. */
static bool run_layered(const retrying *with, node *node, const cJSON *config) {
  scripted *run = &node->run;
  holdoff_policy inner;
  holdoff_problem problem;
  holdoff_layers layers;
  holdoff_layered call;
  holdoff_step step;
  if (node_policy(config, &inner, &problem) != 0 || holdoff_layers_init(&layers, &with->policy, &inner, 0) != 0) {
    fail("a valid policy of the node", problem.rule, -1);
    return false;
  }
  run->ends = HOLDOFF_NEVER;
  step = holdoff_layered_begin(&call, &layers, 0, run->now);
  while (step.kind == HOLDOFF_ATTEMPT || step.kind == HOLDOFF_SLEEP) {
    uint64_t ticket = holdoff_step_ticket(step);
    uint32_t reason;
    holdoff_failure failure, outward;
    if (step.kind == HOLDOFF_SLEEP) {
      scripted_wait(run, step.at);
      step = holdoff_layered_tick(&call, &layers, run->now);
      continue;
    }
    if (!scripted_call(run) || !judged_by(config, run->last, &failure)) {
      return false;
    }
    if (is_value(run->last)) {
      step = holdoff_layered_succeed(&call, ticket, run->now);
      continue;
    }
    reason = holdoff_layered_would_give_up(&call, &layers, ticket, run->now, failure);
    if (reason != 0) {
      node_error(node->error, sizeof node->error, node->name, reason, holdoff_layered_inner_attempt(&call), run->last);
      run->last = node->error;
      outward = judged(with, run->last);
    }
    step = holdoff_layered_fail(&call, &layers, ticket, run->now, failure, reason != 0 ? &outward : NULL);
  }
  return has_ended(step);
}

/* A graph of scripted nodes, which runs step by step: all active nodes at once, until the last of them ends. */
typedef struct graph {
  const cJSON *config;
  retrying with;
  node *nodes;
  int count;
  uint64_t now;
  /* The names of the nodes that are next, and whether a node has said which. */
  cJSON *active;
  bool commanded;
  /* The node that no edge leads from, and the one that is not there but an edge leads to; NULL for none. */
  const char *loose, *missing, *state;
  char error[2048];
} graph;

static node *find(graph *graph, const char *name) {
  int at;
  for (at = 0; at < graph->count; at++) {
    if (strcmp(graph->nodes[at].name, name) == 0) {
      return &graph->nodes[at];
    }
  }
  return NULL;
}

/* Keeps the first error of a node. */
static void stop(graph *graph, const char *what, const char *name, const char *why) {
  if (*graph->error == 0) {
    snprintf(graph->error, sizeof graph->error, "%s%s%s%s", what, name, *why != 0 ? ": " : "", why);
  }
}

/* Adds the nodes that a command names, each once. */
static void add_commands(const char *result, cJSON *names) {
  int before = cJSON_GetArraySize(names), at;
  const char *rest = behind(result, "goto:");
  while (rest != NULL && *rest != 0) {
    char name[256];
    size_t length = strcspn(rest, ",");
    bool is_new;
    snprintf(name, sizeof name, "%.*s", (int)length, rest);
    is_new = strcmp(name, "END") != 0;
    for (at = before; at < cJSON_GetArraySize(names); at++) {
      is_new = is_new && strcmp(cJSON_GetArrayItem(names, at)->valuestring, name) != 0;
    }
    if (is_new) {
      cJSON_AddItemToArray(names, cJSON_CreateString(name));
    }
    rest += length + (rest[length] == ',');
  }
}

/* The RetryConfig of a node: any object of the configuration that is one, for all nodes or by its name; NULL for none. */
static const cJSON *own_config(const cJSON *config, const char *name) {
  const cJSON *item, *found = NULL;
  cJSON_ArrayForEach(item, config) {
    const cJSON *its = get(item, "max_attempts") != NULL ? item : get(item, name);
    found = found == NULL && get(its, "max_attempts") != NULL ? its : found;
  }
  return found;
}

/* Runs a node once more, in a step that begins now; false when it was said what is wrong. */
static bool run_node(graph *graph, node *node, cJSON *commands) {
  const cJSON *own = own_config(graph->config, node->name);
  node->run.now = graph->now;
  node->has_run = true;
  if (!(own != NULL ? run_layered(&graph->with, node, own) : run_retried(&graph->with, &node->run))) {
    return false;
  }
  if (!node->run.cancelled && is_value(node->run.last)) {
    graph->state = node->name;
    add_commands(node->run.last, commands);
  } else {
    stop(graph, "error in node ", node->name, node->run.cancelled ? context_error(&node->run) : node->run.last);
  }
  return true;
}

/* Adds the nodes after the active ones in a chain, which a graph without commands is. */
static void add_following(graph *graph, cJSON *names) {
  const cJSON *name;
  cJSON_ArrayForEach(name, graph->active) {
    const node *from = find(graph, name->valuestring), *end = graph->nodes + graph->count;
    bool is_chained = !graph->commanded && from + 1 < end;
    const char *to = is_chained ? from[1].name : graph->missing;
    if (graph->loose != NULL && strcmp(graph->loose, from->name) == 0) {
      stop(graph, "no outgoing edge found for node: ", from->name, "");
    } else if (to != NULL) {
      cJSON_AddItemToArray(names, cJSON_CreateString(to));
    }
  }
}

/* Runs all active nodes once more, each from now on; false when it was said what is wrong. */
static bool run_active(graph *graph) {
  uint64_t end = graph->now;
  cJSON *names = cJSON_CreateArray();
  const cJSON *name;
  bool good = true;
  cJSON_ArrayForEach(name, graph->active) {
    node *node = find(graph, name->valuestring);
    if (node == NULL) {
      stop(graph, "node not found: ", name->valuestring, "");
      continue;
    }
    good = good && run_node(graph, node, names);
    end = node->run.now > end ? node->run.now : end;
  }
  graph->commanded = graph->commanded || names->child != NULL;
  if (good && *graph->error == 0 && names->child == NULL) {
    add_following(graph, names);
  }
  cJSON_Delete(graph->active);
  graph->active = names;
  graph->now = end;
  return good;
}

/* Makes the nodes of a case, of which one that commands is the first to run, or else the first. */
static bool graph_init(graph *graph, const cJSON *config, const cJSON *expected) {
  const cJSON *script, *call, *nodes = get(config, "nodes");
  const char *entry = NULL;
  graph->config = config;
  graph->nodes = calloc((size_t)cJSON_GetArraySize(nodes) + 1, sizeof *graph->nodes);
  graph->active = cJSON_CreateArray();
  graph->state = "<nil>";
  graph->loose = behind(word(expected, "error"), "no outgoing edge found for node: ");
  graph->missing = behind(word(expected, "error"), "node not found: ");
  if (graph->nodes == NULL || first(nodes) == NULL) {
    fail("nodes", "none", -1);
    return false;
  }
  cJSON_ArrayForEach(script, nodes) {
    node *node = &graph->nodes[graph->count++];
    node->name = script->string;
    scripted_begin(&node->run, script, config);
    cJSON_ArrayForEach(call, script) {
      entry = entry == NULL && behind(word(call, "result"), "goto:") != NULL ? node->name : entry;
    }
  }
  cJSON_AddItemToArray(graph->active, cJSON_CreateString(entry != NULL ? entry : graph->nodes->name));
  return true;
}

static void graph_free(graph *graph) {
  while (graph->count > 0) {
    cJSON_Delete(graph->nodes[--graph->count].run.delays);
  }
  cJSON_Delete(graph->active);
  free(graph->nodes);
}

static int by_length(const void *one, const void *other) {
  uint64_t delay = *(const uint64_t *)one, after = *(const uint64_t *)other;
  return delay < after ? -1 : delay > after;
}

/* All delays of a graph, the shortest first. */
static cJSON *sorted_delays(const graph *graph) {
  cJSON *sorted = cJSON_CreateArray();
  const cJSON *delay;
  uint64_t *delays;
  size_t count = 0, at = 0;
  int node;
  for (node = 0; node < graph->count; node++) {
    count += (size_t)cJSON_GetArraySize(graph->nodes[node].run.delays);
  }
  delays = calloc(count + 1, sizeof *delays);
  for (node = 0; delays != NULL && node < graph->count; node++) {
    cJSON_ArrayForEach(delay, graph->nodes[node].run.delays) { delays[at++] = number_of(delay); }
  }
  if (delays != NULL) {
    qsort(delays, count, sizeof *delays, by_length);
  }
  for (at = 0; delays != NULL && at < count; at++) {
    cJSON_AddItemToArray(sorted, made((int64_t)delays[at]));
  }
  free(delays);
  return sorted;
}

/* Makes the recorded result. */
static cJSON *recorded(const graph *graph) {
  cJSON *got = cJSON_CreateObject(), *calls = cJSON_AddObjectToObject(got, "calls");
  int at;
  for (at = 0; at < graph->count; at++) {
    if (graph->nodes[at].has_run) {
      cJSON_AddNumberToObject(calls, graph->nodes[at].name, graph->nodes[at].run.calls);
    }
  }
  cJSON_AddItemToObject(got, "delays_sorted", sorted_delays(graph));
  if (*graph->error == 0) {
    cJSON_AddNullToObject(got, "error");
    cJSON_AddStringToObject(got, "state", graph->state);
  } else {
    cJSON_AddStringToObject(got, "error", graph->error);
    cJSON_AddBoolToObject(got, "is_graph_interrupt", false);
    cJSON_AddStringToObject(got, "state", "<nil>");
  }
  return got;
}

static verdict run_invoke(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected"));
  graph graph;
  verdict judged;
  bool good;
  memset(&graph, 0, sizeof graph);
  if (get(expected, "compile_error") != NULL) {
    /* A graph without an entry is refused before any node runs. */
    return compare("entry point not set", word(expected, "compile_error"), -1);
  }
  judged = retrying_of(config, &graph.with);
  if (judged != PASSED) {
    return judged;
  }
  good = graph_init(&graph, config, expected);
  while (good && *graph.error == 0 && graph.active->child != NULL) {
    good = run_active(&graph);
  }
  if (good) {
    cJSON *got = recorded(&graph);
    judged = cJSON_Compare(expected, got, true) ? PASSED : differ(expected, got, -1);
    cJSON_Delete(got);
  }
  graph_free(&graph);
  return good ? judged : FAILED;
}

/* The longest exponential wait that is one in the original. */
#define WRAPS (UINT64_C(1000000000) << 33)

/*
 * Tells whether a run is as recorded up to a wait that leaves the range of an integer, and has as many calls unless its
 * context may end.
 */
static bool same_until_wrap(const cJSON *expected, const cJSON *got, bool may_end) {
  const cJSON *one = first(get(expected, "delays")), *other = first(get(got, "delays"));
  while (one != NULL && other != NULL && cJSON_Compare(one, other, true) && number_of(other) < WRAPS) {
    one = one->next;
    other = other->next;
  }
  return one != NULL && other != NULL && cJSON_Compare(one, other, true) &&
         (may_end || (cJSON_Compare(get(expected, "calls"), get(got, "calls"), true) &&
                           cJSON_Compare(get(expected, "error"), get(got, "error"), true)));
}

/* executeNodeWithRetry. */
static verdict run_execute(const cJSON *item) {
  const cJSON *config = get(item, "config"), *expected = first(get(item, "expected"));
  retrying with;
  scripted node;
  verdict judged = retrying_of(config, &with);
  if (judged != PASSED) {
    return judged;
  }
  scripted_begin(&node, get(item, "inputs"), config);
  if (!run_retried(&with, &node)) {
    judged = FAILED;
  } else {
    const char *error = node.cancelled ? context_error(&node) : is_value(node.last) ? NULL : node.last;
    cJSON *got = scripted_result(&node, error == NULL ? "s!" : NULL, error, NULL);
    if (!cJSON_Compare(expected, got, true)) {
      if (same_until_wrap(expected, got, node.ends != HOLDOFF_NEVER)) {
        counted.deviations++;
      } else {
        judged = differ(expected, got, -1);
      }
    }
    cJSON_Delete(got);
  }
  cJSON_Delete(node.delays);
  return judged;
}

/* calculateBackoffDelay: where the original wraps, ours saturates. */
static verdict run_delays(const cJSON *item) {
  const cJSON *input, *expected;
  retrying with;
  holdoff_problem problem;
  int at = 0;
  if (retrying_init(&with, word(get(item, "config"), "strategy"), 2, NULL, &problem) != 0) {
    return fail("a valid policy", problem.rule, -1);
  }
  if (!steps_of(item, &input, &expected)) {
    return FAILED;
  }
  for (; input != NULL; input = input->next, expected = expected->next, at++) {
    int64_t delay = (int64_t)holdoff_policy_base_at(&with.policy, (uint32_t)number_of(input));
    if (delay == whole_of(expected)) {
      continue;
    }
    if (delay != INT64_MAX) {
      return fail("the recorded delay", "another", at);
    }
    counted.deviations++;
  }
  return PASSED;
}

verdict run_graph(const cJSON *item) {
  const char *op = word(get(item, "config"), "op");
  if (strcmp(op, "calculateBackoffDelay") == 0) {
    return run_delays(item);
  }
  if (strcmp(op, "executeNodeWithRetry") == 0) {
    return run_execute(item);
  }
  return strcmp(op, "Invoke") == 0 ? run_invoke(item) : fail("an operation that is known", op, -1);
}
