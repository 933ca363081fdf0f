/** The arguments and answers of guards' methods, on their way between a program and the core. */
import { wrongType } from "../errors.js";
import { exact, FOREVER, type Length, nanos } from "../memory.js";
import type { Time } from "../values.js";
import { memory, readArgument, writeArgument } from "./memory.js";

export type { Length } from "../memory.js";

/** The answer of a bulkhead to a call. */
export type Entry =
  | { readonly kind: "entered" }
  | { readonly kind: "queued"; readonly place: number }
  | { readonly kind: "refused" };

/** No withdrawal. */
const NONE = 0xffffffff;

/** A number of things, or of tokens. */
export function checkedCount(value: number, name: string): number {
  if (!(Number.isInteger(value) && value >= 0 && value < NONE))
    throw wrongType(name, value, "a whole number from 0 to 4294967294");
  return value;
}

/** The number of a withdrawal, if there is one. */
export const numberOf = (withdrawal: number | undefined, name: string): number =>
  withdrawal === undefined ? NONE : checkedCount(withdrawal, name);

export const withdrawalOf = (number: number): number | undefined => (number >>> 0 === NONE ? undefined : number >>> 0);

/** A double; NaN for a value that is no number, which the core refuses. */
export const real = (value: number): number => (typeof value === "number" ? value : Number.NaN);

export function checkedVerdict(verdict: "success" | "failure"): number {
  if (verdict !== "success" && verdict !== "failure") throw wrongType("verdict", verdict, '"success" or "failure"');
  return verdict === "failure" ? 1 : 0;
}

/** Writes a length of time in nanoseconds. */
export function writeSpan(span: Time, name: string): void {
  if (typeof span === "number" && Number.isSafeInteger(span) && span >= 0) writeArgument(1, span);
  else memory().longs[1] = exact(span, name);
}

/** Writes a length of time, a number in milliseconds. */
export function writeLength(length: Length, name: string): void {
  memory().longs[1] = nanos(length, name);
}

/** A length of time, if there is one. */
export const lengthOf = (nanos: bigint): bigint | undefined => (nanos === FOREVER ? undefined : nanos);

export function entryOf(answer: number): Entry {
  if (answer === 2) return { kind: "queued", place: readArgument(1) };
  return { kind: answer === 0 ? "entered" : "refused" };
}
