/** From options to a policy. The rules are the core's; what only `holdoff` has is refused by name. */
import type * as whole from "../errors.js";
import { isFields } from "../values.js";
import { FIELDS, RULES } from "./rules.js";

/** The longest span that the core knows. */
export const LONGEST = 2 ** 63;

/** A policy of one stage; its times are nanoseconds, and what has no limit is infinite. */
export interface Policy {
  readonly kind: unknown;
  readonly initial: number;
  readonly increment: number;
  readonly factor: number;
  readonly max: number;
  readonly jitter: unknown;
  readonly attempts: number;
  readonly deadline: number;
  readonly minAttempt: number;
  readonly clips: boolean;
  readonly attemptTimeout: number;
  readonly hintMax: number;
  /** The limit of the first attempt; 0 where there is no time for one. */
  readonly limit: number;
}

/** The error with that number. */
export const broken = (code: number, path: string, value: unknown, rule?: string): ConfigError =>
  new ConfigError(code, RULES[code - 103] ?? (rule ? "not_supported" : "unknown_failure_kind"), path, value, rule);

/** The options of the host. */
const HOST = ["seed", "signal", "clock", "when", "onRetry", "isOnce"];

/** True for a whole number of 64 bits that its type holds exactly. */
const isSeed = (value: unknown): boolean =>
  (typeof value === "bigint" || Number.isSafeInteger(value)) && (value as number) >= 0 && (value as bigint) < 1n << 64n;

/** Paths and values by turns, those of objects in it included. */
function collect(given: unknown[], path: string, value: unknown): void {
  if (value == null) return;
  if (!isFields(value)) {
    given.push(path, value);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (path || !HOST.includes(name)) collect(given, path ? `${path}.${name}` : name, inner);
    else if (name === "seed" && inner != null && !isSeed(inner)) throw broken(113, name, inner);
  }
}

/** The path of the field that is called so. Throws unless it is here and takes that value. */
function fieldOf(path: string, value: unknown): string {
  const name = path.replace(".delay", ".initial");
  const [field, ...words] = FIELDS.find(([known]) => known === name || known === `${name}.kind`) ?? [];
  if (field && (words.includes(value as string) || (words.length < 2 && typeof value === "number"))) return field;
  throw broken(147, path, value, "is not in holdoff/lite, perhaps in holdoff");
}

export function noTime(deadline: unknown): ConfigError {
  return broken(107, "deadline", deadline);
}

function built(fields: Record<string, unknown>): Policy {
  const check = (path: string, code: number, right: boolean) => {
    if (!right) throw broken(code, path, fields[path]);
  };
  /** A number; infinite for a word, which says that there is no limit. */
  const number = (path: string, otherwise: number): number => {
    const value = fields[path] ?? otherwise;
    return typeof value === "string" ? Infinity : value === Infinity && path in fields ? NaN : (value as number);
  };
  const time = (path: string, otherwise: number): number => {
    const value = number(path, otherwise);
    const nanos = Math.floor(value * 1e6 + 0.5);
    check(path, 103, value >= 0 && (nanos < LONGEST || value === Infinity));
    return nanos;
  };
  const kind = fields["backoff.kind"] ?? "exponential";
  const constant = kind === "constant";
  const linear = kind === "linear";
  const decorrelated = kind === "decorrelated";
  const allow = (path: string, right: boolean) => check(path, 111, right || !(path in fields));
  allow("backoff.factor", !(constant || linear));
  allow("backoff.increment", linear);
  allow("backoff.max", !constant);
  const factor = number("backoff.factor", decorrelated ? 3 : 2);
  check("backoff.factor", 105, factor >= (decorrelated ? 1 : 0));
  const initial = time("backoff.initial", 100);
  // spec 3.8: ten times a first delay that is given
  const wide = "backoff.initial" in fields ? initial / 1e5 : 0;
  const max = constant ? LONGEST : Math.min(time("backoff.max", Math.max(5000, wide)), LONGEST);
  check("backoff.max", 106, max >= initial);
  const jitter = fields["jitter.kind"] ?? (decorrelated ? "none" : "full");
  check("jitter.kind", 111, !decorrelated || jitter === "none");
  // A number is computed for each call, which may have no time left.
  const isNumber = typeof fields["deadline"] === "number";
  if (isNumber && (fields["deadline"] as number) < 0) fields["deadline"] = 0;
  const deadline = time("deadline", Infinity);
  // spec 3.7: a deadline alone ends the attempts
  const attempts = number("attempts", deadline < Infinity ? Infinity : 3);
  check("attempts", 104, attempts === Infinity || (attempts > 0 && attempts < 2 ** 32 - 1 && attempts % 1 === 0));
  const minAttempt = time("minAttempt", 0);
  const isLate = isNumber && minAttempt >= deadline;
  check("minAttempt", 108, isLate || minAttempt < deadline);
  const clips = fields["onDeadline"] === "clip";
  check("onDeadline", 109, !clips || minAttempt > 0);
  const attemptTimeout = time("attemptTimeout", Infinity);
  check("attemptTimeout", 107, attemptTimeout > 0);
  return {
    kind,
    initial,
    increment: "backoff.increment" in fields ? time("backoff.increment", 0) : initial,
    factor,
    max,
    jitter,
    attempts,
    deadline,
    minAttempt,
    clips,
    attemptTimeout,
    hintMax: time("hint.max", 60_000),
    limit: isLate ? 0 : Math.min(deadline, attemptTimeout),
  };
}

let latest: Policy;
let latestOptions: unknown[] = [];

/** The policy that the options describe; checked again when they say something else than the latest ones. */
export function policyOf(options: unknown): Policy {
  const given: unknown[] = [];
  collect(given, "", options);
  // Nothing else here is a number, so that a longer list differs from a shorter one.
  given.push(0);
  if (given.some((part, at) => part !== latestOptions[at])) {
    const fields: Record<string, unknown> = Object.create(null);
    for (let at = 1; at < given.length; at += 2) {
      fields[fieldOf(given[at - 1] as string, given[at])] = given[at];
    }
    latest = built(fields);
    latestOptions = given;
  }
  return latest;
}

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
