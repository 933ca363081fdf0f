/** The engine of operations under guards: the core's guarded call, the waits for a place, and nesting. */

import { CAPACITY_OF_LOOPS, type LoopBudgets, shortage, writeTime } from "../budgets.js";
import { nanosOf, system } from "../clock.js";
import { givenUp, isSeeded, seedOf } from "../errors.js";
import { codeOf, hintBits, isProgramError } from "../failure.js";
import type { JudgedFailure } from "../hooks.js";
import { hasHooks } from "../hooks.js";
import {
  ATTEMPT,
  Attempt,
  type AttemptToken,
  around,
  type CompiledPolicy,
  currentToken,
  type Engine,
  type EngineStep,
  first,
  type HostOptions,
  STOP,
  type Work,
} from "../host.js";
import { budget } from "../hot.js";
import { Operation } from "../operation.js";
import { REFUSALS } from "../places.js";
import { bareCopy } from "../values.js";
import { REASONS, type StopReason } from "../words.js";
import type { Nesting } from "./configs.js";
import { type Guard, notifyWaiters, TURNS, type Waiter, watched } from "./guard.js";
import type { Guards } from "./guards.js";
import {
  argumentsFrom,
  core,
  loadAll,
  loadExactly,
  loadPolicy,
  memory,
  NAMES,
  readArgument,
  readPolicy,
  readStep,
  stepCodes,
  withLoopBudget,
  writeArgument,
  writeSeed,
} from "./memory.js";
import { Token, within, writeToken } from "./nested.js";

const BUDGET = 1 << NAMES.indexOf("budget");
const HEDGE = 1 << NAMES.indexOf("hedge");
const BREAKER_ALONE = 1 << NAMES.indexOf("breaker");
const NO_BUDGET = REASONS.indexOf("budget");
const FOREVER = 0xffffffff;

/** A policy's own nesting, whichever guards there are. */
const nestingOf = (policy: CompiledPolicy): Nesting | undefined =>
  policy.guardFields === undefined ? undefined : policy.guards?.nesting;

/** The budgets that loops bring beside these guards. */
const budgetsBeside = (guards: Guards, policy: CompiledPolicy): LoopBudgets | undefined =>
  guards.namesBudget ? undefined : policy.budgets;

/** An attempt that tells the retries inside it about the ones around them. */
class NestedAttempt extends Attempt {
  readonly token: Token;

  constructor(attempt: number, abortAt: number, token: Token) {
    super(attempt, abortAt);
    this.token = token;
  }
}

class Guarded<T> implements Engine, Waiter {
  readonly discardsAsleep = false;
  readonly operation: Operation<T>;
  private readonly guards: Guards;
  private readonly options: HostOptions<Awaited<T>, Awaited<T>>;
  private readonly nesting: Nesting | undefined;
  private readonly policy: CompiledPolicy;
  /** The budgets that the loop brings; undefined where there is another budget, or none. */
  private budgets: LoopBudgets | undefined;
  /** True from the first failure or tick on: until then a budget of tokens changes nothing. */
  private isBudgeted = false;
  /** The number of the latest refusal of those budgets when the operation began. */
  private readonly noted: number;
  /** The policy's words, with as many attempts as there may be inside others. */
  private words: Uint32Array;
  private parent: AttemptToken | undefined;
  /** The number of attempts of this policy, for the retries inside it. */
  private attempts = 0;
  /** The core's state; undefined until the call begins. */
  private call: Uint32Array | undefined = undefined;
  private stopped = false;
  /** Why the budget refused a retry. */
  private refusal: string | undefined = undefined;
  /** The guard at which the operation waits for others. */
  private awaited: Guard | undefined = undefined;
  /** The end of its latest sleep. */
  private until = 0;
  /** While it waits for a place: what to call with the step that ends the wait. */
  private called: ((step: () => void) => void) | undefined = undefined;

  constructor(
    guards: Guards,
    fn: Work<T>,
    policy: CompiledPolicy,
    options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
    noted?: number,
  ) {
    this.guards = guards;
    this.options = options ?? bareCopy({});
    this.policy = policy;
    this.budgets = budgetsBeside(guards, policy);
    this.noted = noted ?? this.budgets?.refusals ?? 0;
    this.words = policy.words;
    this.nesting = nestingOf(policy);
    // All operations under the same guards count from the same epoch.
    this.operation = new Operation(this, fn, policy, options, 0);
  }

  begin(): EngineStep {
    if (this.nesting) this.nest(this.nesting);
    const seed = seedOf(this.options.seed);
    return this.move(this.operation.now(), (mask) => {
      writeSeed(seed);
      memory().core.call_begin(mask);
    });
  }

  /** Takes over the call that the core has just begun; its first step is not an attempt. */
  begun(): Promise<Awaited<T>> {
    this.call = memory().copy("call");
    return this.operation.beginAt(this.readStep());
  }

  /** Goes on from the failure of the first attempt, which ran under that permit. */
  beginFailed(error: unknown, permit: number, seed?: number | bigint, started?: number): Promise<Awaited<T>> {
    let failedAt: number | undefined;
    this.operation.safely(() => {
      writeUnderway(permit, seed ?? seedOf(this.options.seed), started ?? (failedAt = this.operation.now()));
      core.call_underway();
      core.call_note(this.noted);
      this.call = memory().copy("call");
    });
    return this.operation.beginFailed(error, failedAt);
  }

  /** Inside other retries, and around others. */
  private nest({ mode, cap }: Nesting): void {
    this.parent = this.options.token ?? currentToken();
    loadPolicy(this.words);
    writeToken(this.parent);
    this.attempts = memory().core.nested_policy(mode, cap) >>> 0;
    this.words = readPolicy();
  }

  /** One transition, with everything in the core's memory. No code of the user runs meanwhile. */
  private move(now: number, transition: (mask: number) => void): EngineStep {
    const { words } = memory();
    const { budgets } = this;
    const { breaker } = this.guards;
    // An operation that may not run twice does not run twice at once (spec 29.9).
    const mask = this.options.idempotent === false ? this.guards.mask & ~HEDGE : this.guards.mask;
    loadAll(this.guards);
    loadPolicy(this.words);
    if (this.call) words.call.set(this.call);
    writeArgument(0, now);
    watched(breaker, () => {
      if (budgets && this.isBudgeted) {
        const capacity = budgets.capacity ?? CAPACITY_OF_LOOPS;
        writeTime(now);
        budgets.change(this.key, (owner, floor) => {
          budget.load(undefined);
          const state = owner.state as Uint32Array;
          const before = floor ?? state[REFUSALS];
          const isFull = withLoopBudget(state, capacity, floor, this.noted, () => transition(mask | BUDGET));
          if (state[REFUSALS] !== before) state[REFUSALS] = budgets.refused();
          budget.load(owner);
          return isFull;
        });
      } else {
        transition(mask);
      }
    });
    const { call } = memory().words;
    if (this.call) this.call.set(call);
    else this.call = call.slice();
    return this.readStep();
  }

  /** The step in the core's memory, where its breaker still is. */
  private readStep(): EngineStep {
    const turn = TURNS[core.call_turn()];
    this.awaited = turn && this.guards[turn];
    const step = readStep();
    this.until = step.at;
    return step;
  }

  private get key(): string {
    return this.options.key ?? "";
  }

  /** Has the budget of the loop take part, if the policy has one. */
  private bringBudget(): void {
    if (this.isBudgeted || this.budgets === undefined) return;
    if (this.budgets.isFor(this.policy.words)) this.isBudgeted = true;
    else this.budgets = undefined;
  }

  fail(
    context: Attempt,
    { kind, hint, rule }: JudgedFailure,
    failure: unknown,
    now: number,
    _epoch: number,
    isExact: boolean,
  ): EngineStep {
    this.bringBudget();
    const { nesting } = this;
    const inner =
      nesting !== undefined && ((context instanceof NestedAttempt && context.token.isGivenUp) || givenUp(failure));
    const judged = inner ? memory().core.nested_failure(nesting.mode, kind) : kind;
    return this.move(now, (mask) => {
      if (isExact) loadExactly();
      writeArgument(2, context.attempt);
      memory().longs[3] = hintBits(hint);
      memory().core.call_fail(mask, codeOf({ kind: judged, hint, rule }));
      const isRefused = ((stepCodes() >> 16) & 255) === NO_BUDGET && memory().core.budget_shortage(judged) === 1;
      this.refusal = isRefused ? shortage(argumentsFrom(8), 0, this.budgets ? this.key : "") : undefined;
    });
  }

  abandon(attempt: number, error: unknown, now: number): EngineStep | undefined {
    if (!isProgramError(error)) return undefined;
    return this.move(now, (mask) => {
      writeArgument(2, attempt);
      memory().core.call_abandon(mask);
    });
  }

  succeed(attempt: number): void {
    const { budgets, operation } = this;
    const { codes } = this.move(operation.now(), (mask) => {
      writeArgument(2, attempt);
      memory().core.call_succeed(mask);
    });
    this.stopped = (codes & 255) === STOP;
    if (budgets?.size && !this.isBudgeted) budgets.succeed(this.key, 0, this.options.clock ?? system);
  }

  tick(now: number): EngineStep {
    this.bringBudget();
    return this.move(now, (mask) => memory().core.call_tick(mask));
  }

  hurry(now: number): EngineStep {
    return this.move(now, (mask) => {
      memory().core.call_hurry();
      memory().core.call_tick(mask);
    });
  }

  shortage(): string | undefined {
    return this.refusal;
  }

  delay(): number {
    return readArgument(4);
  }

  context(attempt: number, abortAt: number): Attempt {
    if (!this.nesting) return new Attempt(attempt, abortAt);
    const attempts = this.attempts === FOREVER ? Infinity : this.attempts;
    return new NestedAttempt(attempt, abortAt, Token.child(this.parent, attempt, attempts));
  }

  run<R>(fn: Work<R>, context: Attempt): R {
    return context instanceof NestedAttempt ? within(context.token, () => fn(context)) : fn(context);
  }

  follows(step: EngineStep): void {
    this.stopped = (step.codes & 255) === STOP;
    this.queue();
  }

  refused(reason: StopReason, retryAt: number | undefined): Refused {
    return new Refused(reason, retryAt);
  }

  end(): void {
    if (!this.stopped && this.call) {
      this.stopped = true;
      let now = 0;
      try {
        now = this.operation.now();
      } catch {
        // Its permits go back all the same, at the latest time that it has seen.
      }
      this.move(now, (mask) => memory().core.call_cancel(mask));
    }
    this.queue();
  }

  /** Asks for the place again; whether it waits for it no longer. */
  ask(): boolean {
    const { operation, awaited, until } = this;
    if (operation.ended) return true;
    operation.safely(() => {
      const step = this.tick(operation.now());
      if (this.awaited === awaited && this.until === until) return;
      const { called } = this;
      this.called = undefined;
      awaited?.removeWaiter(this);
      called?.(() => {
        if (!operation.ended) operation.follow(step);
      });
    });
    return this.called === undefined;
  }

  /**
   * Waits for the place that the latest step waits for, and for no other. The call that gives the place back ends the wait; this
   * operation goes on in its own async context.
   */
  private queue(): void {
    const { guards, awaited } = this;
    for (const name of TURNS) if (name && guards[name] !== awaited) guards[name]?.removeWaiter(this);
    if (awaited !== undefined && this.called === undefined) {
      new Promise<() => void>((resolve) => {
        this.called = resolve;
      }).then((step) => this.operation.safely(step));
    }
    awaited?.addWaiter(this);
    notifyWaiters(guards);
  }
}

/**
 * Runs `fn` under a policy and guards. As long as nothing waits and the first attempt, which nothing can abort, succeeds
 * without being asked whether it did, the call keeps no state. If the attempt fails, the state is rebuilt.
 */
export function runUnder<T>(
  guards: Guards,
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
    !hasHooks(options) &&
    !isSeeded() &&
    nestingOf(policy) === undefined
  ) {
    return runFirstAttempt(guards, fn, policy, options);
  }
  return new Guarded(guards, fn, policy, options).operation.begin();
}

/** Under any guards that let the first attempt through at once. */
function runFirstAttempt<T>(
  guards: Guards,
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  const clock = options?.clock ?? system;
  loadAll(guards);
  // Under nothing but a closed breaker that counts failures in a row a success needs no clock and no draw.
  const isTimeless = guards.mask === BREAKER_ALONE && core.breaker_is_timeless() === 1;
  const seed = isTimeless ? 0 : seedOf(options?.seed);
  const started = isTimeless ? 0 : nanosOf(clock.now());
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
    (error) => {
      const guarded = new Guarded(guards, fn, policy, options, noted);
      return isTimeless ? guarded.beginFailed(error, permit) : guarded.beginFailed(error, permit, seed, started);
    },
    (value) => {
      let now = started;
      let broken: { error: unknown } | undefined;
      try {
        if (!isTimeless) now = nanosOf(clock.now());
      } catch (error) {
        broken = { error };
      }
      loadAll(guards);
      writeArgument(0, now);
      writeUnderway(permit, seed, started);
      core.call_succeeded(guards.mask);
      notifyWaiters(guards);
      if (budgets?.size && !broken) budgets.succeed(options?.key ?? "", 0, clock);
      if (broken) throw broken.error;
      return value;
    },
  );
}

/** Writes what is known of a call whose first attempt runs. */
function writeUnderway(permit: number, seed: number | bigint, started: number): void {
  writeSeed(seed);
  writeArgument(5, permit);
  writeArgument(6, started);
}

/**
 * A guard let no attempt begin. How it ended is attached, as to any other error. It is a `TypeError`, because `fetch` rejects with nothing
 * else, and undici takes it for one of its own errors.
 */
export class Refused extends TypeError {
  override readonly name = "Refused";
  readonly code = "ERR_HOLDOFF_REFUSED";
  /** Which guard: `breaker`, `budget`, `limiter` or `bulkhead`; or `deadline`, when one was waited for too long. */
  readonly reason: StopReason;
  /** When another try might be let through, in milliseconds like `Date.now()`; undefined when nobody knows. */
  readonly retryAt: number | undefined;
  /** The time until then, in milliseconds from the refusal. */
  readonly retryInMs: number | undefined;

  /** @internal */
  constructor(reason: StopReason, retryAt: number | undefined) {
    super(`refused: ${reason}`);
    this.reason = reason;
    this.retryAt = retryAt;
    this.retryInMs = retryAt === undefined ? undefined : Math.max(retryAt - Date.now(), 0);
  }

  /** The mark of undici's errors. */
  get [Symbol.for("undici.error.UND_ERR")](): true {
    return true;
  }
}
