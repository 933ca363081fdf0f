// Files recorded from the reference systems, in their own formats. A case's configuration is read into a machine of the
// package, which gets the inputs; nothing is decided here. Verdicts are those of the Rust runner (tests/src/references).
import { ConfigError, Policy } from "../../../bindings-wasm/dist/esm/index.js";
import {
  Bucket,
  Call,
  GateConfig,
  Gates,
  LoopBackoff,
  Schedule,
  WaitBackoff,
} from "../../../bindings-wasm/dist/esm/tools.js";

import { aster } from "./aster.mjs";
import { aster_estimate } from "./aster_estimate.mjs";
import { langgraphgo_extras } from "./extras.mjs";
import { langgraphgo_graph } from "./graph.mjs";
import { PERIODIC } from "./periodic.mjs";
import { check, MAX, ns, OUT_OF_DOMAIN, same, steps, text, whole } from "./recording.mjs";

/** The last time there is. */
export const LAST = 2n ** 64n - 2n;

/** A clock that stays within what the recordings can say. */
const clamped = (time) => (time < 0n ? 0n : time > MAX ? MAX : time);

/** A number, or the word for one that JSON cannot write. A field that is not there is zero, as in Go. */
export function real(from, name) {
  const value = from[name] ?? 0;
  if (/^[+-]?nan$/i.test(value)) return Number.NaN;
  const number = Number(String(value).replace(/^([+-]?)inf(inity)?$/i, "$1Infinity"));
  if (Number.isNaN(number)) throw new Error(`${name} is no number: ${value}`);
  return number;
}

/** What the machine makes of a configuration; nothing when it refuses it, or when a time is negative, which none is. */
export function made(make, ...spans) {
  if (spans.some((span) => span < 0n)) return undefined;
  try {
    return make(...spans);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Counts the inputs whose recorded result is no example: a negative one left the range of an integer. */
class Wrapped {
  count = 0;
  is(...recorded) {
    const wrapped = recorded.some((number) => typeof number !== "boolean" && number !== null && number < 0);
    if (wrapped) this.count++;
    return wrapped;
  }
}

export function waitBackoff(config) {
  const [factor, jitter] = [real(config, "factor"), real(config, "jitter")];
  const [steps, cap] = [whole(config, "steps"), whole(config, "cap")];
  return made(
    (duration) => WaitBackoff.kubernetes({ duration, factor, jitter, steps, cap }),
    whole(config, "duration"),
  );
}

function backoffOf(config) {
  if (config.op === "Jitter") {
    const factor = real(config, "max_factor");
    return made((duration) => WaitBackoff.kubernetesJitter(duration, factor), whole(config, "duration"));
  }
  return config.nil ? new WaitBackoff({ duration: 0n }) : waitBackoff(config);
}

function k8s_backoff({ config, inputs, expected }) {
  const backoff = backoffOf(config);
  if (backoff === undefined) return OUT_OF_DOMAIN;
  const wrapped = new Wrapped();
  let isLost = false;
  for (const [at, u, want] of steps(inputs, expected)) {
    check(at, "whether a uniform is drawn", u !== null, backoff.state.draws);
    const delay = backoff.step(u ?? 0);
    const { duration, steps, cap } = backoff.state;
    const after = want.duration_after;
    if (wrapped.is(want.delay, after ?? 0)) {
      // The duration went out of range, now or before, or else the sum of it and its jitter.
      if (!isLost) check(at, "delay", want.delay < 0 ? MAX : want.delay, delay);
      if (after < 0) {
        isLost = true;
        check(at, "saturated duration", cap, duration);
      }
    } else {
      check(at, "delay", want.delay, delay);
    }
    if (after === undefined || after < 0) continue;
    check(at, "duration after it", after, duration);
    check(at, "steps after it", want.steps_after, steps);
  }
  return same(wrapped.count);
}

export function loopBackoffOf(config, start) {
  switch (config.kind) {
    case "NewExponentialBackoffManager": {
      const [factor, jitter] = [real(config, "factor"), real(config, "jitter")];
      const make = (initial, max, reset) => LoopBackoff.exponential({ initial, max, reset, factor, jitter }, start);
      return made(make, whole(config, "init"), whole(config, "max"), whole(config, "reset"));
    }
    case "NewJitteredBackoffManager": {
      const jitter = real(config, "jitter");
      return made((period) => LoopBackoff.jittered(period, jitter), whole(config, "duration"));
    }
    case "DelayWithReset": {
      const backoff = waitBackoff(config);
      return backoff && made((reset) => LoopBackoff.withReset(backoff, reset, start), whole(config, "reset"));
    }
    default:
      throw new Error(`unknown manager ${config.kind}`);
  }
}

function k8s_manager({ config, inputs, expected }) {
  // A clock that runs backwards needs room before the start.
  let clock = 1n << 60n;
  const loopBackoff = loopBackoffOf(config, clock);
  if (loopBackoff === undefined) return OUT_OF_DOMAIN;
  const draws = draw(config.uniforms ?? config.backoff?.uniforms);
  const wrapped = new Wrapped();
  for (const [at, input, want] of steps(inputs, expected)) {
    clock = clamped(clock + BigInt(input));
    const delay = loopBackoff.next(clock, loopBackoff.state.draws ? draws() : 0);
    if (wrapped.is(want) || text(want) === text(delay)) continue;
    // The sum of a wrapped duration and its jitter may be positive again.
    if (!config.impl_defined) check(at, "delay", want, delay);
    wrapped.count++;
  }
  return same(wrapped.count);
}

/** Draws in order, as many as a case scripts. */
function draw(uniforms) {
  let next = 0;
  return () => {
    const u = uniforms?.[next++];
    if (typeof u !== "number") throw new Error("more draws than the original made");
    return u;
  };
}

function k8s_flowcontrol({ config, inputs, expected }) {
  const maxJitter = real(config, "max_jitter_factor");
  const rule = /^event-last >= (\d+)$/.exec(config.has_expired ?? "");
  if (typeof config.has_expired === "string" && rule === null) throw new Error(`unknown rule ${config.has_expired}`);
  // Said as more than the nanosecond before.
  const quiet = rule === null ? {} : { quiet: BigInt(rule[1]) - 1n };
  const make = (initial, max) => GateConfig.flowcontrol({ initial, max, maxJitter, ...quiet });
  const options = made(make, whole(config, "initial"), whole(config, "max"));
  if (options === undefined) return OUT_OF_DOMAIN;
  const gates = new Gates(options, { most: 1 << 20 });
  const draws = draw(config.uniforms);
  const wrapped = new Wrapped();
  const lost = new Set();
  // Twice the maximum is the time after which an entry has expired, and a negative one is always over.
  const isAny = config.impl_defined || (rule === null && 2n * whole(config, "max") > MAX);
  // Events may be before the start.
  let now = 1n << 62n;
  for (const [at, input, want] of steps(inputs, expected)) {
    const { op, id } = input;
    now = clamped(now + whole(input, "ns"));
    const event = clamped(now + whole(input, "event_offset"));
    let got = null;
    switch (op) {
      case "advance":
        break;
      case "next":
        got = gates.failure(id, now, gates.look(id, now, event).draws ? drawn(draws()) : 0, event);
        break;
      case "get":
        got = gates.look(id, now).delay;
        break;
      case "in_backoff_since_update":
        got = gates.look(id, now, event).covers;
        break;
      case "in_backoff_since":
        got = gates.look(id, now, event).coversSince;
        break;
      case "reset":
      case "delete":
        gates.forget(id);
        lost.delete(id);
        break;
      case "gc": {
        gates.collect(now);
        const keys = new Set(gates.keys());
        got = Object.fromEntries(Object.keys(want ?? {}).map((key) => [key, keys.has(key)]));
        break;
      }
      default:
        throw new Error(`unknown op ${op}`);
    }
    // A wrapped delay is doubled again, which may give any number, until the entry is gone.
    if (wrapped.is(want)) lost.add(id);
    else if (!lost.has(id) && !isAny) check(at, "answer", want, got);
    else if (text(want) !== text(got)) wrapped.count++;
  }
  return same(wrapped.count);
}

/**
 * The uniform that the original drew. This family scripts the source below Go's generator, whose `Float64` takes the low 53
 * bits of a number into which the script wrote 43, so that every draw is the 1024th part of what is written.
 */
const drawn = (script) => Math.trunc(script * 2 ** 31 * 2 ** 12) / 2 ** 53;

/** A rate limiter of the work queue: what it says of an item; nothing where it is refused. */
function limiter(config) {
  const items = (options) => {
    const gates = options && new Gates(options, { most: 1 << 20 });
    return (
      gates && {
        when: (id, now) => gates.failure(id, now, 0),
        requeues: (id, now) => gates.look(id, now).failures,
        forget: (id) => gates.forget(id),
      }
    );
  };
  switch (config.kind) {
    case "ItemExponentialFailure":
      return items(made(GateConfig.itemExponential, whole(config, "base"), whole(config, "max")));
    case "ItemFastSlow": {
      const attempts = whole(config, "max_fast_attempts");
      const make = (fast, slow) => GateConfig.fastSlow(fast, slow, attempts);
      return items(made(make, whole(config, "fast"), whole(config, "slow")));
    }
    case "Bucket": {
      const rate = real(config, "limit_per_s");
      const bucket = made((burst) => new Bucket({ rate, burst: Number(burst) }, 0n), whole(config, "burst"));
      // Go says "never" as its longest duration.
      return bucket && { when: (_, now) => bucket.reserve(1, now) ?? MAX, requeues: () => 0, forget: () => {} };
    }
    case "MaxOf": {
      const all = config.of.map(limiter);
      const most = (numbers) => numbers.reduce((a, b) => (b > a ? b : a), 0);
      return all.includes(undefined)
        ? undefined
        : {
            when: (id, now) => most(all.map((one) => one.when(id, now))),
            requeues: (id, now) => most(all.map((one) => one.requeues(id, now))),
            forget: (id) => all.forEach((one) => void one.forget(id)),
          };
    }
    default:
      throw new Error(`unknown limiter ${config.kind}`);
  }
}

/**
 * Whether an exponential limiter inside another leaves the range of an integer after that many failures: its product is
 * exactly 2^63, or no number.
 */
function leaves({ of = [] }, failures) {
  const isOut = (one) => {
    const product = real(one, "base") * 2 ** failures;
    return one.base !== undefined && (product === 2 ** 63 || Number.isNaN(product));
  };
  return of.some((one) => isOut(one) || leaves(one, failures));
}

function k8s_workqueue({ config, inputs, expected }) {
  const queue = limiter(config);
  if (queue === undefined) return OUT_OF_DOMAIN;
  const longest = whole(config, "max", MAX);
  const wrapped = new Wrapped();
  for (const [at, input, want] of steps(inputs, expected)) {
    const { op, id } = input;
    const now = whole(input, "at");
    let got = null;
    if (op === "when") got = queue.when(id, now);
    else if (op === "requeues") got = queue.requeues(id, now);
    else if (op === "forget") queue.forget(id);
    else throw new Error(`unknown op ${op}`);
    if (wrapped.is(want)) check(at, "a delay in range", true, got >= 0n && got <= longest);
    // The longest of several hides the negative one.
    else if (text(want) !== text(got) && op === "when" && leaves(config, queue.requeues(id, now) - 1)) wrapped.count++;
    else check(at, "answer", want, got);
  }
  return same(wrapped.count);
}

/** A `RetryConfig`'s policy. `MaxDelay` holds from the second delay on, so one below `InitialDelay` is a chain. */
export function nodePolicy(config) {
  if (config.config_nil) return new Policy("langgraphgo");
  const [initial, max] = [whole(config, "initial_delay"), whole(config, "max_delay")];
  const [factor, tries] = [real(config, "backoff_factor"), whole(config, "max_attempts")];
  // More than a policy counts is for ever.
  const attempts = tries > 0xffffffffn ? "forever" : Number(tries);
  const made = (backoff) => Policy.fromJson({ backoff, jitter: "none", attempts });
  const exponential = (initial, max) => ({ kind: "exponential", initial, factor, max });
  if (max >= initial || max < 0n) return made(exponential(ns(initial), ns(max)));
  const grown = Schedule.baseAt(made(exponential(ns(initial), "none")), 1n);
  const second = grown < max ? grown : max;
  return made([{ kind: "constant", delay: ns(initial), times: 1 }, exponential(ns(second), ns(max))]);
}

/** Which fields of a `RetryConfig` are outside the domain, and the errors that they must give. */
function faults(config) {
  if (config.config_nil) return [];
  const factor = real(config, "backoff_factor");
  return [
    [whole(config, "max_attempts") < 1n, "attempts", "attempts_range"],
    [whole(config, "initial_delay") < 0n, "backoff.initial", "not_a_duration"],
    [whole(config, "max_delay") < 0n, "backoff.max", "not_a_duration"],
    [!Number.isFinite(factor) || factor < 0, "backoff.factor", "factor_range"],
  ].filter(([isFault]) => isFault);
}

/** A configuration outside the domain is refused by the name of a field that is wrong in it. */
function refused(config, wrong) {
  const factor = real(config, "backoff_factor");
  try {
    // No document can say it, but a program can.
    if (!Number.isFinite(factor)) new Policy({ backoff: { factor } });
    else nodePolicy(config);
  } catch (error) {
    const named = ([, path, word]) => error instanceof ConfigError && error.path === path && error.word === word;
    if (wrong.some(named)) return OUT_OF_DOMAIN;
    throw error;
  }
  throw new Error("a configuration outside the domain is taken");
}

/** What a `RetryConfig`'s predicate says of an error. */
export function failureOf({ retryable, config_nil }, error) {
  const rule = (config_nil ? undefined : retryable) ?? "all";
  if (rule === "nil" || rule === "all" || rule === `equals ${error}`) return "transient";
  if (rule === "none" || rule.startsWith("equals ")) return "permanent";
  throw new Error(`an unknown predicate: ${rule}`);
}

export const WORDED = {
  permanent: (_, node, last) => `non-retryable error in ${node}: ${last}`,
  attempts: (attempts, node, last) => `max retries (${attempts}) exceeded for ${node}: ${last}`,
};

/** `RetryNode.Execute` around the loop machine: the host, with a virtual clock. */
function execute(config, inputs) {
  const { cancel_is_deadline = false } = config;
  const cancelAt = whole(config, "cancel_at", -1n);
  const ends = cancelAt < 0n ? undefined : cancelAt;
  const isDone = () => ends !== undefined && now >= ends;
  const why = cancel_is_deadline ? "context deadline exceeded" : "context canceled";
  const delays = [];
  let [now, calls, attempt, last] = [0n, 0, 0, ""];
  const report = (rest) => ({ calls, delays, ...rest, now });
  const failed = (error, wraps, isCancelled) =>
    report({
      error,
      unwraps_to: [wraps],
      is_canceled: isCancelled && !cancel_is_deadline,
      is_deadline: isCancelled && cancel_is_deadline,
      value_is_zero: true,
    });
  const cancelled = (during) => {
    check(calls, "cancelled", "cancelled", call.cancel(now).outcome);
    return failed(`retry cancelled${during}: ${why}`, why, true);
  };
  let [call, step] = Call.begin(nodePolicy(config), 0n, now);
  for (;;) {
    if (step.kind === "attempt") {
      if (isDone()) return cancelled("");
      const input = inputs[calls++];
      if (input === undefined) throw new Error("the node is called more often than recorded");
      attempt = step.attempt;
      now += whole(input, "took");
      if (now > LAST) now = LAST;
      last = input.result;
      step = last === "ok" ? call.succeed(step.ticket, now) : call.fail(step.ticket, now, failureOf(config, last));
    } else if (step.kind === "sleep") {
      delays.push(step.until - now);
      if (isDone()) return cancelled(" during backoff");
      if (ends !== undefined && ends < step.until) {
        now = ends;
        return cancelled(" during backoff");
      }
      now = step.until;
      step = call.tick(now);
    } else if (step.outcome === "succeeded") {
      return report({ error: null, value: "s!" });
    } else {
      return failed(WORDED[step.reason](attempt, config.node ?? "", last), last, false);
    }
  }
}

/** Where the original's product leaves the range of an integer, ours is the longest delay. */
function saturates(config, recorded, got) {
  const promised = recorded.map((delay) => (delay < 0 ? whole(config, "max_delay") : BigInt(delay)));
  // A context ends in the wait that the original skips.
  if (whole(config, "cancel_at", -1n) >= 0n) promised.length = Math.min(promised.length, got.length);
  // Waits that go past the end of time are as long as there is time.
  let clock = 0n;
  const late = got.findIndex((delay) => (clock += delay) >= MAX);
  const inTime = late < 0 ? got.length + 1 : late + 1;
  check(0, "saturated delays", promised.slice(0, inTime), got.slice(0, inTime));
}

function langgraphgo_retrynode({ config, inputs, expected: [expected] }) {
  const wrong = faults(config);
  if (wrong.length > 0) return refused(config, wrong);
  const got = execute(config, inputs);
  if (config.impl_defined) {
    saturates(config, expected.delays, got.delays);
    return OUT_OF_DOMAIN;
  }
  const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
  check(0, "outcome", sorted(expected), sorted(got));
  return same();
}

/** The kinds of recorded files. */
export const RECORDED = {
  aster,
  aster_estimate,
  k8s_backoff,
  k8s_flowcontrol,
  k8s_manager,
  k8s_workqueue,
  langgraphgo_extras,
  langgraphgo_graph,
  langgraphgo_retrynode,
  ...PERIODIC,
};
