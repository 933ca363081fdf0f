// Aster's retry of workflow tasks: its formula, its registry around one task, its event log, its delay queue.
//
// The machines say when to try, how long to wait and when to stop. What Aster adds as a host is here: it appends events, words
// its exceptions, and takes delays from a log when it replays one. Its milliseconds run as ticks.
import { ConfigError, Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { Wheel } from "../../../bindings-wasm/dist/esm/timers.js";
import {
  applyDrawn,
  applyJitter,
  Call,
  Event,
  Recorder,
  ReplayError,
  resumeCall,
  Schedule,
  saveJson,
} from "../../../bindings-wasm/dist/esm/tools.js";
import { check, MAX, ns, OUT_OF_DOMAIN, same, steps, text, whole } from "./recording.mjs";

export function aster(recording) {
  const { op } = recording.config;
  if (!Object.hasOwn(OPS, op)) throw new Error(`an unknown op: ${op}`);
  return OPS[op](recording);
}

/**
 * A `RetryPolicy` as a policy: any strategy but exponential is linear, and what is added stays below half the base, however
 * long the delay is.
 */
function policyOf(config, attempts) {
  const base = whole(config, "base_delay_ms");
  const exponential = config.strategy?.toLowerCase() === "exponential";
  // Aster multiplies in doubles from the first delay on.
  const rounded = BigInt(Number(base));
  const first = rounded > MAX ? MAX : rounded;
  const backoff = exponential
    ? { kind: "exponential", initial: ns(first), factor: 2, max: "none" }
    : { kind: "linear", initial: ns(base), max: "none" };
  const bound = below(base);
  const jitter = bound === 0n ? "none" : { kind: "bounded", bound: ns(bound) };
  const document = { backoff, jitter, cap: "before_jitter", attempts };
  if (config.replay) {
    // A delay from the log is obeyed to the letter, whatever the policy says.
    Object.assign(document, { jitter: "none", hint: { mode: "exact", max: "none" } });
  }
  if (config.timeout_ms !== undefined) document.attempt_timeout = ns(config.timeout_ms);
  return Policy.fromJson(document);
}

/** What the jitter stays below. */
const below = (base) => (base / 2n > 0n ? base / 2n : 0n);

/** The largest bound of which a uniform says each number. */
const UNIFORM = 1n << 50n;

/** The uniform that the recorded number is: the middle of its place among as many as there are. */
function uniform(raw, bound) {
  if (raw === null || raw === undefined || bound <= 0n) return 0;
  const place = BigInt(raw) % bound;
  return (Number(place < 0n ? place + bound : place) + 0.5) / Number(bound);
}

/** What is made of a policy; a configuration outside the domain is refused by the name of what is wrong with it. */
function withPolicy(config, attempts, make) {
  let policy;
  try {
    policy = policyOf(config, attempts);
  } catch (error) {
    const word = whole(config, "base_delay_ms") < 0n ? "not_a_duration" : "attempts_range";
    if (error instanceof ConfigError && error.word === word) return OUT_OF_DOMAIN;
    throw error;
  }
  return make(policy);
}

/** `calculateBackoff`: the delay after any attempt. One above 2^63-1 stays there. */
function formula({ config, inputs, expected }) {
  return withPolicy(config, "forever", (policy) => {
    const bound = below(whole(config, "base_delay_ms"));
    let deviations = 0;
    for (const [at, input, want] of steps(inputs, expected)) {
      // An attempt below the first reads as the first.
      const attempt = whole(input, "attempt");
      const delay = Schedule.baseAt(policy, attempt > 1n ? attempt - 1n : 0n);
      const got =
        bound > UNIFORM
          ? applyDrawn(policy, delay, input.raw ?? 0n)
          : applyJitter(policy, delay, MAX, uniform(input.raw, bound));
      if (text(want) === text(got)) continue;
      if (got !== MAX) check(at, "delay", want, got);
      deviations++;
    }
    return same(deviations);
  });
}

const WORD = 1n << 64n;
const ADDED = 0x14057b7ef767814fn;
const INVERSE = 0xc097ef87329e28a5n;

/** The seed whose next draw is this one (docs/spec.md, rule 2.2, backwards). */
function aboutToDraw(draw) {
  const mixed = draw << 27n;
  const x = mixed ^ (mixed >> 18n) ^ (mixed >> 36n);
  return BigInt.asUintN(64, (x - ADDED) * INVERSE - ADDED);
}

/**
 * An event of Aster's as one of ours; nothing for one that says nothing of a retry. What Aster's registry does not write down
 * (place, time, cause) does not matter to what is read back.
 */
function told({ type, taskId, attempt_number, backoff_delay_ms }) {
  if (type !== "RETRY_SCHEDULED" || taskId === undefined || taskId === null) return undefined;
  return Event.fromJson({
    version: 1,
    sequence: 1,
    type,
    at: "0",
    attemptNumber: attempt_number ?? 1,
    backoffDelayMs: Math.max(backoff_delay_ms ?? 0, 0),
    cause: "backoff",
    payload: { taskId },
  });
}

/** How many tries of each task a log says to have been made: those before the latest that was scheduled, at least one. */
function counters(before, log) {
  const counted = { ...before };
  for (const event of log.map(told)) {
    if (event === undefined) continue;
    const { taskId } = event.payload;
    counted[taskId] = Math.max(counted[taskId] ?? 1, event.attemptNumber - 1);
  }
  return counted;
}

/** `restoreRetryState`. */
function restored({ config, inputs, expected }) {
  const isOut = inputs.some(({ attempt_number }) => (attempt_number ?? 1) < 1);
  try {
    const got = counters(config.counters_before, inputs);
    check(0, "whether an attempt below the first is refused", false, isOut);
    check(0, "counters", expected.map(sorted), [sorted(got)]);
    return same();
  } catch (error) {
    if (isOut && error instanceof ReplayError) return OUT_OF_DOMAIN;
    throw error;
  }
}

/** The same with its keys in order, however deep. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, sorted(part)]));
}

/** The registry around one task: `run` and `run_with_timeout`, with a virtual clock. */
class Registry {
  now = 0n;
  calls = 0;
  events = [];
  /** The class and the message of what was thrown last; no class for a timeout. */
  last = [undefined, null];

  constructor(config, inputs, policy) {
    Object.assign(this, { config, inputs, policy });
  }

  get reason() {
    const [thrown, message] = this.last;
    return thrown === undefined ? "任务超时: t" : (message ?? thrown);
  }

  /** The seed whose next draw is the one recorded for the next event. */
  seed() {
    const raw = this.config.raws[this.events.length];
    const draw = uniform(raw, below(whole(this.config, "base_delay_ms"))) * 2 ** 32;
    return aboutToDraw(BigInt(Math.floor(draw)));
  }

  /**
   * The call after its sleep, its next draw the recorded one, with a clock that starts anew: the sum of all delays may be
   * longer than time.
   */
  resumed(call) {
    const saved = { ...JSON.parse(saveJson(call, this.now)), seed: String(this.seed()) };
    this.now = 0n;
    return resumeCall(saved, this.policy, this.now);
  }

  /** The call as it begins: that of a log has failed before, and makes no more tries than the policy allows. */
  begun() {
    let [call, step] = Call.begin(this.policy, this.seed(), this.now);
    if (!this.config.restore) return [call, step];
    const last = Math.min(counters({}, this.config.log).t ?? 1, this.config.max_attempts);
    while (step.attempt < last) {
      this.now = call.fail(step.ticket, this.now, "transient").until;
      call = this.resumed(call);
      step = call.tick(this.now);
    }
    return [call, step];
  }

  /**
   * Calls the task once; whether it succeeds. "null:" is an exception without a message, "error:" a `java.lang.Error`, which
   * is wrapped.
   */
  call(abortAt) {
    const input = this.inputs[this.calls++];
    if (this.config.op !== "run") {
      if (this.calls > this.inputs[0].slow_calls) return true;
      this.now = abortAt;
      return false;
    }
    if (input === undefined) throw new Error("the task is called more often than recorded");
    const [, kind, rest] = /^(null|error):(.*)$/s.exec(input) ?? [];
    this.last =
      kind === "error"
        ? ["Exception", `java.lang.StackOverflowError: ${rest}`]
        : ["RuntimeException", kind === "null" ? null : input];
    return input === "ok";
  }

  /**
   * What the machine is told. A delay from the log is a hint; nothing if the log should say one and does not, or if nobody is
   * there to be told of a retry.
   */
  failure(attempt) {
    const { op, workflow_id = null, replay, event_store, log, max_attempts } = this.config;
    const kind = this.last[0] === undefined ? "timeout" : "transient";
    if (attempt >= max_attempts) return { kind };
    if (op === "run" && workflow_id === null) return undefined;
    if (!replay) return { kind };
    const isAbout = ({ type, taskId, attempt_number, backoff_delay_ms }) =>
      type === "RETRY_SCHEDULED" && taskId === "t" && attempt_number === attempt + 1 && backoff_delay_ms !== null;
    const event = event_store === false ? undefined : log.find(isAbout);
    return event && { kind, hint: BigInt(event.backoff_delay_ms) };
  }

  append(attempt, delay) {
    const { reason } = this;
    this.events.push({
      seq: (this.config.log ?? []).length + this.events.length + 1,
      type: "RETRY_SCHEDULED",
      payload: { reason, taskId: "t" },
      attempt_number: attempt + 1,
      backoff_delay_ms: delay,
      failure_reason: reason,
    });
  }

  run() {
    let [call, step] = this.begun();
    let attempt = 0;
    while (step.kind === "attempt" || step.kind === "sleep") {
      if (step.kind === "attempt") {
        const { ticket, abortAt } = step;
        attempt = step.attempt;
        const isWell = this.call(abortAt);
        const failure = isWell ? undefined : this.failure(attempt);
        if (isWell) step = call.succeed(ticket, this.now);
        else if (failure) step = call.fail(ticket, this.now, failure);
        // The registry throws where nobody hears it: the machine is not told, and waits for the attempt.
        else step = call.tick(this.now);
      } else {
        this.append(attempt, step.until - this.now);
        this.now = step.until;
        call = this.resumed(call);
        step = call.tick(this.now);
      }
    }
    return this.report(attempt, step);
  }

  /** What a recording says about the end of the run. */
  report(attempt, { kind, outcome, reason }) {
    const ENDS = { succeeded: ["ok", "COMPLETED"], gave_up: ["throws", "FAILED"] };
    const [end, status] = kind === "stop" ? ENDS[outcome] : ["hangs", "RUNNING"];
    const { op, event_store, max_attempts } = this.config;
    const report = { outcome: end, calls: this.calls, status, events: event_store === false ? [] : this.events };
    if (op === "run") report.attempt_counter_after = end === "hangs" ? attempt : null;
    if (end !== "throws") return report;
    const [thrown, message] = this.last;
    if (thrown === undefined) {
      return {
        ...report,
        class: "RuntimeException",
        message: "Async task execution failed",
        cause_class: "TimeoutException",
        cause_message: this.reason,
      };
    }
    check(0, "why it gave up", "attempts", reason);
    return {
      ...report,
      class: "MaxRetriesExceededException",
      message: `Max retries (${max_attempts}) exceeded: ${message}`,
      max_attempts,
      failure_reason: message,
      cause_class: thrown,
      cause_message: message,
    };
  }
}

function flow({ config, inputs, expected: [expected] }) {
  return withPolicy(config, config.max_attempts, (policy) => {
    const got = new Registry(config, inputs, policy).run();
    let deviations = 0;
    for (const [at, { backoff_delay_ms }] of expected.events.entries()) {
      // A delay that wrapped there is the longest here.
      const event = got.events[at];
      if (event?.backoff_delay_ms !== MAX || text(MAX) === text(backoff_delay_ms)) continue;
      event.backoff_delay_ms = backoff_delay_ms;
      deviations++;
    }
    check(0, "run", sorted(expected), sorted(got));
    return same(deviations);
  });
}

/** `scheduleRetry`: when a timer is due that is set now. One beyond 2^63-1 stays there and does not fire at once. */
function schedule({ inputs, expected }) {
  let deviations = 0;
  for (const [at, input, want] of steps(inputs, expected)) {
    const [now, given] = [whole(input, "now"), whole(input, "delay_ms")];
    if (now < 0n) return OUT_OF_DOMAIN;
    const due = now + (given > 0n ? given : 0n);
    const wheel = new Wheel();
    wheel.insert(due);
    check(at, "due", due, wheel.nextWake);
    check(at, "whether it fires at once", due === now, wheel.pop(now) !== undefined);
    if (text(want) === text(due)) continue;
    // It wrapped there, and fires at the next tick.
    check(at, "wrapped", want, due - WORD);
    deviations++;
  }
  return same(deviations);
}

/**
 * `poll`: at most one timer a tick. Of those that are due at one time, ours fire in the order in which they came, and theirs
 * in that of a heap.
 */
function poll({ config, inputs, expected }) {
  const wheel = new Wheel();
  const tasks = new Map();
  const dueAt = new Map();
  for (const entry of config.queue) {
    const at = whole(entry, "trigger_at");
    if (at < 0n) return OUT_OF_DOMAIN;
    tasks.set(wheel.insert(at), entry.taskId);
    dueAt.set(entry.taskId, at);
  }
  const [theirs, ours] = [[], []];
  let deviations = 0;
  for (const [at, now, want] of steps(inputs, expected)) {
    const fired = wheel.pop(BigInt(now));
    const got = fired === undefined ? [] : [tasks.get(fired.key)];
    if (text(want) !== text(got)) {
      const due = (names) => names.map((name) => dueAt.get(name));
      check(at, "due", due(want), due(got));
      deviations++;
    }
    theirs.push(...want);
    ours.push(...got);
  }
  check(0, "all that fired", theirs.sort(), ours.sort());
  return same(deviations);
}

/**
 * `nextInt`, `nextDouble`: Aster's log keeps what was drawn, and ours the seed. What takes the place of a recorded draw: from
 * the seed that the event of a start brings back come the same delays.
 */
function drawn({ inputs, expected }) {
  const policy = new Policy({});
  const delays = (seed) => [...new Schedule(policy, seed)];
  for (const [at, raw] of steps(inputs, expected)) {
    const seed = BigInt.asUintN(64, BigInt(raw));
    const [, { events }] = Recorder.begin(policy, seed, 0n);
    check(at, "delays", delays(seed), delays(BigInt(Event.fromJson(JSON.stringify(events[0])).seed)));
  }
  return OUT_OF_DOMAIN;
}

const OPS = {
  calculateBackoff: formula,
  run: flow,
  run_with_timeout: flow,
  restoreRetryState: restored,
  scheduleRetry: schedule,
  poll,
  nextInt: drawn,
  nextDouble: drawn,
};
