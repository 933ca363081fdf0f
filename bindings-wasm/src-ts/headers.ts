/** Header lines, in any form that clients have them. */
import { clean, isObject } from "./values.js";

/** One header line: its name and its value. */
export type Line = readonly [name: string, value: string];

/** A `Headers`, a `Map`, pairs of names and values, or an object by names; several values of a name as a list. */
export type HeadersLike =
  | Iterable<readonly [string, unknown]>
  | { readonly [name: string]: unknown }
  | { get(name: string): unknown };

/** The headers to ask of an object that does not list them, such as gRPC's metadata. */
const ASKED = ["date", "retry-after", "grpc-retry-pushback-ms"];

/** The lines of whatever has headers; none of what has not. */
export function linesOf(headers: unknown): Line[] {
  const lines: Line[] = [];
  if (!isObject(headers)) return lines;
  // `trim` would remove white space beyond ASCII, too, which is part of a value.
  const add = (name: unknown, value: unknown) => {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof name === "string" && (typeof one === "string" || typeof one === "number"))
        lines.push([name, `${one}`.replace(/[^\S \t\n\f\r]/g, "?")]);
    }
  };
  const { get, [Symbol.iterator]: iterate } = clean(headers as { get?: unknown; [Symbol.iterator]?: unknown });
  if (typeof iterate === "function") {
    for (const pair of headers as Iterable<unknown>) if (Array.isArray(pair)) add(pair[0], pair[1]);
  } else if (typeof get === "function") {
    for (const name of ASKED) add(name, get.call(headers, name));
  } else {
    for (const [name, value] of Object.entries(headers)) add(name, value);
  }
  return lines;
}

/** Now in nanoseconds since 1970, by the clock on the wall. */
export const wallNow = (): bigint => BigInt(Date.now()) * 1_000_000n;
