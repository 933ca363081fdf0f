// Kubernetes' loops on the periodic machine, driven by a host with virtual time.
import { LoopBackoff, Periodic, WaitBackoff } from "../../../bindings-wasm/dist/esm/tools.js";

import { loopBackoffOf, made, real, waitBackoff } from "./recorded.mjs";
import { check, ELSEWHERE, MAX, OUT_OF_DOMAIN, same, whole } from "./recording.mjs";

/** Drives a machine, and cancels it at a time or with the end of a run. `find` is how long a run takes and what it finds. */
function drive(machine, find, cancelAt, cancelAfter = 0) {
  const seen = { starts: [], intervals: [], ended: "", at: 0n };
  let [now, end] = [0n, cancelAt < 0n ? undefined : cancelAt];
  const ask = (input) => {
    const asked = machine.state.intervals;
    const step = input();
    if (machine.state.intervals !== asked) seen.intervals.push(machine.state.interval);
    return step;
  };
  const run = (number) => {
    const [takes, answer] = find(seen.starts.length);
    seen.starts.push(now);
    now += takes;
    if ((end !== undefined && end <= now) || seen.starts.length === cancelAfter) {
      end = undefined;
      machine.cancel();
    }
    return ask(() => machine.finish(number, now, answer));
  };
  const sleep = (until) => {
    if (end !== undefined && (end <= now || end < until)) {
      if (end > now) now = end;
      end = undefined;
      return machine.cancel();
    }
    if (until > now) now = until;
    return ask(() => machine.tick(now));
  };
  let step = sleep(0n);
  while (step.kind !== "stop") {
    if (step.kind === "wait") throw new Error("it waits for a run that has ended");
    step = step.kind === "run" ? run(step.run) : sleep(step.until);
  }
  return { ...seen, ended: step.ended, at: now };
}

/**
 * How many recorded intervals there are from the first on that left the range of an integer; undefined if none did. From there on
 * the original does not wait, and here the interval is as long as it may be.
 */
function wrapped({ config, expected: [expected] }, name, seen, longest) {
  const recorded = expected[name] ?? [];
  // An interval that wraps twice may be positive again.
  const isLost = config.impl_defined
    ? (there, at) => at < seen.intervals.length && BigInt(there) !== seen.intervals[at]
    : (there) => there < 0;
  const first = recorded.findIndex(isLost);
  if (first < 0) return undefined;
  check(first, "the intervals before it wraps", recorded.slice(0, first), seen.intervals.slice(0, first));
  const here = seen.intervals[first];
  if (here === undefined) check(first, "an end before the wrap", true, seen.ended !== "done");
  else check(first, "saturated interval", true, here >= longest);
  return same(recorded.length - first);
}

/** Runs a case whose host sees starts, intervals and an end. */
function loop(recording, name, machine, find, { cap, cancelAfter = 0, ended }) {
  const { config, expected } = recording;
  const seen = drive(machine, find, whole(config, "cancel_at", -1n), cancelAfter);
  const lost = wrapped(recording, name, seen, cap ?? MAX);
  if (lost !== undefined) return lost;
  const { starts, returned_at: at } = expected[0];
  check(0, "the loop", { starts: starts ?? [], intervals: expected[0][name] ?? [], ended, at }, seen);
  return same();
}

const UNTIL = { timer: "variable", sliding: true, immediate: true, firstIsSure: false, bySteps: false };

function k8s_backoffuntil(recording) {
  const { config, inputs } = recording;
  const loopBackoff = loopBackoffOf(config.manager, 0n);
  if (loopBackoff === undefined) return OUT_OF_DOMAIN;
  // Its draws come from its seed.
  if (loopBackoff.state.draws) return ELSEWHERE;
  const machine = new Periodic(loopBackoff, { ...UNTIL, sliding: config.sliding ?? false }, 0n, 0n);
  const cancelAfter = whole(config, "cancel_at", -1n) < 0n ? inputs.length : 0;
  const find = (at) => [BigInt(inputs[at]), "again"];
  return loop(recording, "delays", machine, find, { cap: loopBackoff.state.cap, cancelAfter, ended: "cancelled" });
}

const ENDS = { nil: "done", "condition failed": "failed", "context canceled": "cancelled" };

function k8s_poll(recording) {
  const { config, inputs, expected } = recording;
  const jitter = real(config.backoff, "jitter");
  const backoff = jitter < 0 ? made(() => new WaitBackoff({ duration: 0n, jitter })) : waitBackoff(config.backoff);
  if (backoff === undefined) return OUT_OF_DOMAIN;
  const { steps, draws, duration, cap } = backoff.state;
  const { immediate = false, sliding = false } = config;
  const timer = steps > 1 || draws ? "variable" : duration > 0n ? "grid" : "no_wait";
  const options = { ...UNTIL, timer, sliding, immediate, firstIsSure: immediate };
  const last = config.end === "err" ? "failed" : "done";
  const find = (at) => [BigInt(inputs[at]), at + 1 === inputs.length ? last : "again"];
  const machine = new Periodic(new LoopBackoff(backoff), options, 0n, 0n);
  return loop(recording, "timer_durations", machine, find, { cap, ended: ENDS[expected[0].error] });
}

const ANSWERS = { done: "done", error: "failed", "done+error": "failed", retry: "again" };

/** What a host of Kubernetes says at the end, and whether it was interrupted. client-go's says its last error where there is one. */
const words = (ended, remembers) =>
  ({
    done: ["nil", false],
    failed: ["condition failed", false],
    steps: remembers ? ["transient", false] : ["timed out waiting for the condition", true],
    deadline: ["context deadline exceeded", true],
    cancelled: ["context canceled", true],
  })[ended];

function k8s_exponential_backoff(recording) {
  const { config, inputs, expected } = recording;
  const backoff = waitBackoff(config);
  if (backoff === undefined) return OUT_OF_DOMAIN;
  const find = (at) => [0n, ANSWERS[inputs[at] ?? "retry"]];
  const machine = new Periodic(new LoopBackoff(backoff), { ...UNTIL, bySteps: true }, 0n, 0n);
  const { cap } = backoff.state;
  const seen = drive(machine, find, whole(config, "cancel_at", -1n));
  const lost = wrapped(recording, "sleeps", seen, cap);
  if (lost !== undefined) return lost;
  const { calls, sleeps, now, error, interrupted } = expected[0];
  check(0, "calls", calls, seen.starts.length);
  check(0, "sleeps", sleeps ?? [], seen.intervals);
  check(0, "time", now, seen.at);
  const remembers = config.op === "retry.OnError" && seen.starts.length > 0;
  check(0, "the end", [error, interrupted], words(seen.ended, remembers));
  return same();
}

export const PERIODIC = { k8s_backoffuntil, k8s_exponential_backoff, k8s_poll };
