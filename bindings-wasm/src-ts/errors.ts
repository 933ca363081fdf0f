/** Errors: of a configuration, and the outcome of an operation that failed. */
import { NOT_SUPPORTED, WRONG_TYPE } from "./codes.js";
import { RULES } from "./table.js";
import { isObject } from "./values.js";
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
