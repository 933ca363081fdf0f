/** `retry` and `wrap`, whose options are read once for all calls that say the same. */

import { type ConfigError, wrongType } from "./errors.js";
import type { PolicyFields, PresetName } from "./fields.js";
import type { GuardFields } from "./guards/fields.js";
import {
  type CompiledPolicy,
  checkHost,
  checkWork,
  type HostOptions,
  isHostField,
  OPTIONS,
  type Work,
} from "./host.js";
import { fieldsOf, noGuards, Policy, policyOfCall, withBudgetsOf, withBudgetsOfCalls, withDeadline } from "./policy.js";
import { run, runner } from "./run.js";
import { isFields } from "./values.js";

/** A policy that was made before, its fields, or the name of a preset; fields beside it replace those of the policy. */
type WithPolicy = { policy: Policy | PolicyFields | PresetName };

/** The fields of a policy, and how to run the calls of one function, which share the guards among the fields. */
export type WrapOptions<V = unknown, F = unknown extends V ? never : V> = HostOptions<V, F> &
  PolicyFields &
  (WithPolicy | { policy?: null | undefined });

/** A policy or its fields, and how to run one operation. Guards outlive an operation: they are in a policy or in `guards`. */
export type RetryOptions<V = unknown, F = unknown extends V ? never : V> = HostOptions<V, F> &
  Omit<PolicyFields, keyof GuardFields> &
  (WithPolicy | { policy?: null | undefined; budget?: "none" | "default" | number | null | undefined });

/** The names and values of an object as they were, objects in it included. */
interface Row {
  readonly list: boolean;
  readonly names: string[];
  readonly values: unknown[];
}

interface Known {
  readonly options: Row;
  readonly policy: Policy;
  /** The same with the deadline of the latest of such options. */
  latest: CompiledPolicy;
  deadline: unknown;
}

/** Stands for any number: a deadline may be another for each request. */
const ANY = Symbol();
/** A deadline of 31 years. */
const FAR = 1e12;

/** A program has few kinds of options. A program with more builds policies more often, which takes microseconds. */
const REMEMBERED = 16;
const known: Known[] = [];
let next = 0;
let latest: Known | undefined;
let byDefault: Policy | undefined;

const isRow = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !(value instanceof Policy);

function row(object: object, top: boolean): Row {
  const names: string[] = [];
  const values: unknown[] = [];
  for (const name in object) {
    if (top && isHostField(name)) continue;
    const value: unknown = object[name as keyof typeof object];
    names.push(name);
    if (top && name === "deadline" && typeof value === "number") values.push(ANY);
    else values.push(isRow(value) ? row(value, false) : value);
  }
  return { list: Array.isArray(object), names, values };
}

const isSame = (value: unknown, was: unknown): boolean =>
  value === was || (isRow(value) && isRow(was) && says(value, was as Row, false));

/** True if an object has the same fields as the row; host options may differ from call to call. */
function says(object: object, { list, names, values }: Row, top: boolean): boolean {
  if (Array.isArray(object) !== list) return false;
  let at = 0;
  for (const name in object) {
    if (names[at] === name) {
      const value: unknown = object[name as keyof typeof object];
      const was = values[at++];
      if (was === ANY ? typeof value !== "number" : !isSame(value, was)) return false;
    } else if (!(top && isHostField(name))) {
      return false;
    }
  }
  // Without a field it may be no object of fields at all, but a Map, say.
  return at === names.length && (at > 0 || list || isFields(object));
}

/** The entry of such options when the latest ones were others, a new one for options that no entry has. */
function find<V, F>(options: WrapOptions<V, F>): Known {
  if (!isFields(options)) throw wrongType("options", options, OPTIONS);
  latest = known.find((entry) => says(options, entry.options, true));
  if (latest === undefined) {
    // One of a number is another for each call: it may even be over.
    const isNumber = typeof options.deadline === "number";
    const dated = isNumber ? Object.create(options, { deadline: { value: FAR, enumerable: true } }) : options;
    const policy = withBudgetsOfCalls(made(dated));
    latest = known[next] = {
      policy,
      options: row(options, true),
      latest: policy,
      deadline: isNumber ? FAR : undefined,
    };
    next = (next + 1) % REMEMBERED;
  }
  return latest;
}

/** The policy of options that may differ from known ones in their deadline alone. */
function dated<V, F>(entry: Known, options: WrapOptions<V, F>): CompiledPolicy {
  const { deadline } = options;
  if (entry.deadline !== deadline && typeof deadline === "number") {
    const { policy } = entry;
    entry.latest = withDeadline(policy, deadline) ?? withBudgetsOf(policy, made(options));
    entry.deadline = deadline;
  }
  return entry.latest;
}

function made<V, F>(options: WrapOptions<V, F>): Policy {
  const { policy } = options;
  const fields = fieldsOf(options);
  if (policy === undefined || policy === null) return new Policy(fields);
  const base = policy instanceof Policy ? policy : new Policy(policy);
  return Object.keys(fields).length > 0 ? base.withFields(fields) : base;
}

/** The policy of options that have nothing else in them: what many say, and quick to see. */
function onlyPolicy<V, F>(options: WrapOptions<V, F>): Policy | undefined {
  const policy = options?.policy;
  if (!(policy instanceof Policy) || options.constructor !== Object) return undefined;
  for (const name in options) if (name !== "policy") return undefined;
  return policy;
}

/** The entry of such options. */
const knownOf = <V, F>(options: WrapOptions<V, F>): Known =>
  latest !== undefined && says(options, latest.options, true) ? latest : find(options);

/** True if options bring guards that are in no `Policy`. */
function bringsGuards<V, F>(policy: CompiledPolicy, options: WrapOptions<V, F>): boolean {
  const { guardFields } = policy;
  if (guardFields === undefined || guardFields instanceof Uint32Array) return false;
  if (options.policy === policy || options.guards) return false;
  return !guardFields.every(({ path }) => path.startsWith("nested"));
}

/** The policy of one operation, whose options may have everything in them. All of it is checked. Guards outlive an operation. */
function forOne<V, F>(options: WrapOptions<V, F>): CompiledPolicy {
  if (options?.policy instanceof Policy) return policyOfCall(options.policy, options);
  const policy = dated(knownOf(options), options);
  checkHost(options);
  if (!bringsGuards(policy, options)) return policy;
  throw noGuards("options");
}

/** The policy of a function, which has guards and budgets of its own. */
function forAll<V, F>(options: WrapOptions<V, F>): Policy {
  if (!isFields(options)) throw wrongType("options", options, OPTIONS);
  const policy = made(options);
  checkHost(options);
  return policy;
}

/**
 * Runs `fn` until it succeeds or the policy says stop; then the last error comes out as it was thrown, with its outcome
 * attached (see {@link outcomeOf}), or the last value that `whenResult` refused. Options that break a rule reject with a {@link ConfigError} before `fn` runs.
 */
export function retry<T>(fn: Work<T>, options?: RetryOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
  try {
    checkWork(fn);
    if (options === undefined) return run(fn, (byDefault ??= withBudgetsOfCalls(new Policy())), undefined);
    const policy = onlyPolicy(options);
    return policy ? run(fn, policy, undefined) : run(fn, forOne(options), options);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A function that retries another one, with its arguments and its `this`. */
export interface Wrapped<This, Args extends readonly unknown[], T> {
  (this: This, ...args: Args): Promise<Awaited<T>>;
  /**
   * The same function with these options and fields instead of its own. The others stay, and so do the budget for retries and the guards.
   * Throws a {@link ConfigError} at once.
   */
  withOptions(options: WrapOptions<Awaited<T>, Awaited<T>>): Wrapped<This, Args, T>;
}

/** An asynchronous function, overloads and type parameters included. */
type Asynchronous = (...args: never[]) => Promise<unknown>;

/** A function that retries `fn`, with its arguments and its `this`. Throws a {@link ConfigError} at once. */
export function wrap<F extends Asynchronous>(
  fn: F,
  options?: WrapOptions<Awaited<ReturnType<F>>, Awaited<ReturnType<F>>>,
): F & Pick<Wrapped<ThisParameterType<F>, Parameters<F>, ReturnType<F>>, "withOptions">;
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options?: WrapOptions<Awaited<T>, Awaited<T>>,
): Wrapped<This, Args, T>;
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options: WrapOptions<Awaited<T>, Awaited<T>> = {},
): Wrapped<This, Args, T> {
  checkWork(fn);
  return wrapped(fn, forAll(options), options);
}

function wrapped<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  policy: Policy,
  options: WrapOptions<Awaited<T>, Awaited<T>>,
): Wrapped<This, Args, T> {
  const named = { value: options.name ?? fn.name, enumerable: true };
  const run = runner(fn, policy, Object.create(options, { name: named }) as typeof options);
  const withOptions = (others: typeof options) =>
    wrapped(fn, changed(policy, others), { ...options, ...others } as typeof options);
  return Object.assign(run, { withOptions });
}

/** The policy that options make of another one. */
function changed<V, F>(policy: Policy, options: WrapOptions<V, F>): Policy {
  if (!isFields(options)) throw wrongType("options", options, OPTIONS);
  if (options.policy) return forAll(options);
  checkHost(options);
  const fields = fieldsOf(options);
  return Object.keys(fields).length > 0 ? policy.withFields(fields) : policy;
}
