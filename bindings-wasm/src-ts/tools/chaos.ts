/** Failures and delays on purpose, around a function. */
import { switches } from "../alarm.js";
import { NOT_A_DURATION, UNKNOWN_FAILURE_KIND } from "../codes.js";
import { parseDuration, problem, wrongType } from "../errors.js";
import type { Length } from "../memory.js";
import { Policy } from "../policy.js";
import type { Duration } from "../values.js";
import { nearest } from "../values.js";
import type { FailureKind } from "../words.js";
import { Chaos } from "./core.js";

/** How a function fails and takes longer on purpose. */
export interface ChaosOptions {
  /** A whole number from 0 to 2^64-1; the same seed does the same again. 0 unless given. */
  seed?: number | bigint;
  /** The share of all calls that fails, from 0 to 1; 0 unless given. */
  failureRate?: number;
  /** The share of all calls that is held up, from 0 to 1; 1 unless given. */
  latencyRate?: number;
  /** How long: one length, or the shortest and the longest. Nothing is held up unless given. */
  latency?: Length | readonly [Length, Length];
  /** The kind of failure that policies see in the error, `"transient"` unless given. */
  kind?: FailureKind;
  /** The server's hint in the error: milliseconds, or text with a unit. */
  retryAfter?: Duration;
  /** Makes the error, in place of one with a status of that kind. */
  error?: () => unknown;
}

const STATUSES: Record<string, number> = { transient: 503, throttled: 429, timeout: 504, permanent: 400 };
const FIELDS = ["seed", "failureRate", "latencyRate", "latency", "kind", "retryAfter", "error"];

/**
 * Wraps functions that fail and take longer on purpose, for tests and staging. Calls are counted over all functions that one
 * result of `chaos` wraps. A call that fails throws an error with a `status` and, for a hint, a header `retry-after-ms`.
 */
export function chaos(
  options: ChaosOptions = {},
): <Args extends readonly unknown[], R>(fn: (...args: Args) => R | Promise<R>) => (...args: Args) => Promise<R> {
  for (const [name, value] of Object.entries(options)) {
    if (FIELDS.includes(name)) continue;
    throw wrongType(`chaos.${name}`, value, `one of ${FIELDS.join(", ")}`, nearest(name, FIELDS));
  }
  const { seed, failureRate, latencyRate, latency = 0, kind = "transient", retryAfter, error } = options;
  const [shortest, longest] = Array.isArray(latency) ? latency : [latency, latency];
  const rates = new Chaos({ seed, failureRate, latencyRate, shortest, longest });
  const status = Object.hasOwn(STATUSES, kind) ? STATUSES[kind] : undefined;
  if (status === undefined) throw problem(UNKNOWN_FAILURE_KIND, "kind", kind);
  const wait = typeof retryAfter === "string" ? parseDuration(retryAfter) : retryAfter;
  if (retryAfter !== undefined && !(wait !== undefined && wait >= 0))
    throw problem(NOT_A_DURATION, "retryAfter", retryAfter);
  const headers = wait === undefined ? {} : { "retry-after-ms": String(wait) };
  const injected = () => Object.assign(new Error(`${kind} failure on purpose`), { status, headers });
  let calls = 0;
  return (fn) =>
    async (...args) => {
      const k = calls++;
      const millis = Number(rates.latency(k)) / 1e6;
      if (millis > 0 && !switches.skipsSleeps) await new Promise<void>((wake) => setTimeout(wake, millis));
      if (rates.fails(k)) throw (error ?? injected)();
      return await fn(...args);
    };
}

/**
 * The policy of a document that has a section `chaos`, and the wrapper that the section describes. Only tests and staging call
 * this: everything else that reads policies refuses the section. Its fields are those of {@link ChaosOptions} but for `error`,
 * written as documents are: `failure_rate`.
 */
export function withChaos(document: string | object): { policy: Policy; chaos: ReturnType<typeof chaos> } {
  const { chaos: section = {}, ...fields } = typeof document === "string" ? JSON.parse(document) : document;
  const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  const options = Object.entries(section).map(([name, value]) => [camel(name), value]);
  return { policy: Policy.fromJson(fields), chaos: chaos(Object.fromEntries(options)) };
}
