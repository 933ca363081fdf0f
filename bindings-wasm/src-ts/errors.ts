/** Errors, and the values whose readers throw them: times and seeds. */
import { NOT_SUPPORTED, SEED_RANGE, TIME_RANGE, WRONG_TYPE } from "./codes.js";
import { LONGEST, RULES, TIME_RULES } from "./table.js";
import { isObject, type Nanos, readable, type Time } from "./values.js";
import type { StopReason } from "./words.js";

export * from "./codes.js";

/** A value as an error shows it: short, and never its owner's own code. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (!isObject(value)) return String(value);
  return Array.isArray(value) ? "[...]" : `[${typeof value}]`;
}

/** A configuration, a seed or a time that breaks a rule. */
export class ConfigError extends TypeError {
  override readonly name = "ConfigError";
  /** The number of the rule, the same in every language. */
  readonly code: number;
  /** The word for it, such as `attempts_range`. */
  readonly word: string;
  /** The field, such as `backoff[1].max`; a name that no field has is shown as it was given. */
  readonly path: string;
  /** The rule in words. */
  readonly rule: string;
  /** The nearest valid name or word, if there is one. */
  readonly nearest: string | undefined;

  /** For engines that check options of their own; `value` is what stands between path and rule, such as ` = 5`. */
  constructor(
    code: number,
    word: string,
    path: string,
    value: string,
    rule: string,
    nearest?: string,
    cause?: unknown,
  ) {
    const meant = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
    super(`${path || "what was given"}${value}: ${rule}${meant}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.word = word;
    this.path = path;
    this.rule = rule;
    this.nearest = nearest;
  }
}

/** The word and the rule of the error with that number. */
export function ruleOf(code: number, rules = RULES): [word: string, rule: string] {
  const text = (rules[code] ?? RULES[code]) as string;
  const end = text.indexOf(" ");
  return [text.slice(0, end), text.slice(end + 1)];
}

/** The error with that number about a value that is no policy's. */
export function problem(code: number, path: string, value: unknown, cause?: unknown, rules = RULES): ConfigError {
  const [word, rule] = ruleOf(code, rules);
  return new ConfigError(code, word, path, ` = ${shown(value)}`, rule, undefined, cause);
}

/** The error about a value that is not what is wanted. */
export const wrongType = (path: string, value: unknown, wanted: string, near?: string): ConfigError =>
  new ConfigError(WRONG_TYPE, "wrong_type", path, ` = ${shown(value)}`, `must be ${wanted}`, near);

/** The error about a field, an import or a runtime that cannot be used here. */
export const unsupported = (path: string, rule: string, cause?: unknown): ConfigError =>
  new ConfigError(NOT_SUPPORTED, "not_supported", path, "", rule, undefined, cause);

/** The error about a field, or an import, that needs the entry `holdoff/name`. */
export const needs = (path: string, name: string): ConfigError => unsupported(path, `needs import "holdoff/${name}"`);

/** How an operation ended that did not succeed; of the last error and the last result one is undefined. */
export interface Outcome {
  readonly outcome: "gave_up" | "cancelled";
  readonly reason: StopReason;
  /** How many attempts were started. */
  readonly attempts: number;
  /** When another try might succeed, in milliseconds like `Date.now()`; undefined when nobody knows. */
  readonly retryAt: number | undefined;
  /** The error of the last failed attempt; undefined if no attempt failed. */
  readonly lastError: unknown;
  /** The value of the last attempt, if `whenResult` called it a failure. */
  readonly lastResult: unknown;
  /** Why the budget refused a retry: the tokens that are spent, and when there are enough again; undefined otherwise. */
  readonly description?: string;
  /** The error about a browser that refused to compile a module of this size, so that nothing could decide; the reason is then `permanent`. */
  readonly engineError?: unknown;
}

/** The property that holds an error's outcome. Registered, so that two copies of this package understand each other. */
export const OUTCOME: unique symbol = Symbol.for("holdoff.outcome") as never;

/** Stands for a thrown or aborting value that cannot hold an outcome: a string, `undefined`. The value is its `cause`. */
export class RetryError extends Error {
  override readonly name = "RetryError";
  /** @internal */
  constructor(outcome: Outcome, cause: unknown) {
    super(`${outcome.reason} after ${outcome.attempts} attempts: ${shown(cause)}`, { cause });
  }
}

/** The error that comes out when a hook throws; its `cause` is the hook's own error. */
export class HookError extends Error {
  override readonly name = "HookError";
  /** The hook: `onRetry`, ... */
  declare readonly hook: string;
  /** The error of the latest attempt; undefined if none failed. */
  declare readonly lastError: unknown;
  /** @internal */
  constructor(hook: string, cause: unknown, lastError: unknown) {
    super(`${hook}: ${(cause as Error | null | undefined)?.message ?? shown(cause)}`, { cause });
    Object.assign(this, { hook, lastError });
  }
}

/** The outcomes of what cannot hold one: frozen errors, and values, which are not this package's to write to. */
const aside = new WeakMap<object, Outcome>();

const holds = (value: unknown): value is { [OUTCOME]?: Outcome } => isObject(value);

/** The error with its outcome attached: the same object, unless it is none. */
export function attach(error: unknown, outcome: Outcome): unknown {
  const holder = holds(error) ? error : new RetryError(outcome, error);
  try {
    // Node prints it with an error that nobody caught.
    (holder as { [OUTCOME]?: Outcome })[OUTCOME] = outcome;
    aside.delete(holder);
  } catch {
    // A frozen error, or a proxy that does not let itself be written to.
    aside.set(holder, outcome);
  }
  return holder;
}

/** Remembers how the operation ended that returned this value: undefined for a success. */
export function remember(value: unknown, outcome: Outcome | undefined): void {
  if (!holds(value)) return;
  if (outcome === undefined) aside.delete(value);
  else aside.set(value, outcome);
}

/**
 * How the operation ended that threw this error, or that gave up with this object as its result; undefined for a success, and
 * for what comes from elsewhere.
 */
export function outcomeOf(ended: unknown): Outcome | undefined {
  try {
    return holds(ended) ? (aside.get(ended) ?? ended[OUTCOME]) : undefined;
  } catch {
    return undefined;
  }
}

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

/** The seeds of a program that was seeded, one after the other. */
let next: (() => bigint) | undefined;

/**
 * Makes every operation of the program repeatable: the k-th one *that fails*, k from 0, gets `seedAt(n, k)`. Without an
 * argument seeds come from `Math.random` again.
 */
export function seed(n?: number | bigint | null): void {
  if (n !== undefined && n !== null) checkSeed(n, "seed");
  let failures = 0n;
  next = n === undefined || n === null ? undefined : () => seedAt(n, failures++);
}

/** True if the program's operations are repeatable. */
export const isSeeded = (): boolean => next !== undefined;

/**
 * The seed of failing operation `k`, from 0, of a program seeded with `n`: an output of splitmix64 (Steele, Lea, Flood, "Fast
 * Splittable Pseudorandom Number Generators", 2014), spec 2.5.
 */
export function seedAt(n: number | bigint, k: number | bigint): bigint {
  checkSeed(n, "n");
  checkSeed(k, "k");
  const of64 = (value: bigint) => BigInt.asUintN(64, value);
  let z = of64(BigInt(n) + (BigInt(k) + 1n) * 0x9e3779b97f4a7c15n);
  z = of64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = of64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** True for a whole number from 0 to 2^64-1 that its type holds exactly. */
export const isSeed = (value: unknown): value is number | bigint =>
  typeof value === "bigint" ? value >= 0n && value < 1n << 64n : Number.isSafeInteger(value) && (value as number) >= 0;

export function checkSeed(value: unknown, path: string): asserts value is number | bigint {
  if (!isSeed(value)) throw problem(SEED_RANGE, path, value);
}

/** The seed of an operation that has just failed for the first time. */
export function seedOf(given: number | bigint | null | undefined): number | bigint {
  const value = given ?? next?.() ?? Math.floor(Math.random() * 2 ** 53);
  checkSeed(value, "seed");
  return value;
}

interface Link {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly response?: unknown;
  readonly headers?: unknown;
  readonly responseHeaders?: unknown;
}

/** True if a test holds for an error, for one of its causes or for an answer in it. A getter that throws says nothing. */
function some(error: unknown, test: (link: Link) => boolean, depth = 8): boolean {
  if (depth === 0 || !isObject(error)) return false;
  try {
    const { cause, response } = readable(error);
    return test(error as Link) || some(cause, test, depth - 1) || some(response, test, depth - 1);
  } catch {
    return false;
  }
}

/** True for headers that forbid another request. The last answers of `holdoff/llm` have them, and SDKs copy them into their errors. */
function forbidsRetry(headers: unknown): boolean {
  const { get, "x-should-retry": value } = Object(headers) as { get?: unknown; "x-should-retry"?: unknown };
  return (typeof get === "function" ? get.call(headers, "x-should-retry") : value) === "false";
}

/**
 * True if a retry has already given up on this error or this answer, or on a cause of it, or if its headers say `x-should-retry: false`:
 * another retry around would only repeat its attempts. Made for the predicates of other libraries, and true for what they have wrapped.
 */
export const givenUp = (error: unknown): boolean =>
  some(error, (link) => {
    const isMarked = forbidsRetry(link.headers) || forbidsRetry(link.responseHeaders);
    return isMarked || outcomeOf(link)?.outcome === "gave_up";
  });

/** How runtimes say that the body of a request, a stream or a `Request`, was sent before. */
const USED = /already (been )?(used|read|consumed)|unusable|disturbed|is locked|used body/i;

export const isUsedBody = (error: unknown): boolean =>
  some(error, ({ name, message }) => name === "TypeError" && USED.test(String(message)));

const finals = new WeakSet<object>();

/** Throws an error after which the retry around makes no further attempt: the error comes out as it is, with its outcome. */
export function stop(error: unknown): never {
  const final = isObject(error) ? error : new Error(String(error), { cause: error });
  finals.add(final as object);
  throw final;
}

/** True for an error of {@link stop}, once: the retry that stops asks first, and a retry around it judges the error as any other. */
export const isFinal = (error: unknown): boolean => some(error, (link) => finals.delete(link));
