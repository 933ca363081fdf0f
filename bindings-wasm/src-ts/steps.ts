/** An operation whose attempts and sleeps another loop makes: a client with retries of its own. */
import { answerOf } from "./answers.js";
import { system } from "./clock.js";
import { PERMANENT } from "./codes.js";
import { attach, HookError, isFinal, type Outcome, remember, unsupported } from "./errors.js";
import { checkedFailure, factsOf, factsOfAnswer, hintMs, judge } from "./failure.js";
import { askDelay, type Hooks, hasHooks, listeners, tell, type Verdict } from "./hooks.js";
import { Attempt, type CompiledPolicy, type Engine, type HostOptions, SLEEP } from "./host.js";
import { CAUSES, KINDS, REASONS, type StopReason } from "./words.js";

/** How an attempt failed: with an error, or with an answer. */
type Ended = { error: unknown; value: unknown };

/** Decides after each attempt, at once. Made by `policy.start()` when the first attempt begins. */
export class Steps {
  readonly #engine: Engine;
  readonly #policy: CompiledPolicy;
  readonly #options: HostOptions;
  readonly #epoch: number;
  #attempt = 1;
  /** The end of the sleep before the attempt that the caller makes now; undefined in the first attempt. */
  #until: number | undefined;
  #isOver = false;

  /**
   * `failures` is the number of attempts that failed before, which cost no tokens again.
   * @internal
   */
  constructor(engine: Engine, policy: CompiledPolicy, options: HostOptions, failures: number) {
    if (options.guards || policy.guards) throw unsupported("start", "has no guards but the budget: use retry for them");
    this.#policy = policy;
    this.#options = options;
    this.#engine = engine;
    this.#epoch = (options.clock ?? system).now();
    // A sleep that is said exactly is free.
    const free = checkedFailure({ kind: "transient", hint: 0 });
    for (; this.#attempt <= failures; this.#attempt++) {
      this.#engine.fail(new Attempt(this.#attempt), free, 0, 0, this.#epoch, true);
      this.#engine.tick(0);
    }
    this.#tell("onAttempt", 0);
  }

  /**
   * The attempt failed with this error, or with this HTTP answer. Returns how long to sleep before the next attempt, in milliseconds; undefined
   * if there is none: then the error or the answer has its outcome (`outcomeOf`). Hooks are not awaited.
   */
  failed(failure: unknown): { readonly delayMs: number } | undefined {
    if (this.#isOver) return undefined;
    const { when, delay, signal, idempotent, canSend } = this.#options;
    const isValue = !(failure instanceof Error) && answerOf(failure) !== undefined;
    const facts = isValue ? { error: undefined, value: failure } : { error: failure, value: undefined };
    if (signal?.aborted) return this.#giveUp("cancelled", facts, 0);
    const now = this.#begin();
    const verdict = isFinal(failure) ? false : (when?.(failure) as Verdict);
    let judged = judge(verdict, isValue ? factsOfAnswer : factsOf, failure, this.#policy.rules, idempotent ?? true);
    const { kind, hint } = judged;
    const told = { ...facts, kind: KINDS[kind], hint: hintMs(hint) };
    const answer = kind !== PERMANENT && delay ? askDelay(delay, this.#event(now, told), facts.error) : undefined;
    if (answer !== undefined) judged = { ...judged, hint: answer };
    const attempt = new Attempt(this.#attempt);
    const { codes, at } = this.#engine.fail(attempt, judged, failure, now, this.#epoch, answer !== undefined);
    if ((codes & 255) !== SLEEP) return this.#giveUp(REASONS[(codes >> 16) & 255] as StopReason, facts, kind, at - now);
    if (canSend?.() === false) return this.#giveUp("body", facts, kind);
    this.#until = at;
    const delayMs = (at - now) / 1e6;
    this.#tell("onRetry", now, { ...told, delayMs, cause: CAUSES[codes >>> 24] });
    return { delayMs };
  }

  /** The attempt succeeded. */
  succeeded(value?: unknown): void {
    if (this.#isOver) return;
    const now = this.#begin();
    this.#engine.succeed(this.#attempt);
    this.#isOver = true;
    this.#engine.end();
    this.#tell("onSuccess", now, { value });
  }

  #now(): number {
    return Math.max(Math.round(((this.#options.clock ?? system).now() - this.#epoch) * 1e6), 0);
  }

  /** Tells the engine that the sleep is over, if there was one. Returns the time. */
  #begin(): number {
    const until = this.#until;
    if (until === undefined) return this.#now();
    this.#until = undefined;
    this.#engine.tick(until);
    this.#attempt++;
    this.#tell("onAttempt", until);
    // The loop of another library may come a little early.
    return Math.max(this.#now(), until);
  }

  #event(now: number, facts?: object): object {
    return { operation: this.#options.name ?? "", attempt: this.#attempt, elapsedMs: now / 1e6, ...facts };
  }

  #tell(hook: keyof Hooks, now: number, facts?: object): void {
    if (!hasHooks(this.#options)) return;
    tell([this.#options as Hooks, ...listeners], hook, this.#event(now, facts), (error) => {
      throw new HookError(hook, error, undefined);
    });
  }

  #giveUp(reason: StopReason, { error, value }: Ended, kind: number, wait = Number.POSITIVE_INFINITY): undefined {
    const retryInMs = wait < Infinity ? wait / 1e6 : undefined;
    const retryAt = retryInMs === undefined ? undefined : Date.now() + retryInMs;
    const isCancelled = reason === "cancelled";
    const how = { reason, attempts: this.#attempt, retryAt, lastError: error, lastResult: value };
    const description = reason === "budget" ? this.#engine.shortage() : undefined;
    const why = description !== undefined && { description };
    const outcome: Outcome = { ...how, ...why, outcome: isCancelled ? reason : "gave_up" };
    this.#isOver = true;
    this.#engine.end();
    if (value === undefined) attach(error, outcome);
    else remember(value, outcome);
    const refusedBy = reason === "budget" ? reason : undefined;
    this.#tell("onGiveUp", this.#now(), { error, value, kind: KINDS[kind] || undefined, reason, refusedBy, retryInMs });
    return undefined;
  }
}
