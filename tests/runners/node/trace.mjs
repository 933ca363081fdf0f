// What hooks are told while the package's own loop runs a script, in virtual time.
import { VirtualClock } from "../../../bindings-wasm/test/virtual.mjs";
import { failureOf, N } from "./words.mjs";

const EVENTS = { onAttempt: "attempt", onRetry: "retry", onSuccess: "success", onGiveUp: "give_up" };

/** The fields of an event of a vector that are there, times as whole nanoseconds. */
export function scripted({ elapsed, delay, retry_in: wait, ...words }) {
  const known = { ...words, elapsed: N(elapsed) };
  if (delay !== undefined) known.delay = N(delay);
  if (wait !== undefined && wait !== null) known.retry_in = N(wait);
  return known;
}

const nanos = (milliseconds) => String(Math.round(milliseconds * 1e6));

/** The events of an operation, as `scripted` has them. */
export async function events(retry, script, options) {
  const told = [];
  const tell = (event) => (facts) => {
    const { attempt, elapsedMs, delayMs, retryInMs, kind, cause, reason } = facts;
    const times = { elapsed: nanos(elapsedMs), delay: nanos(delayMs), retry_in: nanos(retryInMs) };
    const fields = { event, attempt, kind, cause, reason, ...times };
    const known = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "NaN");
    told.push(Object.fromEntries(known));
  };
  const hooks = Object.entries(EVENTS).map(([hook, event]) => [hook, tell(event)]);
  const clock = new VirtualClock();
  const attempts = script.values();
  let chosen;
  const operation = () => {
    const { took, failure, ...more } = attempts.next().value;
    chosen = more.chosen;
    clock.time += Number(N(took)) / 1e6;
    if (failure !== undefined) throw failure;
  };
  const delay = () => (chosen === undefined ? undefined : Number(N(chosen)) / 1e6);
  const host = { clock, when: failureOf, delay, ...Object.fromEntries(hooks) };
  await clock.settled(retry(operation, { ...options, ...host }).catch(() => {}));
  return told;
}
