// langgraphgo's graph-level retry on the loop machine, the layered one where a node retries by itself, and the schedule.
//
// The graph is the host: which node runs after which, the context that is looked at in waits alone, and errors in its words. A
// recording gives the results of nodes but not the edges; the ones it needs are told from its error.
import { ConfigError, Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { Call, Layered, Layers, Schedule } from "../../../bindings-wasm/dist/esm/tools.js";

import { failureOf, LAST, nodePolicy, WORDED } from "./recorded.mjs";
import { check, MAX, OUT_OF_DOMAIN, same, steps, whole } from "./recording.mjs";

/** A graph's `RetryPolicy`, of which none is one try. An unknown strategy is the fixed one. */
function policyOf(config) {
  const backoffs = {
    exponential: { kind: "exponential", initial: "1s", factor: 2, max: "none" },
    linear: { kind: "linear", initial: "1s", increment: "1s", max: "none" },
  };
  const tries = whole(config, "max_retries") + 1n;
  return Policy.fromJson({
    backoff: backoffs[config.strategy] ?? { kind: "constant", delay: "1s" },
    jitter: "none",
    attempts: tries > 0xffffffffn ? "forever" : Number(tries),
    rules: [
      { if: { patterns: config.retryable_errors ?? [] }, retry: true },
      { if: {}, retry: false },
    ],
  });
}

/** What becomes of a policy; fewer than no retries are no attempt at all, which the original takes for a success and we refuse. */
function withPolicy(given, run) {
  const config = given ?? {};
  let policy;
  try {
    policy = policyOf(config);
  } catch (error) {
    const isNegative = whole(config, "max_retries") < 0n;
    if (error instanceof ConfigError && isNegative && error.word === "attempts_range") return OUT_OF_DOMAIN;
    throw error;
  }
  return run(policy);
}

/** `calculateBackoffDelay`: where the original wraps, ours saturates. */
function delaysOf({ config, inputs, expected }) {
  const policy = policyOf({ strategy: config.strategy, max_retries: 1 });
  let deviations = 0;
  for (const [at, attempt, want] of steps(inputs, expected)) {
    const delay = Schedule.baseAt(policy, BigInt(attempt));
    if (delay === MAX && BigInt(want) !== delay) deviations++;
    else check(at, "delay", want, delay);
  }
  return same(deviations);
}

const isValue = (result) => result === "ok" || result.startsWith("goto:");

/** A scripted node in virtual time. */
class Node {
  calls = 0;
  delays = [];

  constructor(script, now) {
    this.script = script;
    this.now = now;
  }

  call() {
    const input = this.script[this.calls++];
    if (input === undefined) throw new Error("the node is called more often than recorded");
    this.now += whole(input, "took");
    if (this.now > LAST) this.now = LAST;
    return input.result;
  }

  /** Waits until then or until the context ends; whether that was first. */
  wait(until, ends) {
    this.delays.push(until - this.now);
    const isCancelled = ends !== undefined && (this.now >= ends || ends < until);
    if (!isCancelled) this.now = until;
    else if (this.now < ends) this.now = ends;
    return isCancelled;
  }

  /** Runs under the graph's policy: the last result, and whether the context ended in a wait. */
  retried(policy, ends) {
    let last = "";
    let [call, step] = Call.begin(policy, 0n, this.now);
    for (;;) {
      if (step.kind === "attempt") {
        last = this.call();
        const judged = () => policy.judge("transient", { message: last });
        step = isValue(last) ? call.succeed(step.ticket, this.now) : call.fail(step.ticket, this.now, judged());
      } else if (step.kind === "sleep") {
        if (this.wait(step.until, ends)) return [last, true];
        step = call.tick(this.now);
      } else {
        return [last, false];
      }
    }
  }

  /** Runs as a `RetryNode` under the graph's policy, which judges the text of the error that the node returns. */
  layered(policy, config, name) {
    const layers = new Layers(policy, nodePolicy(config));
    let last = "";
    let [call, step] = Layered.begin(layers, 0n, this.now);
    for (;;) {
      if (step.kind === "attempt") {
        const result = this.call();
        if (isValue(result)) {
          last = result;
          step = call.succeed(step.ticket, this.now);
          continue;
        }
        const failure = failureOf(config, result);
        const reason = call.wouldGiveUp(step.ticket, this.now, failure);
        if (reason === undefined) {
          step = call.fail(step.ticket, this.now, failure);
        } else {
          last = WORDED[reason](config.config_nil ? 3 : config.max_attempts, name, result);
          step = call.fail(step.ticket, this.now, failure, policy.judge("transient", { message: last }));
        }
      } else if (step.kind === "sleep") {
        this.wait(step.until);
        step = call.tick(this.now);
      } else {
        return [last, false];
      }
    }
  }
}

const endOf = (config) => {
  const at = whole(config, "cancel_at", -1n);
  return at < 0n ? undefined : at;
};

const whyOf = (config) => (config.cancel_is_deadline ? "context deadline exceeded" : "context canceled");

/** The longest exponential wait that is one in the original. */
const WRAPS = 2n ** 33n * 10n ** 9n;

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

/** `executeNodeWithRetry`. */
function execute({ config, inputs, expected: [expected] }) {
  return withPolicy(config.policy, (policy) => {
    const node = new Node(inputs, 0n);
    const ends = endOf(config);
    const [last, isCancelled] = node.retried(policy, ends);
    const { calls, delays, now } = node;
    const isDeadline = isCancelled && config.cancel_is_deadline === true;
    const got =
      !isCancelled && isValue(last)
        ? { calls, delays, now, error: null, value: "s!" }
        : {
            ...{ calls, delays, now, unwraps_to: null, value_is_zero: true },
            error: isCancelled ? whyOf(config) : last,
            is_canceled: isCancelled && !isDeadline,
            is_deadline: isDeadline,
          };
    const lost = delays.findIndex((delay) => delay >= WRAPS);
    try {
      check(0, "execution", sorted(expected), sorted(got));
      return same();
    } catch (error) {
      if (lost < 0) throw error;
      // A run that leaves the range of an integer is the same up to there, and has as many calls unless it is cancelled.
      check(0, "waits", expected.delays.slice(0, lost + 1), delays.slice(0, lost + 1));
      if (ends === undefined) check(0, "end", [expected.calls, expected.error], [calls, got.error]);
      return same(1);
    }
  });
}

/** The `RetryConfig` of a node: any object of the configuration that is one, for all nodes or by the node's name. */
function nodeConfig(config, name) {
  const objects = Object.values(config).filter((value) => value !== null && typeof value === "object");
  return objects.flatMap((value) => [value, value[name]]).find((value) => value?.max_attempts !== undefined);
}

/** A graph of scripted nodes, which runs step by step: all active nodes at once, until the last of them ends. */
function runGraph(config, expected, policy) {
  const names = Object.keys(config.nodes);
  const error = expected.error ?? "";
  const after = (start) => (error.startsWith(start) ? error.slice(start.length) : undefined);
  const [loose, missing] = [after("no outgoing edge found for node: "), after("node not found: ")];
  const goes = (name) => config.nodes[name].some(({ result }) => result.startsWith("goto:"));
  const nodes = new Map();
  let [now, active, isCommanded, state, failed] = [0n, [names.find(goes) ?? names[0]], false, "<nil>", undefined];
  while (failed === undefined && active.length > 0) {
    const [commands, following] = [[], []];
    let end = now;
    for (const name of active) {
      if (config.nodes[name] === undefined) {
        failed ??= `node not found: ${name}`;
        continue;
      }
      if (!nodes.has(name)) nodes.set(name, new Node(config.nodes[name], now));
      const node = nodes.get(name);
      node.now = now;
      const own = nodeConfig(config, name);
      const [last, isCancelled] = own ? node.layered(policy, own, name) : node.retried(policy, endOf(config));
      if (isCancelled) {
        failed ??= `error in node ${name}: ${whyOf(config)}`;
      } else if (isValue(last)) {
        state = name;
        const to = last === "ok" ? [] : last.slice("goto:".length).split(",");
        commands.push(...new Set(to.filter((one) => one !== "END")));
        following.push(name);
      } else {
        failed ??= `error in node ${name}: ${last}`;
      }
      if (node.now > end) end = node.now;
    }
    [now, active, isCommanded] = [end, commands, isCommanded || commands.length > 0];
    if (active.length > 0 || failed !== undefined) continue;
    for (const name of following) {
      if (name === loose) {
        failed = `no outgoing edge found for node: ${name}`;
        break;
      }
      const next = (isCommanded ? undefined : names[names.indexOf(name) + 1]) ?? missing;
      if (next !== undefined) active.push(next);
    }
  }
  const calls = sorted(Object.fromEntries([...nodes].map(([name, node]) => [name, node.calls])));
  const delays_sorted = [...nodes.values()].flatMap((node) => node.delays).sort((a, b) => (a < b ? -1 : 1));
  return failed === undefined
    ? { calls, delays_sorted, error: null, state }
    : { calls, delays_sorted, error: failed, is_graph_interrupt: false, state: "<nil>" };
}

/** `Invoke`. */
function invoke({ config, expected: [expected] }) {
  if (expected.compile_error !== undefined) {
    // A graph without an entry is refused before any node runs.
    check(0, "the error", "entry point not set", expected.compile_error);
    return same();
  }
  return withPolicy(config.policy, (policy) => {
    const want = { ...expected, calls: sorted(expected.calls) };
    check(0, "the graph", sorted(want), sorted(runGraph(config, expected, policy)));
    return same();
  });
}

const OPS = { calculateBackoffDelay: delaysOf, executeNodeWithRetry: execute, Invoke: invoke };

export function langgraphgo_graph(recording) {
  const run = OPS[recording.config.op];
  if (run === undefined) throw new Error(`an unknown operation: ${recording.config.op}`);
  return run(recording);
}
