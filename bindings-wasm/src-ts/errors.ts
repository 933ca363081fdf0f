/** Errors: of a configuration, and the outcome of an operation that failed. */
import { problemCode, problemPath, problemValue, readLines, wasm } from "./core.js";
import type { StopReason } from "./words.js";

/** A value as an error shows it: short, and never its owner's own code. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "bigint") return `${value}n`;
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    return Array.isArray(value) ? "[...]" : `[${typeof value}]`;
  }
  return String(value);
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

/** The problem that the core has just explained in so much text, about a field that was called `name`. */
export function configError(length: number, name: string, lookUp: (path: string) => unknown): ConfigError {
  const [word, field, rule, nearest] = readLines(length) as [string, string, string, string];
  const path = problemPath(field);
  const given = lookUp(path);
  const known = given === undefined ? problemValue() : shown(given);
  const value = known === undefined ? "" : ` = ${known}`;
  const camel = /[A-Z]/.test(name);
  const near = camel ? nearest.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : nearest;
  return new ConfigError(problemCode(), word, path || name, value, rule, near || undefined);
}

export const UNKNOWN_FIELD = 100;
export const WRONG_TYPE = 101;
export const UNKNOWN_WORD = 102;
export const NOT_A_DURATION = 103;
export const ATTEMPTS_RANGE = 104;
export const SEED_RANGE = 113;
export const NOT_JSON = 141;
export const NOT_AN_OBJECT = 142;
export const NOT_SUPPORTED = 147;
export const COUNT_RANGE = 150;
export const TIME_RANGE = 203;
export const UNKNOWN_FAILURE_KIND = 204;

/** The error with that number about a value that is no policy's. */
export function problem(code: number, path: string, value: unknown, cause?: unknown): ConfigError {
  const [word, , rule] = readLines(wasm().problem(code)) as [string, string, string];
  return new ConfigError(code, word, path, ` = ${shown(value)}`, rule, undefined, cause);
}

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

/** The outcomes of what cannot hold one: frozen errors, and values, which are not this package's to write to. */
const aside = new WeakMap<object, Outcome>();

const holds = (value: unknown): value is { [OUTCOME]?: Outcome } =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** The error with its outcome attached: the same object, unless it is none. */
export function attach(error: unknown, outcome: Outcome): unknown {
  const holder = holds(error) ? error : new RetryError(outcome, error);
  if (Reflect.defineProperty(holder, OUTCOME, { value: outcome, configurable: true, writable: true })) {
    aside.delete(holder);
  } else {
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
  return holds(ended) ? (aside.get(ended) ?? ended[OUTCOME]) : undefined;
}
