/**
 * Running a function under a policy. As long as the first attempt has neither limit nor signal and succeeds without being asked
 * whether it did, this is a call and a `then`: no clock, no seed, no core.
 */
import { around } from "./around.js";
import { first, promised } from "./attempt.js";
import type { LoopBudgets } from "./budgets.js";
import { system } from "./clock.js";
import { Unguarded } from "./engine.js";
import { isHeard } from "./hooks.js";
import type { CompiledPolicy, HostOptions, Work } from "./host.js";
import { Operation } from "./operation.js";

export function run<T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  if (!needsNoCore(policy, options)) return runWatched(fn, policy, options);
  const noted = refusalsOf(policy);
  return first(fn, (error) => operation(fn, policy, options, noted).rescue(error), rewardOf(policy, options));
}

/** The number of the latest refusal of the policy's budgets. */
const refusalsOf = (policy: CompiledPolicy): number => policy.budgets?.refusals ?? 0;

/** Tells the policy's budgets of a success; undefined while none of them lacks tokens. */
const rewardOf = <V>(policy: CompiledPolicy, options: HostOptions<V, V> | undefined): ((value: V) => V) | undefined =>
  policy.budgets?.size ? rewardBy(policy.budgets, options) : undefined;

const rewardBy =
  <V>(budgets: LoopBudgets, options: HostOptions<V, V> | undefined) =>
  (value: V) => {
    budgets.succeed(options?.key ?? "", 0, options?.clock ?? system);
    return value;
  };

/**
 * A function that runs `fn` so, with its arguments and its `this`. A call that has neither shares one closure with all such:
 * beside a call and a `then` even what is allocated takes time that can be seen.
 */
export function runner<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>>,
): (this: This, ...args: Args) => Promise<Awaited<T>> {
  const work = (self: This, args: Args) => () => called(fn as never, self, args) as T;
  const rescue = (self: This, args: Args, noted: number) => (error: unknown) =>
    operation(work(self, args), policy, options, noted).rescue(error);
  const nobody = undefined as This;
  const nothing = [] as unknown as Args;
  const workAlone = work(nobody, nothing);
  let latest = refusalsOf(policy);
  let rescueAlone = rescue(nobody, nothing, latest);
  return function (this: This, ...args: Args) {
    const isAlone = args.length === 0 && this === undefined;
    if (!needsNoCore(policy, options)) return runWatched(isAlone ? workAlone : work(this, args), policy, options);
    const noted = refusalsOf(policy);
    if (isAlone && noted !== latest) {
      latest = noted;
      rescueAlone = rescue(nobody, nothing, noted);
    }
    const failed = isAlone ? rescueAlone : rescue(this, args, noted);
    let result: unknown;
    try {
      result = called(fn as never, this, args);
    } catch (error) {
      return failed(error);
    }
    return promised<T>(result).then(rewardOf(policy, options), failed);
  };
}

/** To apply a list takes as long as all the rest that is done around a call. */
function called(fn: (...args: unknown[]) => unknown, self: unknown, args: readonly unknown[]): unknown {
  switch (args.length) {
    case 0:
      return fn.call(self);
    case 1:
      return fn.call(self, args[0]);
    case 2:
      return fn.call(self, args[0], args[1]);
    default:
      return fn.apply(self, args as unknown[]);
  }
}

/** True if nothing is asked, heard or timed before something fails. */
const needsNoCore = <V, F>(policy: CompiledPolicy, options: HostOptions<V, F> | undefined): boolean =>
  policy.limit === Infinity &&
  policy.guardFields === undefined &&
  (options === undefined || !(options.guards || options.signal || options.whenResult || options.token)) &&
  !around.current?.() &&
  !isHeard(options);

function runWatched<T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  const guards = options?.guards ?? (policy.guardFields && policy.guards);
  return guards ? guards.run(fn, policy, options) : operation(fn, policy, options, refusalsOf(policy)).begin();
}

const operation = <T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
  noted: number,
): Operation<T> =>
  new Operation(new Unguarded(policy, policy.limit, options?.seed, options, noted), fn, policy, options);
