// Aster's linter of retries, `checkRetrySemantics`, on a policy's sum and lints: how long all waits take, and whether that is
// too long. Only the words are here.
import { ConfigError, Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { lints, totalWaitNanos } from "../../../bindings-wasm/dist/esm/tools.js";
import { check, same, steps, whole } from "./recording.mjs";

/** The base delay of every clause, in milliseconds. */
const BASE = 1000n;

export function aster_estimate({ config, inputs, expected }) {
  let deviations = 0;
  for (const [at, input, want] of steps(inputs, expected)) {
    if (config.op === "describeDuration") {
      check(at, "words", want, words(input === "Infinity" ? undefined : BigInt(input)));
    } else if (!linted(at, config, input, want)) {
      deviations++;
    }
  }
  return same(deviations);
}

/** The policy of a `retry` clause, with milliseconds in this unit: no jitter, since the sum is one without. */
function policyOf(config, attempts, unit) {
  const initial = `${whole(config, "base_ms", BASE)}${unit}`;
  const backoff =
    config.backoff === "linear"
      ? { kind: "linear", initial, max: "none" }
      : { kind: "exponential", initial, factor: 2, max: "none" };
  const timeout = whole(config, "timeout_ms");
  const deadline = timeout > 0n ? { deadline: `${timeout}${unit}` } : {};
  return Policy.fromJson({ backoff, jitter: "none", attempts, ...deadline });
}

/** One number of attempts; whether the original's result is an example. */
function linted(at, config, attempts, expected) {
  let policy;
  try {
    policy = policyOf(config, attempts, "ms");
  } catch (error) {
    if (attempts < 1 && error instanceof ConfigError && error.word === "attempts_range") return false;
    throw error;
  }
  // A sum in milliseconds may be longer than any span: there they run as ticks.
  const total = totalWaitNanos(policyOf(config, attempts, "ns"));
  const found = lints(policy).map(({ word }) => word);
  // Aster does not sum up more than 30 exponential waits and says infinity; the sum is finite and ours is it.
  const isExample = expected.estimate_ms !== "Infinity";
  const shown = isExample ? total : undefined;
  const clause = `retry(backoff=${config.backoff}, maxAttempts=${attempts})`;
  const timeout = whole(config, "timeout_ms");
  let warning = null;
  if (found.includes("wait_above_deadline")) {
    warning = `${clause} 预估累计等待 ${words(shown)}，超过 timeout=${words(timeout)}`;
  } else if (found.includes("many_attempts")) {
    warning = `${clause} 预计累计等待 ${words(shown)}，建议最多 10 次`;
  } else if (found.includes("long_wait")) {
    const limit = config.backoff === "linear" ? "300秒" : "15分钟";
    warning = `${clause} 预计累计等待 ${words(shown)}，超过推荐窗口 ${limit}`;
  }
  // Infinity is above every timeout, and the sum is not above this one.
  if (!isExample && timeout > 0n && !found.includes("wait_above_deadline")) return false;
  check(at, "estimate", expected, { estimate_ms: isExample ? total : "Infinity", warning });
  return isExample;
}

const UNITS = [
  [1_000n, 1n, "ms"],
  [600_000n, 1_000n, "秒"],
  [3_600_000n, 60_000n, "分钟"],
  [86_400_000n, 3_600_000n, "小时"],
];

/** A duration in Aster's words: the nearest of the unit that suits it. */
function words(ms) {
  if (ms === undefined) return "不可估算";
  const [, unit, word] = UNITS.find(([below]) => ms < below) ?? [0n, 86_400_000n, "天"];
  return `${(ms + unit / 2n) / unit}${word}`;
}
