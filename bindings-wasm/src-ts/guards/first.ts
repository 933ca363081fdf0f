/**
 * First attempts under guards. Most succeed, so what their calls would need to go on is put together only when they fail.
 */
import { around } from "../around.js";
import { first } from "../attempt.js";
import type { LoopBudgets } from "../budgets.js";
import { type Clock, nanosOf, system } from "../clock.js";
import { ATTEMPT } from "../engine_step.js";
import { isHeard } from "../hooks.js";
import type { CompiledPolicy, HostOptions, Work } from "../host.js";
import { isSeeded, seedOf } from "../seed.js";
import type { Breaker, Success } from "./breaker.js";
import { budgetsBeside, Guarded, nestingOf, notifyWaiters, type SharedGuards } from "./engine.js";
import { core, loadAll, loadPolicy, permitOf, stepCodes, succeeded, writeArgument, writeSeed } from "./memory.js";

/**
 * Runs `fn` under a policy and guards. As long as nothing waits and the first attempt, which nothing can abort, succeeds
 * without being asked whether it did, the call keeps no state. If the attempt fails, the state is rebuilt.
 */
export function runUnder<T>(
  guards: SharedGuards,
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  if (
    guards.isQuick &&
    policy.limit === Infinity &&
    !options?.signal &&
    !options?.whenResult &&
    !options?.token &&
    !around.current?.() &&
    !isHeard(options) &&
    !isSeeded() &&
    nestingOf(policy) === undefined
  ) {
    const { only } = guards;
    if (only) {
      const permit = permitOf(only);
      if (permit !== -1) return light(guards, only, permit, fn, policy, options);
    } else {
      return quick(guards, fn, policy, options);
    }
  }
  return new Guarded(guards, fn, policy, options).operation.begin();
}

/** Under nothing but a closed breaker, which needs no clock until something fails. */
function light<T>(
  guards: SharedGuards,
  breaker: Breaker,
  permit: number,
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  const budgets = budgetsBeside(guards, policy);
  const noted = budgets?.refusals;
  const failed = (error: unknown) =>
    new Guarded(guards, fn, policy, options, noted).rescue(error, permit, undefined, undefined);
  return first(fn, failed, successOf(breaker, permit, options?.clock ?? system, budgets, options?.key ?? ""));
}

/** Records a success under a closed breaker; the function is the same for all calls under the same permit. */
function successOf(
  breaker: Breaker,
  permit: number,
  clock: Clock,
  budgets: LoopBudgets | undefined,
  key: string,
): Success["then"] {
  const known = breaker.success;
  if (
    known !== undefined &&
    known.permit === permit &&
    known.clock === clock &&
    known.budgets === budgets &&
    known.key === key
  ) {
    return known.then;
  }
  const then = <V>(value: V): V => {
    if (breaker.asksWhen) writeArgument(0, nanosOf(clock.now()));
    succeeded(breaker, permit, breaker.asksWhen);
    if (budgets?.size) budgets.succeed(key, 0, clock);
    return value;
  };
  breaker.success = { permit, clock, budgets, key, then };
  return then;
}

/** Under any guards that let the first attempt through at once. */
function quick<T>(
  guards: SharedGuards,
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  const clock = options?.clock ?? system;
  const seed = seedOf(options?.seed);
  const started = nanosOf(clock.now());
  loadAll(guards);
  loadPolicy(policy.words);
  writeArgument(0, started);
  writeSeed(seed);
  core.call_begin(guards.mask);
  if ((stepCodes() & 255) !== ATTEMPT) return new Guarded(guards, fn, policy, options).begun();
  const permit = core.call_permit() >>> 0;
  const budgets = budgetsBeside(guards, policy);
  const noted = budgets ? budgets.refusals : core.call_noted();
  return first(
    fn,
    (error) => new Guarded(guards, fn, policy, options, noted).rescue(error, permit, seed, started),
    (value) => {
      let now = started;
      let broken: { error: unknown } | undefined;
      try {
        now = nanosOf(clock.now());
      } catch (error) {
        broken = { error };
      }
      loadAll(guards);
      writeArgument(0, now);
      writeSeed(seed);
      writeArgument(5, permit);
      writeArgument(6, started);
      core.call_succeeded(guards.mask);
      notifyWaiters(guards);
      if (budgets?.size && !broken) budgets.succeed(options?.key ?? "", 0, clock);
      if (broken) throw broken.error;
      return value;
    },
  );
}
