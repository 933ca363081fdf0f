/** Values as callers give them: fields, names and text. */
// The types of values, as the core numbers them.
/** Milliseconds, or a number with its unit: `"250ms"`, `"1.5s"`, `"2m"`. */
export type Duration = number | string;

/** Nanoseconds. */
export type Time = number | bigint;
/** The type that times come back in. */
export type Same<T extends Time> = T extends bigint ? bigint : number;

/** Nanoseconds: a number where it holds them exactly, Infinity for no limit. */
export type Nanos = number | bigint;

export const OTHER = 0;
export const TEXT = 1;
export const NUMBER = 2;
export const NOTHING = 3;
export const EMPTY = 4;
export const UNITLESS = 5;
export const NO_ITEMS = 6;
/** A list with items, which goes to the core one by one. */
export const LIST = 7;
export const FLAG = 8;

export const camel = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A field with its path as it was given. */
export interface FieldValue {
  readonly path: string;
  readonly value: unknown;
  readonly kind: number;
}

/** The deepest level of fields: an object may contain itself. */
const DEPTH = 16;

/** spec 15.8: the longest name in the paths of a document, where each value below a name has the whole path. */
export const LONGEST_NAME = 256;

/** Collects every field of an object or a list with its path. Names longer than `longest` are cut. */
export function collect(
  values: FieldValue[],
  path: string,
  value: unknown,
  number: number,
  longest: number,
  depth = 0,
): void {
  const before = values.length;
  if (depth > DEPTH) {
    values.push({ path, value, kind: OTHER });
  } else if (Array.isArray(value)) {
    values.push({ path, value, kind: value.length === 0 ? NO_ITEMS : LIST });
    for (const [index, item] of value.entries()) collect(values, `${path}[${index}]`, item, number, longest, depth + 1);
  } else if (isFields(value)) {
    for (const name of Object.keys(value)) {
      // spec 15.7: the schema that editors read.
      if (depth === 0 && name === "$schema" && typeof (value[name] ?? "") === "string") continue;
      const short = name.length > longest ? `${name.slice(0, longest)}…` : name;
      collect(values, depth === 0 ? short : `${path}.${short}`, value[name], number, longest, depth + 1);
    }
    if (values.length === before && depth > 0) values.push({ path, value, kind: EMPTY });
  } else {
    values.push({ path, value, kind: kindOf(value, number) });
  }
}

function kindOf(value: unknown, number: number): number {
  if (value === undefined || value === null) return NOTHING;
  if (typeof value === "string") return TEXT;
  return typeof value === "number" ? number : typeof value === "boolean" ? FLAG : OTHER;
}

/** A copy of an object of fields, without null and undefined. */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isFields(value)) return value;
  const given = Object.entries(value).filter(([, inner]) => inner !== undefined && inner !== null);
  return Object.fromEntries(given.map(([name, inner]) => [name, copyOf(inner)]));
}

/** A field of a guard by the name that the core has for it, or a preset with the numbers of its guards. */
export interface GuardField extends FieldValue {
  readonly numbers: Readonly<Record<number, number>> | undefined;
}

/** A prototype without properties. Objects made of it are quicker to read than objects without a prototype. */
export const BARE = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ Object.create(null));

/** An object's own fields, in an object that inherits none from `Object.prototype`. */
export const bareCopy = <T extends object>(object: T): T => Object.assign(Object.create(BARE), object);

/** True for an object, which may be a function. */
export const isObject = (value: unknown): value is object => Object(value) === value;

const CLEAN: ProxyHandler<object> = {
  get(object, name) {
    for (let at: object | null = object; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
      if (Object.hasOwn(at, name)) return object[name as never];
  },
};

/** An object without the properties that a program has added to `Object.prototype`; any other value as it is. */
export const clean = <T>(value: T): T => (isObject(value) ? (new Proxy(value, CLEAN) as T) : value);

/** The properties of the errors of clients. */
export interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  Code?: unknown;
  sqlState?: unknown;
  syscall?: unknown;
  cause?: unknown;
  lastError?: unknown;
  errors?: unknown;
  status?: unknown;
  statusCode?: unknown;
  headers?: unknown;
  responseHeaders?: unknown;
  metadata?: unknown;
  $metadata?: { httpStatusCode?: unknown } | null;
  $response?: { headers?: unknown } | null;
  response?: { status?: unknown; statusCode?: unknown; headers?: unknown } | null;
}

/** True if an error has one of the properties in which clients keep an answer. */
export const hasAnswer = ({ status, statusCode, response, $metadata }: ErrorLike): boolean =>
  (status ?? statusCode ?? response ?? $metadata) != null;

const PLAIN: ErrorLike = {};

/** The error itself, or without the properties that a program has added to `Object.prototype`. */
export function readable(error: object): ErrorLike {
  const { name, message, code, Code, sqlState, syscall, cause, lastError, errors } = PLAIN;
  const { headers, responseHeaders, metadata, $response } = PLAIN;
  const added = name ?? message ?? code ?? Code ?? sqlState ?? syscall ?? cause ?? lastError ?? errors;
  return (added ?? headers ?? responseHeaders ?? metadata ?? $response) != null || hasAnswer(PLAIN)
    ? clean(error)
    : error;
}

/** True for an object of fields, and not a list, a date, a policy or another value. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return {}.toString.call(value) === "[object Object]";
}

/** The longest name worth comparing. */
const LONGEST = 64;

/** The candidate nearest to `name`: first a candidate that it ends with, then a candidate that differs in at most a third of its letters. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  // The core counts bytes; none of those of a letter beyond ASCII is in a candidate.
  const bytes = name.replace(/[^ -~]/gu, (letter) =>
    "\0".repeat(letter < "\x80" ? 1 : letter < "\u0800" ? 2 : letter.length + 2),
  );
  let best: string | undefined;
  let least = Infinity;
  for (const candidate of candidates) {
    const distance = edits(bytes, candidate);
    const rank = distance + (name.endsWith(candidate) ? 0 : LONGEST * 2);
    if (rank < least && (name.endsWith(candidate) || distance * 3 <= candidate.length)) {
      best = candidate;
      least = rank;
    }
  }
  return best;
}

/** The edit distance of two names (Levenshtein), case ignored. */
function edits(from: string, to: string): number {
  if (from.length >= LONGEST || to.length >= LONGEST) return LONGEST;
  const row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let line = 0; line < from.length; line++) {
    let diagonal = line;
    row[0] = line + 1;
    for (let at = 1; at <= to.length; at++) {
      const above = row[at] as number;
      const swap = diagonal + (from[line]?.toLowerCase() === to[at - 1]?.toLowerCase() ? 0 : 1);
      row[at] = Math.min(swap, above + 1, (row[at - 1] as number) + 1);
      diagonal = above;
    }
  }
  return row[to.length] as number;
}

let native: { decoder: TextDecoder; encoder: TextEncoder } | undefined;

function made(): typeof native {
  if (native === undefined && typeof TextDecoder === "function" && typeof TextEncoder === "function") {
    native = { decoder: new TextDecoder("utf-8", { ignoreBOM: true }), encoder: new TextEncoder() };
  }
  return native;
}

export const decoder = {
  decode(bytes: Uint8Array): string {
    const known = made();
    if (known) return known.decoder.decode(bytes);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return decodeURIComponent(escape(text));
  },
};

export const encoder = {
  encodeInto(text: string, into: Uint8Array): { read: number; written: number } {
    const known = made();
    if (known) return known.encoder.encodeInto(text, into);
    const bytes = unescape(encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd")));
    into.set(Array.from(bytes, (byte) => byte.charCodeAt(0)));
    return { read: text.length, written: bytes.length };
  },
};
