// langgraphgo's breaker and limiter as configurations of ours.
//
// The breaker has two quirks that ours has not: its limit of half-open calls counts all of them but the first, and not those at
// once, and passing it opens it again with an old time. From such a call on the two go apart until they meet again. What was
// recorded in between has to be what the original's own rules give, which are here for that alone: a wrong recording is no
// deviation.
import { isDeepStrictEqual } from "node:util";
import { Breaker, Limiter } from "../../../bindings-wasm/dist/esm/guards.js";
import { ConfigError } from "../../../bindings-wasm/dist/esm/index.js";

import { ELSEWHERE, OUT_OF_DOMAIN } from "./recording.mjs";

const LONGEST = 2n ** 63n - 1n;
const NEVER = 2n ** 64n - 1n;
const MOST = 2n ** 32n - 1n;

/** A whole number of 64 bits, zero when it is not there. */
const whole = (config, name) => BigInt(config[name] ?? 0);
const between = (least, number, most) => (number < least ? least : number > most ? most : number);

/** The three kinds of cases of a file of extras. */
export function langgraphgo_extras(recording) {
  switch (recording.config.op) {
    case "CircuitBreaker":
      return breaker(recording);
    case "RateLimiter":
      return limiter(recording);
    case "ExponentialBackoffRetry":
      return ELSEWHERE;
    default:
      throw new Error(`an unknown operation: ${recording.config.op}`);
  }
}

/** What a configuration is refused for; undefined when it is taken. */
function refusal(make) {
  try {
    make();
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.word;
    throw error;
  }
}

function breakerOf(config) {
  const timeout = whole(config, "timeout");
  if (timeout < 0n) {
    const word = refusal(() => new Breaker({ openFor: `${timeout}ns` }));
    if (word !== "not_a_duration") throw new Error(`a negative time gives ${word}`);
  }
  // A threshold below 1 is one of 1, and without room for more calls the first one is the only one.
  const threshold = (name) => Number(between(1n, whole(config, name), MOST));
  const fields = {
    failures: threshold("failure_threshold"),
    // It is open for the timeout, that instant included.
    openFor: `${between(0n, timeout + 1n, LONGEST)}ns`,
    probes: threshold("half_open_max_calls"),
    successes: threshold("success_threshold"),
    reopen: "streak",
  };
  return new Breaker(fields, { seed: 0, now: 0n });
}

function breaker({ config, inputs, expected }) {
  const [ours, original] = [breakerOf(config), new Original(config)];
  const [node, timeout] = [config.node ?? "N", whole(config, "timeout")];
  let [apart, deviations] = [false, 0];
  if (inputs.length !== expected.length) throw new Error(`${inputs.length} inputs, ${expected.length} results`);
  for (const [at, { at: start, took = 0, result }] of inputs.entries()) {
    let now = BigInt(start);
    let error = `circuit breaker open for ${node}`;
    const { permit } = ours.acquire(now);
    if (permit !== undefined) {
      now += BigInt(took);
      ours.record(permit, result === "ok" ? "success" : "failure", BigInt(took), now);
      error = result === "ok" ? null : `circuit breaker error in ${node}: ${result}`;
    }
    const [failures, state] = [ours.rates(now).calls, ours.state(now)];
    const got = { error, ran: permit !== undefined, state, failures };
    const want = expected[at];
    const theirs = original.call(node, BigInt(start), BigInt(took), result);
    if (Object.keys(got).some((name) => want[name] !== got[name])) {
      // Without a time to be open it reads as half-open from the first instant on.
      const atOnce = timeout < 0n && state === "half_open" && want.state === "open";
      if (!(apart || original.passedItsLimit || atOnce) || !isDeepStrictEqual({ ...want }, theirs)) {
        throw new Error(`input ${at}: expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
      }
      deviations++;
    }
    apart = (apart || original.passedItsLimit) && !original.isAs(state, failures, ours.retryAt);
  }
  return { deviations };
}

/** The original's breaker, to tell what it makes of calls after its limit from a wrong recording. */
class Original {
  state = "closed";
  failures = 0;
  successes = 0;
  calls = 0n;
  lastFailure = 0n;
  /** The latest call found the limit of half-open calls. */
  passedItsLimit = false;

  constructor(config) {
    this.failureThreshold = whole(config, "failure_threshold");
    this.successThreshold = whole(config, "success_threshold");
    this.timeout = whole(config, "timeout");
    this.most = whole(config, "half_open_max_calls");
  }

  /** What is recorded of a call. */
  call(node, start, took, result) {
    const refused = this.refuses(start);
    let error = null;
    if (refused !== undefined) {
      error = `circuit breaker ${refused} for ${node}`;
    } else if (result === "ok") {
      this.successes++;
      this.failures = 0;
      if (this.state === "half_open" && this.successes >= this.successThreshold) this.state = "closed";
    } else {
      this.failures++;
      this.successes = 0;
      this.lastFailure = start + took;
      if (this.failures >= this.failureThreshold) this.state = "open";
      error = `circuit breaker error in ${node}: ${result}`;
    }
    const { state, failures, successes, calls } = this;
    return { error, failures, half_open_calls: Number(calls), ran: refused === undefined, state, successes };
  }

  /** Why it lets a call not through; undefined when it does. */
  refuses(start) {
    this.passedItsLimit = false;
    if (this.state === "open") {
      if (start - this.lastFailure <= this.timeout) return "open";
      this.state = "half_open";
      this.calls = 0n;
    } else if (this.state === "half_open") {
      if (this.calls >= this.most) {
        this.state = "open";
        this.passedItsLimit = true;
        return "half-open limit reached";
      }
      this.calls++;
    }
    return undefined;
  }

  /** Whether it and ours have met again: what both do from here on is the same. */
  isAs(state, failures, retryAt) {
    const until = Number(between(0n, this.lastFailure + this.timeout + 1n, NEVER));
    const inState = state === "closed" || (state === "open" && retryAt === until);
    return inState && state === this.state && failures === this.failures;
  }
}

/** A sliding log. */
function limiter({ config, inputs, expected }) {
  const [most, node] = [whole(config, "max_calls"), config.node ?? "N"];
  // A window below zero is as good as none.
  const fields = {
    kind: "log",
    limit: Number(between(0n, most, MOST)),
    per: `${between(0n, whole(config, "window"), LONGEST)}ns`,
  };
  const word = refusal(() => new Limiter(fields));
  // There it panics.
  if (word === "count_range" && most < 1n) return OUT_OF_DOMAIN;
  if (word !== undefined) throw new Error(`the limiter is refused: ${word}`);
  const ours = new Limiter(fields, { now: 0n });
  if (inputs.length !== expected.length) throw new Error(`${inputs.length} inputs, ${expected.length} results`);
  for (const [at, input] of inputs.entries()) {
    const now = BigInt(input.at ?? input);
    const again = ours.take(1, now);
    const error = again === undefined ? null : `rate limit exceeded for ${node}, retry after ${duration(again - now)}`;
    const got = { error, ran: again === undefined };
    if (!isDeepStrictEqual({ ...expected[at] }, got)) {
      throw new Error(`input ${at}: expected ${JSON.stringify(expected[at])}, got ${JSON.stringify(got)}`);
    }
  }
  return { deviations: 0 };
}

/** A duration as Go writes it. */
function duration(nanos) {
  const part = (value, unit, name) => {
    const text = `${value / unit}.${String(((value % unit) * 1_000_000_000n) / unit).padStart(9, "0")}`;
    return text.replace(/0+$/, "").replace(/\.$/, "") + name;
  };
  if (nanos === 0n) return "0s";
  if (nanos < 1_000n) return `${nanos}ns`;
  if (nanos < 1_000_000n) return part(nanos, 1_000n, "µs");
  if (nanos < 1_000_000_000n) return part(nanos, 1_000_000n, "ms");
  const [minutes, rest] = [nanos / 60_000_000_000n, nanos % 60_000_000_000n];
  const hours = minutes >= 60n ? `${minutes / 60n}h` : "";
  return (minutes > 0n ? `${hours}${minutes % 60n}m` : "") + part(rest, 1_000_000_000n, "s");
}
