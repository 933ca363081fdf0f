/** `retry` and `wrap`, whose options are read once for all calls that say the same. */

import { problem, WRONG_TYPE } from "./errors.js";
import { checkHost, type HostOptions, isHostField, type Work } from "./host.js";
import { isFields, Policy, type PolicyFields } from "./policy.js";
import { run } from "./run.js";

/** A policy's fields, or a policy, and how to run one operation. */
export interface RetryOptions extends PolicyFields, HostOptions {
  /** A policy made before, or its fields; instead of fields beside it. */
  policy?: Policy | PolicyFields | null | undefined;
}

/** The names and values of an object as they were, objects in it included. */
interface Row {
  readonly names: string[];
  readonly values: unknown[];
}

interface Known {
  readonly options: Row;
  readonly policy: Policy;
}

/** A program has few kinds of options; one that has more builds policies more often, which takes microseconds. */
const REMEMBERED = 16;
const known: Known[] = [];
let next = 0;
let latest: Known | undefined;
let byDefault: Policy | undefined;

const isRow = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof Policy);

/** Host options say how to run and not what to decide, so that they may differ from call to call. */
const counts = (name: string) => name === "policy" || !isHostField(name);

function row(object: object, top: boolean): Row {
  const names: string[] = [];
  const values: unknown[] = [];
  for (const name in object) {
    if (top && !counts(name)) continue;
    const value: unknown = object[name as keyof typeof object];
    names.push(name);
    values.push(isRow(value) ? row(value, false) : value);
  }
  return { names, values };
}

const DIFFERENT = 0;
const SAME = 1;
const SAME_BESIDE_HOST = 2;

/** Whether an object says what the row says, and whether there are host options beside it. */
function compare(row: Row, object: object, top: boolean): number {
  const { names, values } = row;
  let at = 0;
  let found = SAME;
  for (const name in object) {
    if (names[at] === name) {
      const value: unknown = object[name as keyof typeof object];
      const was = values[at];
      if (value !== was && !(isRow(value) && isRow(was) && compare(was as Row, value, false) !== DIFFERENT)) {
        return DIFFERENT;
      }
      at++;
    } else if (top && !counts(name)) {
      found = SAME_BESIDE_HOST;
    } else {
      return DIFFERENT;
    }
  }
  return at === names.length ? found : DIFFERENT;
}

/** Compares the latest options with these. Without a field of a policy they may be none at all, but a Map, say. */
function compareLatest(options: object): number {
  return latest !== undefined && latest.options.names.length > 0 ? compare(latest.options, options, true) : DIFFERENT;
}

/** The policy that the options describe. */
function policyOf(options: RetryOptions): Policy {
  if (!isFields(options)) throw problem(WRONG_TYPE, "options", options);
  const found = known.find((entry) => compare(entry.options, options, true) !== DIFFERENT);
  if (found === undefined) {
    latest = known[next] = { policy: made(options), options: row(options, true) };
    next = (next + 1) % REMEMBERED;
  } else {
    latest = found;
  }
  return latest.policy;
}

function made(options: RetryOptions): Policy {
  const { policy } = options;
  const fields: Record<string, unknown> = {};
  for (const name in options) {
    const value: unknown = options[name as keyof RetryOptions];
    if (isHostField(name) || value === undefined || value === null) continue;
    if (policy) throw problem(WRONG_TYPE, `${name} beside policy`, value);
    fields[name] = value;
  }
  return policy instanceof Policy ? policy : new Policy((policy ?? fields) as PolicyFields);
}

/** The policy of options that may have everything in them, all of it checked. */
function checked(options: RetryOptions): Policy {
  const policy = compareLatest(options) === DIFFERENT ? policyOf(options) : (latest as Known).policy;
  checkHost(options);
  return policy;
}

function checkWork(fn: unknown): void {
  if (typeof fn !== "function") throw problem(WRONG_TYPE, "fn", fn);
}

/**
 * Runs `fn` until it succeeds or the policy says stop; then the last error comes out as it was thrown, with its outcome
 * attached (see {@link outcomeOf}). Options that break a rule reject with a {@link ConfigError} before `fn` runs.
 */
export function retry<T>(fn: Work<T>, options?: RetryOptions): Promise<Awaited<T>> {
  try {
    checkWork(fn);
    if (options === undefined) return run(fn, (byDefault ??= new Policy()), undefined);
    if (compareLatest(options) === SAME) return run(fn, (latest as Known).policy, undefined);
    return run(fn, checked(options), options);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A function that retries `fn`, with its arguments and its `this`. Throws a {@link ConfigError} at once. */
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options: RetryOptions = {},
): (this: This, ...args: Args) => Promise<Awaited<T>> {
  checkWork(fn);
  const policy = checked(options);
  return function (this: This, ...args: Args) {
    return run(() => fn.apply(this, args as never), policy, options);
  };
}
