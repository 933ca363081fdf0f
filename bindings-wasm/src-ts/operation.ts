/**
 * One operation: the loop of this package. It runs attempts, waits, aborts, cancels and says what happened; what to do next it
 * asks its {@link Engine}.
 */
import { discard } from "./answer.js";
import { Attempt } from "./attempt.js";
import { hear, hearNoMore } from "./cancel.js";
import { ahead, type Clock, LONGEST_TIMER, skip, stoodStill, system } from "./clock.js";
import { PERMANENT } from "./codes.js";
import { askDelay } from "./delay.js";
import { ATTEMPT, type Engine, GAVE_UP, SLEEP, type Step, WAIT } from "./engine_step.js";
import { isAbortAgain } from "./error_names.js";
import { attach, ConfigError, HookError, type Outcome, remember } from "./errors.js";
import {
  isFailedAnswer,
  type Judgement,
  LONGEST_NUMBER,
  readHint,
  type Verdict,
  writeAnswer,
  writeResult,
  writeTimeout,
  writeVerdict,
} from "./failure.js";
import { type Hooks, isHeard, listeners } from "./hooks.js";
import type { CompiledPolicy, HostOptions, Work } from "./host.js";
import { isRefusal } from "./module.js";
import { switches } from "./switches.js";
import { CAUSES, KINDS, REASONS, type StopReason } from "./words.js";

export const promised = <T>(result: unknown): Promise<Awaited<T>> =>
  (result instanceof Promise ? result : Promise.resolve(result)) as Promise<Awaited<T>>;

/** Runs the first attempt of an operation that nothing can abort. */
export function first<T>(
  fn: Work<T>,
  failed: (error: unknown) => Promise<Awaited<T>>,
  succeeded: ((value: Awaited<T>) => Awaited<T>) | undefined,
): Promise<Awaited<T>> {
  let result: unknown;
  try {
    result = fn(new Attempt(1));
  } catch (error) {
    return failed(error);
  }
  return promised<T>(result).then(succeeded, failed);
}

const NO_OPTIONS = {};
/** True once the console was told that wasm is refused. */
let hasWarned = false;
const nothing = () => {};

/** One operation that is watched: under guards, a limit or a signal from its beginning, otherwise from its first failure. */
export class Operation<T> {
  private readonly engine: Engine;
  private readonly fn: Work<T>;
  private readonly policy: CompiledPolicy;
  private readonly options: HostOptions<Awaited<T>, Awaited<T>>;
  private readonly clock: Clock;
  /** How the operation ended. */
  private ending: { value: Awaited<T> | PromiseLike<Awaited<T>> } | { error: unknown } | undefined = undefined;
  /** The attempts that the loop has to start, and the function that wakes it. */
  private readonly starting: Attempt[] = [];
  private turn: () => void = nothing;
  // Every field has a value from the beginning: objects of one shape are quicker.
  /** The clock's time, in milliseconds, from which nanoseconds are counted; undefined until the clock is read first. */
  private epoch: number | undefined;
  /** True once the operation is settled. */
  ended = false;
  /** The number of the latest attempt. */
  private attempt = 0;
  private running: Attempt[] = [];
  /** When to tick. */
  private wakeAt = Infinity;
  private timer: unknown = undefined;
  /** The time at which the timer is due. */
  private due = 0;
  /** The time at which it was set. */
  private setAt = 0;
  /** How far the host's time was ahead of its clock then. */
  private aheadAt = 0;
  private signal: AbortSignal | undefined = undefined;
  /** When the operation began, if anybody is told about it. */
  private begun: number | undefined = undefined;
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
    this.clock = this.options.clock ?? system;
    this.epoch = epoch;
  }

  /** From its beginning on. */
  begin(): Promise<Awaited<T>> {
    const { signal } = this.options;
    if (signal) this.signal = signal;
    this.safely(() => {
      if (isHeard(this.options)) this.begun = this.now();
      if (signal?.aborted) {
        this.cancel();
        return;
      }
      if (signal) hear(signal, this);
      if (this.policy.limit < Infinity) this.now();
      this.follow(this.engine.begin());
    });
    return this.loop();
  }

  /** From a step on that the engine has just decided. */
  goOn(step: Step): Promise<Awaited<T>> {
    this.safely(() => this.follow(step));
    return this.loop();
  }

  /** From the failure of the first attempt on, which nobody could abort. */
  rescue(error: unknown, now?: number): Promise<Awaited<T>> {
    this.attempt = 1;
    this.judge(1, error, false, now);
    return this.loop();
  }

  /**
   * Starts the attempts, in the caller's async context, until the operation has ended. It awaits those in flight, so that the stacks
   * of their errors name the functions that wait for the operation.
   */
  private async loop(): Promise<Awaited<T>> {
    while (this.ending === undefined) {
      const attempt = this.starting.shift();
      if (attempt === undefined) await this.change();
      else if (!this.running.includes(attempt)) continue;
      else if (this.running.length > 1 || this.timer !== undefined || this.signal) this.start(attempt);
      else {
        // Nothing can interrupt it.
        let value: Awaited<T>;
        try {
          value = await this.engine.run(this.fn, attempt);
        } catch (error) {
          this.failed(attempt.attempt, error, false);
          continue;
        }
        this.succeeded(attempt.attempt, value);
      }
    }
    if ("error" in this.ending) throw this.ending.error;
    return this.ending.value;
  }

  /** Waits for the end of an attempt in flight, or for the timer or the signal. */
  private change(): Promise<void> {
    return new Promise((resolve) => {
      this.turn = resolve;
      // V8 finds the waiting functions for a stack only where the handler is `resolve` itself.
      for (const attempt of this.running) Attempt.flight(attempt)?.then(resolve);
    });
  }

  private settle(ending: NonNullable<typeof this.ending>): void {
    this.ending ??= ending;
    this.turn();
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
    this.settle({ error });
  }

  /** An event of an attempt. */
  private event(attempt: number, facts?: object, now = this.now()): object {
    const elapsedMs = (now - (this.begun as number)) / 1e6;
    return { operation: this.options.name ?? this.fn.name, attempt, elapsedMs, ...facts };
  }

  /** Tells hooks about an event. An error of theirs ends the operation. The promise of asynchronous hooks never rejects. */
  private tell(hook: keyof Hooks, attempt: number, facts?: object): Promise<unknown> | undefined {
    if (this.begun === undefined) return undefined;
    const failed = (error: unknown) => this.raise(new HookError(hook, error, this.lastError));
    try {
      const event = this.event(attempt, facts);
      const all = [this.options as Hooks, ...listeners];
      const answers = all.map((hooks) => hooks[hook]?.(event as never) as Promise<unknown> | undefined);
      if (answers.some((answer) => answer?.then)) return Promise.all(answers).catch(failed);
    } catch (error) {
      failed(error);
    }
    return undefined;
  }

  /** Goes on after hooks. */
  private after(told: Promise<unknown> | false | undefined, next: () => void): void {
    if (told) told.then(() => this.safely(next));
    else next();
  }

  follow(step: Step): void {
    this.steps++;
    const { codes, at } = step;
    this.engine.follows(step);
    switch (codes & 255) {
      case ATTEMPT:
        this.wakeAt = step.wakeAt;
        this.attempt = step.attempt;
        this.launch(this.engine.context(step.attempt, at));
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

  private launch(attempt: Attempt): void {
    this.running.push(attempt);
    this.arm();
    if (this.begun === undefined) this.ready(attempt);
    else this.after(this.tell("onAttempt", attempt.attempt), () => this.ready(attempt));
  }

  private ready(attempt: Attempt): void {
    this.starting.push(attempt);
    this.turn();
  }

  private start(context: Attempt): void {
    const { attempt } = context;
    let result: T;
    try {
      result = this.engine.run(this.fn, context);
    } catch (error) {
      this.failed(attempt, error, false);
      return;
    }
    const flight = promised<T>(result).then(
      (value) => this.succeeded(attempt, value),
      (error: unknown) => this.failed(attempt, error, false),
    );
    Attempt.flies(context, flight);
  }

  /** True if the result of an attempt is awaited; from then on it is not. */
  private lands(attempt: number): boolean {
    if (this.ended) return false;
    const { running } = this;
    const at = running.findIndex((one) => one.attempt === attempt);
    if (at < 0) return false;
    if (at === running.length - 1) running.pop();
    else running.splice(at, 1);
    return true;
  }

  private succeeded(attempt: number, value: Awaited<T>): void {
    if (!this.lands(attempt)) {
      // Nobody will read it, unless the winner returned the same value.
      if (this.ended && value !== this.lastResult) discard(value);
      return;
    }
    const { whenResult } = this.options;
    try {
      if (whenResult) this.asked(attempt, value, whenResult);
      else this.succeed(attempt, value);
    } catch (raised) {
      this.raise(raised);
    }
  }

  private succeed(attempt: number, value: Awaited<T>): void {
    this.engine.succeed(attempt);
    this.failedWith(undefined, value, false);
    this.end();
    this.abortAll();
    if (this.begun === undefined) this.settle({ value });
    else this.after(this.tell("onSuccess", attempt, { value }), () => this.settle({ value }));
  }

  /** Judges a value: a success, or a failure of some kind. */
  private asked(attempt: number, value: Awaited<T>, whenResult: true | ((value: Awaited<T>) => Judgement)): void {
    const rules = this.policy.rules;
    const idempotent = this.options.idempotent ?? true;
    const asksAll = whenResult === true;
    this.answered(asksAll ? undefined : whenResult(value), (given) => {
      if (this.ended) return;
      const isUsual = given === undefined || given === null;
      const verdict = isUsual ? isFailedAnswer(value, rules, idempotent, asksAll) : given;
      if (!verdict) {
        remember(value, undefined);
        this.succeed(attempt, value);
        return;
      }
      this.failedWith(undefined, value, true);
      const now = this.now();
      const write = () => (isUsual ? writeAnswer(value, rules, idempotent) : writeResult(verdict, value));
      this.decide(attempt, write, false, now);
    });
  }

  /** Goes on with the answer of a predicate. */
  private answered(answer: Judgement, next: (verdict: Verdict) => void): void {
    if (typeof (answer as PromiseLike<Verdict> | undefined)?.then !== "function") next(answer as Verdict);
    else {
      (answer as PromiseLike<Verdict>).then(
        (verdict) => this.safely(() => next(verdict)),
        (raised) => this.ended || this.raise(raised),
      );
    }
  }

  private failed(attempt: number, error: unknown, timeout: boolean, now?: number): void {
    if (this.lands(attempt)) this.judge(attempt, error, timeout, now);
  }

  /** Judges an error: a failure of some kind, or an error of the program's own. */
  private judge(attempt: number, error: unknown, timeout: boolean, at?: number): void {
    const isAgain = isAbortAgain(error, this.lastError);
    this.failedWith(error, undefined, false);
    const { when } = this.options;
    const idempotent = this.options.idempotent ?? true;
    const rules = this.policy.rules;
    let now = at;
    const judged = (verdict: Verdict) => {
      // Meanwhile an attempt beside this one may have failed, too.
      if (now === undefined && !this.ended) this.failedWith(error, undefined, false);
      const write = () =>
        timeout
          ? writeTimeout(error, rules, idempotent)
          : writeVerdict(verdict ?? (isAgain ? false : undefined), error, rules, idempotent);
      try {
        this.decide(attempt, write, !timeout && (verdict === undefined || verdict === null), now ?? this.now());
      } catch (raised) {
        // An answer that is no verdict.
        if (raised instanceof ConfigError && raised.cause === undefined) raised.cause = error;
        this.raise(raised);
      }
    };
    this.safely(() => {
      now ??= this.now();
      // The user's code comes first: it may run other operations, and the core's memory is shared.
      if (when && !timeout) this.answered(when(error), judged);
      else judged(undefined);
      // The time of an answer that is still to come counts.
      now = undefined;
    });
  }

  /** Remembers how an attempt ended. The value that an earlier one returned is of no use now, unless it was returned again. */
  private failedWith(error: unknown, result: Awaited<T> | undefined, returned: boolean): void {
    if (this.returned && this.lastResult !== result) discard(this.lastResult);
    this.lastError = error;
    this.lastResult = result;
    this.returned = returned;
  }

  /** Asks the engine about a failure. `write` writes its hint and returns its kind; by default if nobody else has judged it. */
  private decide(attempt: number, write: () => number, byDefault: boolean, now: number): void {
    // The user's code that was asked may have cancelled this.
    if (this.ended) return;
    const { lastError: error, engine } = this;
    let hint: ReturnType<typeof readHint>;
    let step: Step;
    try {
      const kind = (this.kind = write());
      // So may getters of the error.
      if (this.ended) return;
      if (this.begun !== undefined) hint = readHint();
      const isExact = kind !== PERMANENT && this.asksDelay(attempt, hint, now);
      // So may the function of delays.
      if (this.ended) return;
      step =
        (byDefault && kind === PERMANENT && engine.abandon(attempt, error, now)) ||
        engine.fail(attempt, kind, error, now, this.epoch as number, isExact);
    } catch (refused) {
      if (!isRefusal(refused)) throw refused;
      // The browser compiles small modules only: without a decision there is no other attempt.
      if (!hasWarned) console.warn((refused as ConfigError).message);
      hasWarned = true;
      this.giveUp({ reason: "permanent", retryAt: undefined, engineError: refused });
      return;
    }
    const next = step.codes & 255;
    const isLast = attempt >= switches.attempts && (next === SLEEP || next === ATTEMPT);
    if (isLast || next !== SLEEP) {
      if (isLast) this.giveUp({ reason: "attempts", retryAt: undefined });
      else this.follow(step);
      return;
    }
    const { steps, lastResult: value } = this;
    const told =
      this.begun !== undefined &&
      this.tell("onRetry", attempt, {
        error,
        value,
        kind: KINDS[this.kind],
        hint,
        delayMs: engine.delay(step) / 1e6,
        cause: CAUSES[step.codes >>> 24],
      });
    this.after(told, () => {
      // The hook may have begun to read the value.
      if (this.returned && engine.discardsAsleep) discard(value);
      // Meanwhile an attempt beside this one may have led to another step.
      if (!this.ended && this.steps === steps) this.follow(step);
    });
  }

  /** Asks the user's function of delays; true if its answer is the failure's hint now. */
  private asksDelay(attempt: number, hint: ReturnType<typeof readHint>, now: number): boolean {
    const { delay } = this.options;
    if (!delay) return false;
    const { lastError: error, lastResult: value } = this;
    return askDelay(delay, this.event(attempt, { error, value, kind: KINDS[this.kind], hint }, now), error);
  }

  private gaveUp(reason: StopReason, at: number): void {
    const description = reason === "budget" ? this.engine.shortage() : undefined;
    const retryInMs = at === Infinity ? undefined : (at - this.now()) / 1e6;
    const retryAt = retryInMs === undefined ? undefined : Date.now() + retryInMs;
    this.giveUp({ reason, retryAt, ...(description !== undefined && { description }) }, retryInMs);
  }

  private giveUp(
    ending: Pick<Outcome, "reason" | "retryAt" | "description" | "engineError">,
    retryInMs?: number | undefined,
  ): void {
    const { attempt, lastError, lastResult } = this;
    const { reason, retryAt } = ending;
    const cancelled = reason === "cancelled";
    const returned = this.returned && !cancelled;
    const value = lastResult as Awaited<T>;
    const outcome: Outcome = {
      outcome: cancelled ? reason : "gave_up",
      attempts: attempt,
      lastError,
      lastResult,
      ...ending,
    };
    this.end();
    this.abortAll(cancelled ? this.signal : undefined);
    let error: unknown;
    if (returned) remember(value, outcome);
    else if (cancelled) error = attach(this.signal?.reason, outcome);
    else error = attach(attempt === 0 ? this.engine.refused(reason, retryAt) : lastError, outcome);
    const told = this.tell("onGiveUp", attempt, {
      error,
      value,
      kind: KINDS[this.kind] || undefined,
      reason,
      refusedBy: /^[bl]/.test(reason) ? reason : undefined,
      retryInMs,
    });
    this.after(told, () => {
      const { fallback } = this.options;
      if (this.ending) return;
      if (returned) this.settle({ value });
      else if (fallback && !cancelled) {
        this.settle({ value: fallback(error) as Awaited<T> | PromiseLike<Awaited<T>> });
      } else this.settle({ error });
    });
  }

  /** Aborts attempts whose results are of no interest. */
  private abortAll(by?: AbortSignal): void {
    if (this.running.length === 0) return;
    const reason = by ? by.reason : new DOMException("the operation is over", "AbortError");
    for (const attempt of this.running.splice(0)) Attempt.abort(attempt, reason);
  }

  private timedOut(attempt: Attempt, now: number): void {
    const text = `attempt ${attempt.attempt} took longer than its limit${this.clock.note ?? ""}`;
    const error = new DOMException(text, "TimeoutError");
    this.failed(attempt.attempt, error, true, now);
    // Only now, so that an error which the abort makes the attempt throw is no second failure.
    Attempt.abort(attempt, error);
  }

  /** The caller's signal has aborted. */
  cancel(): void {
    if (!this.ended) this.giveUp({ reason: "cancelled", retryAt: undefined });
  }

  /** Leaves no timer, no listener and nothing that the engine has borrowed. */
  private end(): void {
    this.ended = true;
    this.disarm();
    if (this.signal) hearNoMore(this.signal, this);
    this.engine.end();
  }

  private disarm(): void {
    if (this.timer !== undefined) {
      this.clock.clearTimeout(this.timer);
      this.timer = undefined;
    }
  }

  /** Sets the timer to what comes first: the limit of an attempt, or the time to tick. */
  private arm(): void {
    this.disarm();
    let at = this.wakeAt;
    for (const { abortAt } of this.running) at = Math.min(at, abortAt);
    if (at === Infinity) return;
    if (switches.skipsSleeps && this.running.length === 0)
      this.epoch = (this.epoch as number) - Math.max(at - this.now(), 0) / 1e6;
    const now = this.now();
    const milliseconds = Math.min(Math.max(Math.ceil((at - now) / 1e6), 0), LONGEST_TIMER);
    this.setAt = now;
    this.aheadAt = ahead;
    this.due = Math.min(at, now + milliseconds * 1e6);
    // A clock of a test may call back at once: then the wait ends in a turn of its own, so that no stack grows.
    let isSet = false;
    this.timer = this.clock.setTimeout(() => {
      if (isSet) this.wake();
      else queueMicrotask(() => this.wake());
    }, milliseconds);
    isSet = true;
    if (this.options.unref) (this.timer as { unref?(): void } | undefined)?.unref?.();
  }

  private wake(): void {
    if (this.ended) return;
    this.timer = undefined;
    try {
      let now = this.now();
      const { due, setAt } = this;
      // Time that another operation has skipped is not the clock's.
      const skipped = this.clock === system ? (ahead - this.aheadAt) * 1e6 : 0;
      if (now < due && stoodStill(now - setAt - skipped, due - setAt)) {
        const milliseconds = (due - now) / 1e6;
        if (this.clock === system) skip(milliseconds);
        else this.epoch = (this.epoch as number) - milliseconds;
        now = due;
      }
      const isOver = ({ abortAt }: Attempt): boolean => abortAt <= now;
      for (let over = this.running.find(isOver); over; over = this.running.find(isOver)) this.timedOut(over, now);
      if (this.ended || this.timer !== undefined) return;
      if (now >= this.wakeAt) this.follow(this.engine.tick(now));
      else this.arm();
    } catch (raised) {
      this.raise(raised);
    }
  }

  /** Nanoseconds since the epoch of this operation. A clock that answers nonsense stands still. */
  now(): number {
    const time = this.clock.now();
    this.epoch ??= time;
    const nanos = Math.round((time - this.epoch) * 1e6);
    return nanos > 0 ? Math.min(nanos, LONGEST_NUMBER) : 0;
  }
}
