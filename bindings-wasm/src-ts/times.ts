/** Times and durations: their types, and how they are read. */
import { readBigint, readNumber, SPAN, wasm, writeText } from "./core.js";
import { problem, TIME_RANGE } from "./errors.js";

/** Milliseconds, or a number with its unit: `"250ms"`, `"1.5s"`, `"2m"`. */
export type Duration = number | string;

/** Nanoseconds. */
export type Time = number | bigint;
/** The type that times come back in. */
export type Same<T extends Time> = T extends bigint ? bigint : number;

/** Throws unless this is a time that its type holds exactly. */
export function checkTime(value: unknown, name: string): asserts value is Time {
  const right =
    typeof value === "bigint"
      ? value >= 0n && value < 1n << 64n
      : typeof value === "number" && ((value >= 0 && value <= Number.MAX_SAFE_INTEGER) || value === Infinity);
  if (!right) throw problem(TIME_RANGE, name, value);
}

/** Reads a number and its unit, such as `"1.5s"`, into milliseconds; undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  return readsAsTime(text) ? readNumber(SPAN) / 1e6 : undefined;
}

/** The same into exact nanoseconds. */
export function parseNanos(text: string): bigint | undefined {
  return readsAsTime(text) ? readBigint(SPAN) : undefined;
}

function readsAsTime(text: unknown): boolean {
  return typeof text === "string" && wasm().duration(writeText(text)) !== 0;
}
