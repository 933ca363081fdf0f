// The calls of the hosts in Node and in the browser: both use fetch and retry.
import { classify, outcomeOf, Policy, retry } from "holdoff";

async function get(url, signal) {
  const response = await fetch(url, { signal });
  // The default classification reads status and headers of an error.
  const { ok, status, headers } = response;
  if (!ok) throw Object.assign(new Error(`status ${status}`), { status, headers });
  await response.text();
  return status;
}

function saw(error) {
  if (error.status !== undefined) return String(error.status);
  if (error.name === "TimeoutError") return "timeout";
  return error.name === "TypeError" ? "lost" : String(error);
}

const nanos = (milliseconds) => String(Math.round(milliseconds * 1e6));
const hinted = (hint) => (hint === undefined ? "none" : hint === "never" ? hint : nanos(hint));

/** Calls one path and writes down every attempt. */
async function call(url, policy, seed) {
  const attempts = [];
  const onRetry = ({ attempt, error, kind, hint, delayMs, cause }) => {
    const decision = { decision: "sleep", delay_ns: nanos(delayMs), cause };
    attempts.push({ attempt, saw: saw(error), failure: kind, hint: hinted(hint), ...decision });
  };
  try {
    const status = await retry(({ signal }) => get(url, signal), { policy, seed, onRetry });
    attempts.push({ attempt: attempts.length + 1, saw: String(status), decision: "succeeded" });
  } catch (error) {
    const outcome = outcomeOf(error);
    if (outcome === undefined) throw error;
    const { kind, hint } = classify(error);
    const decision = { decision: outcome.outcome, reason: outcome.reason };
    attempts.push({ attempt: outcome.attempts, saw: saw(error), failure: kind, hint: hinted(hint), ...decision });
  }
  return attempts;
}

/** Calls every path of a plan. */
export async function trace(host, { base, runs }) {
  const traced = [];
  for (const { path, policy, seed } of runs) {
    traced.push({ path, attempts: await call(base + path, new Policy(policy), BigInt(seed)) });
  }
  return { host, runs: traced };
}
