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

function same(row: Row, object: object, top: boolean): boolean {
  const { names, values } = row;
  let at = 0;
  for (const name in object) {
    if (top && !counts(name)) continue;
    if (names[at] !== name) return false;
    const value: unknown = object[name as keyof typeof object];
    const was = values[at];
    at++;
    if (value !== was && !(isRow(value) && isRow(was) && same(was as Row, value, false))) return false;
  }
  return at === names.length;
}

/** The policy that the options describe. */
function policyOf(options: RetryOptions | undefined): Policy {
  if (options === undefined) return (byDefault ??= new Policy());
  // An object without a field of a policy may be no object of fields at all, such as a Map.
  const remembered = latest !== undefined && latest.options.names.length > 0 && same(latest.options, options, true);
  if (remembered) return (latest as Known).policy;
  if (!isFields(options)) throw problem(WRONG_TYPE, "options", options);
  for (const entry of known) {
    if (same(entry.options, options, true)) return (latest = entry).policy;
  }
  latest = known[next] = { policy: made(options), options: row(options, true) };
  next = (next + 1) % REMEMBERED;
  return latest.policy;
}

function made(options: RetryOptions): Policy {
  const { policy } = options;
  if (policy === undefined || policy === null) return new Policy(options);
  for (const name in options) {
    const value: unknown = options[name as keyof RetryOptions];
    if (!isHostField(name) && value !== undefined && value !== null)
      throw problem(WRONG_TYPE, `${name} beside policy`, value);
  }
  return policy instanceof Policy ? policy : new Policy(policy);
}

function check(fn: unknown, options: RetryOptions | undefined): void {
  if (typeof fn !== "function") throw problem(WRONG_TYPE, "fn", fn);
  if (options !== undefined) checkHost(options);
}

/**
 * Runs `fn` until it succeeds or the policy says stop; then the last error comes out as it was thrown, with its outcome
 * attached (see {@link outcomeOf}). Options that break a rule reject with a {@link ConfigError} before `fn` runs.
 */
export function retry<T>(fn: Work<T>, options?: RetryOptions): Promise<Awaited<T>> {
  let policy: Policy;
  try {
    policy = policyOf(options);
    check(fn, options);
  } catch (error) {
    return Promise.reject(error);
  }
  return run(fn, policy, options);
}

/** A function that retries `fn`, with its arguments and its `this`. Throws a {@link ConfigError} at once. */
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options?: RetryOptions,
): (this: This, ...args: Args) => Promise<Awaited<T>> {
  const policy = policyOf(options);
  check(fn, options);
  return function (this: This, ...args: Args) {
    return run(() => fn.apply(this, args as never), policy, options);
  };
}
