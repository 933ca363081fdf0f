/** Times and durations: their types, and how they are read. */
import { type ConfigError, problem, TIME_RANGE } from "./errors.js";
import { LONGEST, TIME_RULES } from "./table.js";

/** Milliseconds, or a number with its unit: `"250ms"`, `"1.5s"`, `"2m"`. */
export type Duration = number | string;

/** Nanoseconds. */
export type Time = number | bigint;
/** The type that times come back in. */
export type Same<T extends Time> = T extends bigint ? bigint : number;

/** The error about a value that is no such time. */
export const timeRange = (path: string, value: unknown): ConfigError =>
  problem(TIME_RANGE, path, value, undefined, TIME_RULES);

/** Throws unless this is a time that its type holds exactly. */
export function checkTime(value: unknown, name: string): asserts value is Time {
  const right =
    typeof value === "bigint"
      ? value >= 0n && value < 1n << 64n
      : typeof value === "number" && ((value >= 0 && value <= Number.MAX_SAFE_INTEGER) || value === Infinity);
  if (!right) throw timeRange(name, value);
}

/** The hint that ends an operation. */
export const NEVER = 0xffff_ffff_ffff_fffen;

/** Nanoseconds: a number where it holds them exactly, Infinity for no limit. */
export type Nanos = number | bigint;

/** Nanoseconds in the units of a duration; days are a unit of headers alone. */
export const UNITS = {
  ns: 1n,
  us: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};
export type Unit = keyof typeof UNITS;

/** Nanoseconds as a number if it holds them exactly, and at most the longest time. */
export function bounded(nanos: bigint): Nanos {
  const span = nanos < LONGEST ? nanos : LONGEST;
  return span <= Number.MAX_SAFE_INTEGER ? Number(span) : span;
}

/** Reads a number and its unit, such as `"1.5s"`, cut off at nanoseconds; undefined when it is none, or above 292 years. */
export function spanOf(text: string): Nanos | undefined {
  const [, whole, digits = "", unit] = /^(\d+)(?:\.(\d+))?([num]?s|[mh])$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const nanoseconds = UNITS[unit as Unit];
  const span = BigInt(whole) * nanoseconds + (BigInt(digits) * nanoseconds) / 10n ** BigInt(digits.length);
  return span > LONGEST ? undefined : bounded(span);
}

/** A duration in nanoseconds, milliseconds as the nearest one; undefined when it is negative, none, or above 292 years. */
export function durationOf(value: unknown): Nanos | undefined {
  if (typeof value === "string") return spanOf(value);
  const nanos = typeof value === "number" && value >= 0 ? value * 1e6 + 0.5 : Infinity;
  return nanos < 2 ** 63 ? Math.floor(nanos) : undefined;
}

/** Reads a number and its unit, such as `"1.5s"`, into milliseconds; undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const span = parseNanos(text);
  return span === undefined ? undefined : Number(span) / 1e6;
}

/** The same into exact nanoseconds. */
export function parseNanos(text: string): bigint | undefined {
  const span = typeof text === "string" ? spanOf(text) : undefined;
  return span === undefined ? undefined : BigInt(span);
}
