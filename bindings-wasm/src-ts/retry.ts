/** `retry` and `wrap`, whose options are read once for all calls that say the same. */

import type { ConfigError } from "./errors.js";
import type { PolicyFields, PresetName } from "./fields.js";
import type { GuardFields } from "./guards/fields.js";
import { type CompiledPolicy, checkedOptions, checkHost, checkWork, type HostOptions, type Work } from "./host.js";
import {
  fieldsOf,
  noGuards,
  Policy,
  policyOfCall,
  withBudgetsOf,
  withBudgetsOfCalls,
  withDeadline,
  withOthers,
} from "./policy.js";
import { run, runner } from "./run.js";
import { collect, type FieldValue, NUMBER, OTHER } from "./values.js";

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

/** A deadline of 31 years. Milliseconds that a call has left are other ones for each call: such a policy is made once for all of them. */
const FAR = 1e12;

let byDefault: Policy | undefined;

/** The policies of calls by their fields: a program has few kinds of options, and writes them anew for each call. */
const known = new Map<string, Policy>();

/** Fields as text, which no other fields have; empty with a value that may look like another one as text, such as a regular expression. */
function textOf(fields: object): string {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") text += `${name.length + name}"${value.length + value};`;
    else if (typeof value === "number") text += `${name.length + name} ${value};`;
    else {
      const values: FieldValue[] = [];
      collect(values, "", fields, NUMBER, Infinity);
      return values.some(({ kind }) => kind === OTHER) ? "" : JSON.stringify(values);
    }
  }
  return text;
}

/** The policy of calls with these fields. */
function ofCalls(policy: WithPolicy["policy"] | null | undefined, fields: PolicyFields): Policy {
  const key = textOf(policy ? { ...fields, policy } : fields);
  const found = known.get(key) ?? withBudgetsOfCalls(made(policy, fields));
  if (known.size > 99) known.clear();
  if (key) known.set(key, found);
  return found;
}

/** The policy of fields, over those of another policy or of a preset. */
function made(policy: WithPolicy["policy"] | null | undefined, fields: PolicyFields): Policy {
  if (policy === undefined || policy === null) return new Policy(fields);
  return withOthers(policy instanceof Policy ? policy : new Policy(policy), fields);
}

/** The policy of one operation, whose options may have everything in them. All of it is checked. Guards outlive an operation. */
function forOne<V, F>(options: WrapOptions<V, F>): CompiledPolicy {
  const { policy } = options;
  if (policy instanceof Policy) return policyOfCall(policy, options);
  const fields = fieldsOf(options);
  const { deadline } = fields;
  const isNumber = typeof deadline === "number";
  const base = ofCalls(policy, isNumber ? { ...fields, deadline: FAR } : fields);
  checkHost(options);
  if (base.guardFields && !options.guards && !base.guardFields.every(({ path }) => path.startsWith("nested")))
    throw noGuards("options");
  return isNumber ? (withDeadline(base, deadline) ?? withBudgetsOf(base, made(policy, fields))) : base;
}

/** The policy of a function, which has guards and budgets of its own. */
function forAll<V, F>(options: WrapOptions<V, F>): Policy {
  const policy = made(options.policy, fieldsOf(options));
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
    const own = checkedOptions(options);
    // Many say nothing but a policy, and that is quick to see.
    if (own.policy instanceof Policy && Object.keys(own).length === 1) return run(fn, own.policy, undefined);
    return run(fn, forOne(own), own);
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
  const own = checkedOptions(options);
  return wrapped(fn, forAll(own), own);
}

function wrapped<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  policy: Policy,
  options: WrapOptions<Awaited<T>, Awaited<T>>,
): Wrapped<This, Args, T> {
  const run = runner(fn, policy, checkedOptions({ ...options, name: options.name ?? fn.name }));
  const withOptions = (others: typeof options) => {
    const own = checkedOptions(others);
    return wrapped(fn, changed(policy, own), checkedOptions({ ...options, ...own }));
  };
  return Object.assign(run, { withOptions });
}

/** The policy that options make of another one. */
function changed<V, F>(policy: Policy, options: WrapOptions<V, F>): Policy {
  if (options.policy) return forAll(options);
  checkHost(options);
  return withOthers(policy, fieldsOf(options));
}
