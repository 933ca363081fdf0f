/** Errors: of a configuration, and the outcome of an operation that failed. */
import { RULES } from "./table.js";
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

export const UNKNOWN_FIELD = 100;
export const WRONG_TYPE = 101;
export const UNKNOWN_WORD = 102;
export const NOT_A_DURATION = 103;
export const ATTEMPTS_RANGE = 104;
export const FACTOR_RANGE = 105;
export const MAX_BELOW_INITIAL = 106;
export const ZERO_LIMIT = 107;
export const MIN_ATTEMPT_RANGE = 108;
export const CLIP_NEEDS_MIN_ATTEMPT = 109;
export const JITTER_FACTOR_RANGE = 110;
export const NOT_FOR_KIND = 111;
export const JITTER_FACTOR_MISSING = 112;
export const SEED_RANGE = 113;
export const EXPONENT_RANGE = 114;
export const DELAYS_MISSING = 115;
export const JITTER_BOUND_MISSING = 116;
export const TIMES_MISSING = 117;
export const TOO_MANY_STAGES = 118;
export const NO_STAGE_FOR_ALL = 119;
export const PRESET_STAGES = 128;
export const TIMES_RANGE = 129;
export const DOCUMENT_VERSION = 140;
export const NOT_JSON = 141;
export const NOT_AN_OBJECT = 142;
export const NOT_SUPPORTED = 147;
export const COUNT_RANGE = 150;
export const SHARE_RANGE = 151;
export const RATE_RANGE = 152;
export const FIELD_MISSING = 153;
export const TIME_RANGE = 203;
export const UNKNOWN_FAILURE_KIND = 204;

/** The word and the rule of the error with that number. */
export function ruleOf(code: number, rules = RULES): [word: string, rule: string] {
  const text = (rules[code] ?? RULES[code]) as string;
  const end = text.indexOf(" ");
  return [text.slice(0, end), text.slice(end + 1)];
}

/** The error with that number about a value that is no policy's. */
export function problem(code: number, path: string, value: unknown, cause?: unknown): ConfigError {
  const [word, rule] = ruleOf(code);
  return new ConfigError(code, word, path, ` = ${shown(value)}`, rule, undefined, cause);
}

/** The error about a field, or an import, that needs the entry `holdoff/name`. */
export const needs = (path: string, name: string): ConfigError =>
  new ConfigError(NOT_SUPPORTED, "not_supported", path, "", `needs import "holdoff/${name}"`);

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
  /** The error of the runtime that refused to compile the wasm module, which took the decision away; the reason is then `permanent`. */
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

/** The outcomes of what cannot hold one: frozen errors, and values, which are not this package's to write to. */
const aside = new WeakMap<object, Outcome>();

const holds = (value: unknown): value is { [OUTCOME]?: Outcome } =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** The error with its outcome attached: the same object, unless it is none. */
export function attach(error: unknown, outcome: Outcome): unknown {
  const holder = holds(error) ? error : new RetryError(outcome, error);
  let isAttached = false;
  try {
    isAttached = Reflect.defineProperty(holder, OUTCOME, { value: outcome, configurable: true, writable: true });
  } catch {
    // A proxy that does not let itself be written to.
  }
  if (isAttached) aside.delete(holder);
  else aside.set(holder, outcome);
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
