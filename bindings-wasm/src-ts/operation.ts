/**
 * One operation: the loop of this package. It runs attempts, waits, aborts and cancels, and calls hooks. Its {@link Engine} decides
 * each step.
 */

import { Alarm, switches } from "./alarm.js";
import { discard } from "./answers.js";
import { addAbortListener, removeAbortListener } from "./cancel.js";
import { system } from "./clock.js";
import { PERMANENT } from "./codes.js";
import { isAbortAgain } from "./error_names.js";
import { attach, ConfigError, HookError, isFinal, isUsedBody, type Outcome, remember } from "./errors.js";
import { factsOf, factsOfAnswer, factsOfTimeout, hintMs, isFailedAnswer, judge } from "./failure.js";
import type { JudgedFailure, Judgement, Verdict } from "./hooks.js";
import { askDelay, type Hooks, hasHooks, listeners, tell } from "./hooks.js";
import {
  ATTEMPT,
  Attempt,
  type AttemptToken,
  around,
  type CompiledPolicy,
  type Engine,
  type EngineStep,
  GAVE_UP,
  type HostOptions,
  promised,
  SLEEP,
  WAIT,
  type Work,
} from "./host.js";
import { isRefusal } from "./memory.js";
import { bareCopy, type Nanos } from "./values.js";
import { CAUSES, KINDS, REASONS, type StopReason } from "./words.js";

const NO_OPTIONS = {};
/** True once the console was told that wasm is refused. */
let hasWarned = false;
const nothing = () => {};
const timedOut = (text: string) => new DOMException(text, "TimeoutError");

/**
 * One operation that is watched: under guards, a limit or a signal from its beginning, otherwise from its first failure. Timers and
 * signals fire in other async contexts, so they only post functions, which the loop calls in the context of its caller.
 */
export class Operation<T> {
  private readonly engine: Engine;
  private readonly fn: Work<T>;
  private readonly policy: CompiledPolicy;
  private readonly options: HostOptions<Awaited<T>, Awaited<T>>;
  private readonly alarm: Alarm;
  /** Returns the value of the ended operation, or throws its error. */
  private ending: (() => Awaited<T>) | undefined = undefined;
  /** The attempts that the loop starts next, and the functions that it calls; `wakeLoop` wakes it. */
  private readonly inbox: (Attempt | (() => void))[] = [];
  private wakeLoop: () => void = nothing;
  /** Settles the ended operation without waiting for its hooks or its fallback any longer. */
  private finish: () => void = nothing;
  // Every field has a value from the beginning: objects of one shape are quicker.
  /** True once the end of the operation is decided. */
  ended = false;
  /** The number of the latest attempt. */
  private attempt = 0;
  private running: Attempt[] = [];
  /** The time of the next tick of the engine. */
  private wakeAt = Infinity;
  /** The attempt of another retry in which this operation runs. */
  private readonly outerAttempt: AttemptToken | undefined;
  /** The time when the operation began; undefined without hooks. */
  private beganAt: number | undefined = undefined;
  /** The number of steps that the operation has followed. */
  private steps = 0;
  /** The kind of the latest failure. */
  private kind = 0;
  /** How the latest failed attempt ended: with an error, or with a value that is no success. */
  private lastError: unknown = undefined;
  private lastResult: Awaited<T> | undefined = undefined;
  private returned = false;

  constructor(
    engine: Engine,
    fn: Work<T>,
    policy: CompiledPolicy,
    options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
    epoch?: number,
  ) {
    this.engine = engine;
    this.fn = fn;
    this.policy = policy;
    this.options = options ?? NO_OPTIONS;
    this.alarm = new Alarm(this, this.options.clock ?? system, this.options.unref, epoch);
    this.outerAttempt = this.options.token ?? around.current?.();
  }

  /** Begins with the first attempt. */
  begin(): Promise<Awaited<T>> {
    const { signal } = this.options;
    this.safely(() => {
      if (hasHooks(this.options)) this.beganAt = this.now();
      if (signal?.aborted) {
        this.giveUp("cancelled");
        return;
      }
      if (signal) addAbortListener(signal, this);
      const { limit } = this.policy;
      if (limit < Infinity) this.now();
      if (limit > 0) this.follow(this.engine.begin());
      else this.giveUp("deadline", undefined, undefined, timedOut("the deadline is over"));
    });
    return this.loop();
  }

  /** Begins with a step that the engine has just decided. */
  beginAt(step: EngineStep): Promise<Awaited<T>> {
    this.safely(() => this.follow(step));
    return this.loop();
  }

  /** Begins with the failure of the first attempt, which nothing could abort. */
  beginFailed(error: unknown, now?: number): Promise<Awaited<T>> {
    const context = new Attempt((this.attempt = 1));
    this.running.push(context);
    this.failed(context, error, false, now);
    return this.loop();
  }

  /**
   * Starts attempts and calls posted functions, in the caller's async context, until the operation has ended. It awaits the attempts
   * in completion, so that the stacks of their errors name the functions that wait for the operation.
   */
  private async loop(): Promise<Awaited<T>> {
    while (this.ending === undefined) {
      const next = this.inbox.shift();
      if (next === undefined) {
        await this.nextEvent();
        this.wakeLoop = nothing;
      } else if (typeof next === "function") this.safely(next);
      else if (this.running.includes(next)) {
        const completion = this.start(next);
        // The function of an attempt that is judged already has ended.
        if (!next.judge) next.completion = completion;
        // Often nothing else can happen meanwhile.
        if (this.running.length === 1 && !this.alarm.isSet && !this.options.signal) await completion;
      }
    }
    return this.ending();
  }

  /** Waits for the end of an attempt in completion, or for the timer or the signal. */
  private nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      this.wakeLoop = resolve;
      // V8 finds the waiting functions for a stack only where the handler is `resolve` itself.
      for (const attempt of this.running) attempt.completion?.then(resolve);
    });
  }

  /** Has the loop start an attempt or call a function. */
  post(next: Attempt | (() => void)): void {
    this.inbox.push(next);
    this.wakeLoop();
  }

  /** Leaves no timer and no listener. */
  private settle(ending: () => Awaited<T>): void {
    this.ending ??= ending;
    this.alarm.clear();
    const { signal } = this.options;
    if (signal) removeAbortListener(signal, this);
    this.wakeLoop();
  }

  /** Runs code, whose error ends the operation. */
  safely(step: () => void): void {
    try {
      step();
    } catch (raised) {
      this.raise(raised);
    }
  }

  /** An error of a hook or of the clock ends the operation. */
  private raise(error: unknown): void {
    if (!this.ended) {
      this.end();
      this.abortAll();
    }
    this.reject(error);
  }

  private reject(error: unknown): void {
    this.settle(() => {
      throw error;
    });
  }

  /** An event of an attempt. */
  private event(attempt: number, facts?: object, now = this.now()): object {
    const elapsedMs = (now - (this.beganAt as number)) / 1e6;
    return { operation: this.options.name ?? this.fn.name, attempt, elapsedMs, ...facts };
  }

  /** Tells hooks about an event. An error of theirs ends the operation. The promise of asynchronous hooks never rejects. */
  private tell(hook: keyof Hooks, attempt: number, facts?: object, wake?: () => void): Promise<unknown> | undefined {
    if (this.beganAt === undefined) return undefined;
    const failed = (error: unknown) => this.raise(new HookError(hook, error, this.lastError));
    try {
      const event = this.event(attempt, facts);
      // Events are copied to other threads, which no function can be.
      if (wake) Object.defineProperty(event, "wake", bareCopy({ value: wake }));
      return tell([this.options as Hooks, ...listeners], hook, event, failed);
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  /** Calls `next` when the hooks have ended. */
  private afterHooks(told: Promise<unknown> | false | undefined, next: () => void): void {
    if (told) told.then(() => this.safely(next));
    else next();
  }

  /** Settles after hooks; at the deadline, or when the caller's signal aborts, without them. */
  private settleAfterHooks(told: Promise<unknown> | undefined, settle: () => void): void {
    this.finish = () => {
      this.finish = nothing;
      this.alarm.clear();
      if (!this.ending) this.safely(settle);
    };
    if (!told) this.finish();
    else {
      this.armForDeadline();
      told.then(() => this.finish());
    }
  }

  follow(step: EngineStep): void {
    this.steps++;
    const { codes, at } = step;
    this.engine.follows(step);
    switch (codes & 255) {
      case ATTEMPT:
        this.wakeAt = step.wakeAt;
        this.attempt = step.attempt;
        this.announce(this.engine.context(step.attempt, at));
        break;
      case SLEEP:
      case WAIT:
        this.wakeAt = at;
        this.arm();
        break;
      default:
        if (((codes >> 8) & 255) === GAVE_UP) this.gaveUp(REASONS[(codes >> 16) & 255] as StopReason, at);
    }
  }

  private announce(attempt: Attempt): void {
    attempt.caller = this.options.signal;
    this.running.push(attempt);
    this.arm();
    if (this.beganAt === undefined) this.post(attempt);
    else this.afterHooks(this.tell("onAttempt", attempt.attempt), () => this.post(attempt));
  }

  private async start(context: Attempt): Promise<void> {
    let value: Awaited<T>;
    try {
      value = await this.engine.run(this.fn, context);
    } catch (error) {
      this.failed(context, error, false);
      return;
    }
    this.succeeded(context, value);
  }

  /** True if the operation has ended, or will by the caller's signal. */
  private get isOver(): boolean {
    return this.ended || this.isCancelled;
  }

  private get isIdempotent(): boolean {
    return this.options.idempotent ?? true;
  }

  private get isCancelled(): boolean {
    return this.options.signal?.aborted === true;
  }

  /** Removes an attempt from those whose results are awaited. Returns false if it was not one of them. */
  private stopAwaiting(attempt: Attempt): boolean {
    const running = this.running;
    const at = this.isOver ? -1 : running.indexOf(attempt);
    if (at < 0) return false;
    if (at === running.length - 1) running.pop();
    else running.splice(at, 1);
    return true;
  }

  private succeeded(context: Attempt, value: Awaited<T>): void {
    const { whenResult } = this.options;
    if (this.isOver || !this.running.includes(context)) {
      // Nobody will read it, unless the winner returned the same value.
      if (this.isOver && value !== this.lastResult) discard(value, this.alarm.clock);
      return;
    }
    this.safely(() => {
      if (whenResult) this.judgeValue(context, value, whenResult);
      else if (this.stopAwaiting(context)) this.succeed(context.attempt, value);
    });
  }

  private succeed(attempt: number, value: Awaited<T>): void {
    this.engine.succeed(attempt);
    this.setLatestEnd(undefined, value, false);
    if (this.outerAttempt) this.outerAttempt.isGivenUp = false;
    this.end();
    this.abortAll();
    this.settleAfterHooks(this.tell("onSuccess", attempt, { value }), () => this.settle(() => value));
  }

  /** Judges a value: a success, or a failure of some kind. */
  private judgeValue(context: Attempt, value: Awaited<T>, whenResult: true | ((value: Awaited<T>) => Judgement)): void {
    const { rules } = this.policy;
    const idempotent = this.isIdempotent;
    const asksAll = whenResult === true;
    this.afterVerdict(context, asksAll ? undefined : whenResult(value), (given) => {
      if (!(given ?? isFailedAnswer(value, rules, idempotent, asksAll))) {
        remember(value, undefined);
        this.succeed(context.attempt, value);
        return;
      }
      this.setLatestEnd(undefined, value, true);
      this.decide(context, given, factsOfAnswer, false, this.now());
    });
  }

  /** Calls `next` with the verdict of a predicate, if its attempt is still awaited. */
  private afterVerdict(context: Attempt, answer: Judgement, next: (verdict: Verdict) => void): void {
    const judged = (verdict: Verdict) => {
      if (this.stopAwaiting(context)) this.safely(() => next(verdict));
    };
    if (typeof (answer as PromiseLike<Verdict> | undefined)?.then !== "function") judged(answer as Verdict);
    else {
      // Its function has ended: the loop waits for the answer.
      context.completion = undefined;
      (answer as PromiseLike<Verdict>).then(judged, (raised) => {
        if (this.stopAwaiting(context)) this.raise(raised);
      });
    }
  }

  /** Judges an error: a failure of some kind, or an error of the program's own. */
  private failed(context: Attempt, error: unknown, timeout: boolean, at?: number): void {
    if (this.isOver || !this.running.includes(context)) return;
    this.safely(() => {
      if (context.attempt > 1 && isUsedBody(error)) this.failUsedBody(context);
      else this.judgeError(context, error, timeout, at);
    });
  }

  private judgeError(context: Attempt, error: unknown, timeout: boolean, at: number | undefined): void {
    const isAgain = isAbortAgain(error, this.lastError);
    this.setLatestEnd(error, undefined, false);
    const { when } = this.options;
    let now: number | undefined = at ?? this.now();
    // The user's code comes first: it may run other operations, and the core's memory is shared.
    const answer = isFinal(error) ? false : when && !timeout ? when(error) : undefined;
    const judged = (verdict: Verdict) => {
      // Meanwhile an attempt beside this one may have failed, too.
      if (now === undefined) this.setLatestEnd(error, undefined, false);
      const isDefault = verdict === undefined || verdict === null;
      const given = timeout ? undefined : isDefault && isAgain ? false : verdict;
      this.decide(context, given, timeout ? factsOfTimeout : factsOf, !timeout && isDefault, now ?? this.now());
    };
    // The error is the attempt's end, also where the predicate does not answer in time.
    if (when) context.judge = () => this.afterVerdict(context, undefined, judged);
    this.afterVerdict(context, answer, judged);
    // The time of an answer that is still to come counts.
    now = undefined;
  }

  /** The body of an attempt's request was used up by an earlier one: the earlier failure comes out, unless an attempt still runs. */
  private failUsedBody(context: Attempt): void {
    this.stopAwaiting(context);
    if (this.running.length > 0) this.decide(context, "transient", factsOf, false, this.now());
    else this.giveUp("body");
  }

  /** Remembers how an attempt ended. The value of an earlier one is of no use now, unless it was returned again or freed in the sleep. */
  private setLatestEnd(error: unknown, result: Awaited<T> | undefined, returned: boolean): void {
    if (this.returned && this.lastResult !== result && !this.engine.discardsAsleep)
      discard(this.lastResult, this.alarm.clock);
    this.lastError = error;
    this.lastResult = result;
    this.returned = returned;
  }

  /** Asks the engine for the step after a failure. `byDefault` is true if no predicate has judged it. */
  private decide(context: Attempt, verdict: Verdict, read: typeof factsOf, byDefault: boolean, now: number): void {
    // The user's code that was asked may have cancelled this.
    if (this.isOver) return;
    const error = this.lastError;
    const value = this.lastResult;
    const ended = this.returned ? value : error;
    const engine = this.engine;
    const { attempt } = context;
    const { delay } = this.options;
    let failure: JudgedFailure;
    let step: EngineStep;
    try {
      failure = judge(verdict, read, ended, this.policy.rules, this.isIdempotent);
      this.kind = failure.kind;
      // So may getters of the error.
      if (this.isOver) return;
      let exact: Nanos | undefined;
      if (delay && failure.kind !== PERMANENT)
        exact = askDelay(delay, this.event(attempt, this.failureFacts(failure), now), error);
      // So may the function of delays.
      if (this.isOver) return;
      const judged = exact === undefined ? failure : { ...failure, hint: exact };
      step =
        (byDefault && failure.kind === PERMANENT && engine.abandon(attempt, error, now)) ||
        engine.fail(context, judged, ended, now, this.alarm.epoch as number, exact !== undefined);
    } catch (refused) {
      if (!isRefusal(refused)) {
        // An answer that is no verdict.
        if (refused instanceof ConfigError && !this.returned) refused.cause ??= error;
        throw refused;
      }
      // The browser compiles small modules only: without a decision there is no other attempt.
      if (!hasWarned) console.warn((refused as ConfigError).message);
      hasWarned = true;
      this.giveUp("permanent", undefined, { engineError: refused });
      return;
    }
    const next = step.codes & 255;
    const isLast = attempt >= switches.attempts && (next === SLEEP || next === ATTEMPT);
    if (isLast) this.giveUp("attempts");
    else if (next !== SLEEP) this.follow(step);
    else if (this.options.canSend?.() === false) this.giveUp("body");
    else this.sleep(step, attempt, failure);
  }

  private failureFacts({ kind, hint }: JudgedFailure) {
    return { error: this.lastError, value: this.lastResult, kind: KINDS[kind], hint: hintMs(hint) };
  }

  /** Follows the step of a sleep, which hooks hear of before. */
  private sleep(step: EngineStep, attempt: number, failure: JudgedFailure): void {
    const value = this.lastResult;
    const steps = this.steps;
    const follow = () => {
      // The hook may have begun to read the value.
      if (this.returned && this.engine.discardsAsleep) discard(value, this.alarm.clock);
      // Meanwhile an attempt beside this one may have led to another step.
      if (!this.ended && this.steps === steps) this.follow(step);
    };
    if (this.beganAt === undefined) {
      follow();
      return;
    }
    const hurry = () => {
      if (!this.ended && this.steps - steps < 2) this.follow(this.engine.hurry(this.now()));
    };
    const delayMs = this.engine.delay(step) / 1e6;
    const facts = { ...this.failureFacts(failure), delayMs, cause: CAUSES[step.codes >>> 24] };
    const told = this.tell("onRetry", attempt, facts, () => this.post(hurry));
    if (told) this.armForDeadline();
    this.afterHooks(told, follow);
  }

  private gaveUp(reason: StopReason, at: number): void {
    const description = reason === "budget" ? this.engine.shortage() : undefined;
    this.giveUp(
      reason,
      at === Infinity ? undefined : (at - this.now()) / 1e6,
      description !== undefined && { description },
    );
  }

  /** `early` is the error of an operation that made no attempt. */
  private giveUp(
    reason: StopReason,
    retryInMs?: number,
    more?: Pick<Outcome, "description" | "engineError"> | false,
    early?: unknown,
  ): void {
    const attempt = this.attempt;
    const lastError = this.lastError;
    const lastResult = this.lastResult;
    const retryAt = retryInMs === undefined ? undefined : Date.now() + retryInMs;
    const cancelled = reason === "cancelled";
    const returned = this.returned && !cancelled;
    const value = lastResult as Awaited<T>;
    const outcome: Outcome = {
      outcome: cancelled ? reason : "gave_up",
      reason,
      attempts: attempt,
      retryAt,
      lastError,
      lastResult,
      ...more,
    };
    this.end();
    this.abortAll(cancelled ? this.options.signal : undefined);
    let error: unknown;
    if (returned) remember(value, outcome);
    else if (cancelled) error = attach(this.options.signal?.reason, outcome);
    else error = attach(attempt === 0 ? (early ?? this.engine.refused(reason, retryAt)) : lastError, outcome);
    const told = this.tell("onGiveUp", attempt, {
      error,
      value,
      kind: KINDS[this.kind] || undefined,
      reason,
      refusedBy: /^(b[ru]|l)/.test(reason) ? reason : undefined,
      retryInMs,
    });
    this.settleAfterHooks(told, () => {
      const { fallback } = this.options;
      const settle = () => {
        if (this.outerAttempt && !cancelled) this.outerAttempt.isGivenUp = true;
        if (returned) this.settle(() => value);
        else this.reject(error);
      };
      if (!fallback || returned || this.isCancelled) settle();
      else {
        promised<T>(fallback(error)).then(
          (value) => this.settle(() => value),
          (raised) => this.reject(raised),
        );
        // An abort ends the wait for it.
        this.finish = settle;
      }
    });
  }

  /** Aborts the attempts whose results are no longer awaited. */
  private abortAll(by?: AbortSignal | null): void {
    if (this.running.length === 0) return;
    const reason = by ? by.reason : new DOMException("the operation is over", "AbortError");
    for (const attempt of this.running.splice(0)) Attempt.abort(attempt, reason);
  }

  private timeOut(attempt: Attempt, now: number): void {
    const error = timedOut(`attempt ${attempt.attempt} took longer than its limit${this.alarm.clock.note ?? ""}`);
    if (attempt.judge) attempt.judge();
    else this.failed(attempt, error, true, now);
    // Only now, so that an error which the abort makes the attempt throw is no second failure.
    Attempt.abort(attempt, error);
  }

  /** The caller's signal has aborted. */
  cancel(): void {
    this.post(() => {
      if (this.ended) this.finish();
      else this.giveUp("cancelled");
    });
  }

  /** Leaves no timer and nothing that the engine has borrowed. */
  private end(): void {
    this.ended = true;
    this.alarm.clear();
    this.engine.end();
  }

  /** Sets the timer to the deadline, which ends a wait for hooks. */
  private armForDeadline(): void {
    this.wakeAt = (this.beganAt as number) + this.policy.deadline;
    this.arm(false);
  }

  /** Sets the timer to the earlier of the limit of an attempt and the next tick. */
  private arm(isSleep = this.running.length === 0): void {
    let at = this.wakeAt;
    for (const { abortAt } of this.running) at = Math.min(at, abortAt);
    this.alarm.set(at, isSleep);
  }

  /** The timer has fired. */
  wake(now: number): void {
    // An aborted attempt is no timeout.
    for (;;) {
      if (this.isCancelled && !this.ended) return;
      const over = this.running.find(({ abortAt }) => abortAt <= now);
      if (over === undefined) break;
      this.timeOut(over, now);
    }
    if (this.alarm.isSet || this.ending) return;
    if (now < this.wakeAt) this.arm(false);
    else if (this.ended) this.finish();
    else this.follow(this.engine.tick(now));
  }

  /** Nanoseconds since the epoch of this operation. */
  now(): number {
    return this.alarm.now();
  }
}
