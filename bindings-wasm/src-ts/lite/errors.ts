/** Errors: of a configuration, and the last error of an operation with its outcome. */
import type * as whole from "../errors.js";

/** How an operation ended that did not succeed. */
export type Outcome = Omit<whole.Outcome, "lastResult">;

/** A value as an error shows it, and never its owner's own code. */
const shown = (value: unknown): string =>
  Object(value) === value ? `[${typeof value}]` : typeof value === "string" ? JSON.stringify(value) : String(value);

/** A configuration that breaks a rule. */
export class ConfigError extends TypeError {
  /** The number of the rule, the same in every language. */
  declare readonly code: number;
  /** The word for it, such as `attempts_range`. */
  declare readonly word: string;
  /** The field, such as `backoff.max`. */
  declare readonly path: string;
  /** The rule in words. */
  declare readonly rule: string;

  /** @internal */
  constructor(code: number, word: string, path: string, value: unknown, rule = word.replace(/_/g, " ")) {
    super(`${path} = ${shown(value)}: ${rule}`);
    Object.assign(this, { name: "ConfigError", code, word, path, rule });
  }
}

/** The property that holds an error's outcome, the same as in every other copy of this package. */
export const OUTCOME: unique symbol = Symbol.for("holdoff.outcome") as never;

/** Stands for a thrown or aborting value that cannot hold an outcome: a string, `undefined`. The value is its `cause`. */
export class RetryError extends Error {
  override readonly name = "RetryError";
  /** @internal */
  constructor({ reason, attempts }: Outcome, cause: unknown) {
    super(`${reason} after ${attempts} attempts`, { cause });
  }
}

/** The error with its outcome attached: the same object, if it is one. A frozen error, or a proxy that throws, gets no outcome. */
export function attach(error: unknown, value: Outcome): unknown {
  const holder = Object(error) === error ? (error as object) : new RetryError(value, error);
  try {
    (holder as { [OUTCOME]?: Outcome })[OUTCOME] = value;
  } catch {}
  return holder;
}

/** How the operation ended that threw this error; undefined for what comes from elsewhere. */
export const outcomeOf = (error: unknown): Outcome | undefined =>
  (error as { [OUTCOME]?: Outcome } | undefined | null)?.[OUTCOME];
