/** The loop under guards: as that without, but attempts may run side by side, and what the guards lent always comes back. */
import { discard } from "../answer.js";
import { hear, hearNoMore } from "../cancel.js";
import { readBigint, SPAN } from "../core.js";
import { attach, ConfigError, type Outcome, outcomeOf, remember } from "../errors.js";
import { isOwn, readHint, type Verdict, writeAnswer, writeResult, writeTimeout, writeVerdict } from "../failure.js";
import type { Clock, HostOptions, Work } from "../host.js";
import type { Policy } from "../policy.js";
import { ATTEMPT, Attempt, LONGEST_TIMER, SLEEP, settle, system } from "../run.js";
import { causeWord, kindWord, reasonWord, type StopReason } from "../words.js";
import type { Bulkhead, Waiter } from "./bulkhead.js";
import {
  core,
  desk,
  give,
  giveSeed,
  got,
  layPolicy,
  nanosOf,
  type Seed,
  seedOf,
  stepAt,
  stepAttempt,
  stepCodes,
  stepWakeAt,
  takePolicy,
} from "./desk.js";
import type { Guards } from "./guards.js";
import { layAll } from "./guards.js";
import { currentToken, layToken, type Nesting, Token, within } from "./nested.js";
import { Refused } from "./refused.js";

const WAIT = 3;
const STOP = 4;
const BULKHEAD = 7;

/** A policy's own nesting, whichever guards there are. */
export const nestingOf = (policy: Policy): Nesting | undefined =>
  policy["kept"] === undefined ? undefined : policy.guards?.nesting;

/** An attempt in flight: when it is over its limit, and what runs inside it is told. */
class Flight extends Attempt {
  readonly abortAt: number;
  readonly token?: Token;

  constructor(attempt: number, abortAt: number, token: Token | undefined) {
    super(attempt);
    this.abortAt = abortAt;
    if (token) this.token = token;
  }
}

/** One operation under guards. */
export class Guarded<T> implements Waiter {
  private readonly guards: Guards;
  private readonly fn: Work<T>;
  private readonly policy: Policy;
  private readonly options: HostOptions<Awaited<T>>;
  private readonly clock: Clock;
  private readonly nesting: Nesting | undefined;
  /** The policy's words, with as many attempts as there may be inside others. */
  private words: Uint32Array;
  private parent: Token | undefined;
  /** How many attempts there may be, for those inside. */
  private attempts = 0;
  private readonly promise: Promise<Awaited<T>>;
  private resolve!: (value: Awaited<T> | PromiseLike<Awaited<T>>) => void;
  private reject!: (error: unknown) => void;

  private call: Uint32Array | undefined;
  /** The core has said that it is over. */
  private stopped = false;
  /** Nobody waits for it any more. */
  private ended = false;
  /** How many attempts were started. */
  private attempt = 0;
  private readonly flying = new Map<number, Flight>();
  /** When to tick. */
  private wakeAt = Infinity;
  /** In the bulkhead's queue: what to call with the step that ends the wait. */
  private called: ((step: () => void) => void) | undefined;
  private timer: unknown;
  private signal: AbortSignal | undefined;
  /** How the latest failed attempt ended: with an error, or with a value that is no success. */
  private lastError: unknown;
  private lastResult: Awaited<T> | undefined;
  private returned = false;

  constructor(guards: Guards, fn: Work<T>, policy: Policy, options: HostOptions<Awaited<T>> | undefined) {
    this.guards = guards;
    this.fn = fn;
    this.policy = policy;
    this.options = options ?? {};
    this.clock = this.options.clock ?? system;
    this.words = policy["words"];
    this.nesting = nestingOf(policy);
    this.promise = new Promise<Awaited<T>>((resolve, reject) => {
      this.resolve = resolve as typeof this.resolve;
      this.reject = reject;
    });
  }

  /** From its beginning on. */
  begin(): Promise<Awaited<T>> {
    const { signal } = this.options;
    if (signal) {
      this.signal = signal;
      if (signal.aborted) {
        this.stopped = true;
        this.cancel();
        return this.promise;
      }
      hear(signal, this);
    }
    this.safely(() => {
      if (this.nesting) this.nest(this.nesting);
      const seed = seedOf(this.options.seed);
      const now = this.now();
      this.move(now, () => {
        giveSeed(seed);
        desk().core.call_begin(this.guards.mask);
      });
      this.followStep(now);
    });
    return this.promise;
  }

  /** From where the core has just begun it, and its first step is none to run an attempt. */
  begun(started: number): Promise<Awaited<T>> {
    this.call = desk().taken("call");
    this.safely(() => this.followStep(started));
    return this.promise;
  }

  /** From the failure of its first attempt on, which has that permit. */
  rescue(error: unknown, permit: number, seed: Seed | undefined, started: number | undefined): Promise<Awaited<T>> {
    let now = started ?? 0;
    this.safely(() => {
      // What it holds is known first, whatever the clock does.
      if (started === undefined) now = this.now();
      giveSeed(seed ?? seedOf(this.options.seed));
      give(5, permit);
      give(6, started ?? now);
      core.call_underway();
      this.call = desk().taken("call");
      this.attempt = 1;
      this.flying.set(1, new Flight(1, Infinity, undefined));
      this.failed(1, error, false, started === undefined ? now : this.now());
    });
    return this.promise;
  }

  /** Inside other retries, and around others. */
  private nest({ mode, cap }: Nesting): void {
    this.parent = this.options.token ?? currentToken();
    layPolicy(this.words);
    layToken(this.parent);
    this.attempts = desk().core.nested_policy(mode, cap) >>> 0;
    this.words = takePolicy();
  }

  /** One transition, with everything on the desk. Nothing of the user's runs meanwhile. */
  private move(now: number, transition: () => void): void {
    const { words } = desk();
    layAll(this.guards);
    layPolicy(this.words);
    if (this.call) words.call.set(this.call);
    give(0, now);
    transition();
    const { call } = desk().words;
    if (this.call) this.call.set(call);
    else this.call = call.slice();
  }

  private followStep(now: number): void {
    this.follow(stepCodes(), stepAt(), stepWakeAt(), stepAttempt(), now);
  }

  /** Does what the core says. */
  private follow(codes: number, at: number, wakeAt: number, attempt: number, now: number): void {
    const { bulkhead } = this.guards;
    const queued = (codes & 255) === SLEEP && codes >>> 24 === BULKHEAD;
    if (queued && bulkhead) this.join(bulkhead);
    else bulkhead?.part(this);
    bulkhead?.stir();
    switch (codes & 255) {
      case ATTEMPT:
        this.wakeAt = wakeAt;
        this.start(attempt, at, now);
        break;
      case SLEEP:
      case WAIT:
        this.wakeAt = at;
        this.arm(now);
        break;
      default:
        this.stopped = true;
        if (((codes >> 8) & 255) === GAVE_UP) this.gaveUp(reasonWord((codes >> 16) & 255), at, now);
    }
  }

  private start(attempt: number, abortAt: number, now: number): void {
    this.attempt = attempt;
    let token: Token | undefined;
    if (this.nesting) {
      token = Token.child(this.parent, attempt, this.attempts === FOREVER ? Infinity : this.attempts);
    }
    const context = new Flight(attempt, abortAt, token);
    this.flying.set(attempt, context);
    this.arm(now);
    let result: T;
    try {
      result = token ? within(token, () => this.fn(context)) : this.fn(context);
    } catch (error) {
      this.failed(attempt, error, false);
      return;
    }
    Promise.resolve(result).then(
      (value) => this.safely(() => this.succeeded(attempt, value)),
      (error: unknown) => this.safely(() => this.failed(attempt, error, false)),
    );
  }

  /** An error of the clock ends the operation, as one of a hook does. */
  private safely(step: () => void): void {
    try {
      step();
    } catch (raised) {
      this.raise(raised);
    }
  }

  /** Whether the result of an attempt is of interest; from then on it is not. */
  private lands(attempt: number): boolean {
    return !this.ended && this.flying.delete(attempt);
  }

  private succeeded(attempt: number, value: Awaited<T>): void {
    if (!this.lands(attempt)) {
      // Nobody will read it, unless it is what the winner returned, too.
      if (this.ended && value !== this.lastResult) discard(value);
      return;
    }
    const { whenResult } = this.options;
    if (whenResult) this.asked(attempt, value, whenResult);
    else this.succeed(attempt, value);
  }

  private succeed(attempt: number, value: Awaited<T>): void {
    const now = this.now();
    this.move(now, () => {
      give(2, attempt);
      desk().core.call_succeed(this.guards.mask);
    });
    this.stopped = (stepCodes() & 255) === STOP;
    this.drop(value);
    this.failedWith(undefined, value, false);
    this.end();
    this.abortAll();
    this.resolve(value);
  }

  /** Whether a value is a success, or else what failure. */
  private asked(attempt: number, value: Awaited<T>, whenResult: true | ((value: Awaited<T>) => Verdict)): void {
    const rules = this.policy["rules"];
    const idempotent = this.options.idempotent ?? true;
    try {
      const judge = whenResult === true;
      const verdict = judge ? writeAnswer(value, rules, idempotent) !== 0 : whenResult(value);
      if (this.ended) return;
      if (!verdict) {
        remember(value, undefined);
        this.succeed(attempt, value);
        return;
      }
      this.drop(value);
      this.failedWith(undefined, value, true);
      const now = this.now();
      const kind = judge ? writeAnswer(value, rules, idempotent) : writeResult(verdict, value);
      this.decide(attempt, kind, now);
    } catch (raised) {
      this.raise(raised);
    }
  }

  private failed(attempt: number, error: unknown, timeout: boolean, now = this.now()): void {
    if (!this.lands(attempt)) return;
    this.drop();
    this.failedWith(error, undefined, false);
    const { when } = this.options;
    const idempotent = this.options.idempotent ?? true;
    const rules = this.policy["rules"];
    try {
      // The user's code comes first: it may run other operations, and the core has one desk.
      const verdict = when && !timeout ? when(error) : undefined;
      if (this.ended) return;
      if (!timeout && (verdict === undefined || verdict === null) && isOwn(error)) {
        this.abandon(attempt, now);
        return;
      }
      const kind = timeout ? writeTimeout(error, rules, idempotent) : writeVerdict(verdict, error, rules, idempotent);
      const inner = this.nesting !== undefined && outcomeOf(error)?.outcome === "gave_up";
      const judged = inner ? desk().core.nested_failure((this.nesting as Nesting).mode, kind) : kind;
      this.decide(attempt, judged, now);
    } catch (raised) {
      // A hook's own error, or what it answered is no verdict.
      if (raised instanceof ConfigError && raised.cause === undefined) raised.cause = error;
      this.raise(raised);
    }
  }

  /** The value that an earlier attempt returned is nobody's now, unless it was returned again. */
  private drop(again?: Awaited<T>): void {
    if (this.returned && this.lastResult !== again) discard(this.lastResult);
  }

  private failedWith(error: unknown, result: Awaited<T> | undefined, returned: boolean): void {
    this.lastError = error;
    this.lastResult = result;
    this.returned = returned;
  }

  private abandon(attempt: number, now: number): void {
    this.move(now, () => {
      give(2, attempt);
      desk().core.call_abandon(this.guards.mask);
    });
    this.followStep(now);
  }

  /** Asks the core about a failure of which its kind is known, and its hint written. */
  private decide(attempt: number, kind: number, failedAt: number): void {
    // The user's code that was asked may have cancelled this.
    if (this.ended) return;
    let now = failedAt;
    const { onRetry } = this.options;
    const hint = onRetry ? readHint() : undefined;
    const said = readBigint(SPAN);
    this.move(now, () => {
      give(2, attempt);
      desk().longs[3] = said;
      desk().core.call_fail(this.guards.mask, kind);
    });
    const [codes, at, wakeAt, next] = [stepCodes(), stepAt(), stepWakeAt(), stepAttempt()];
    if (onRetry && (codes & 255) === SLEEP) {
      const { lastError: error, lastResult: result } = this;
      const delay = got(4) / 1e6;
      onRetry({ attempt, error, result, failure: kindWord(kind), hint, delay, cause: causeWord(codes >>> 24) });
      if (this.ended) return;
      now = this.now();
    }
    this.follow(codes, at, wakeAt, next, now);
  }

  private tick(now: number): void {
    this.move(now, () => desk().core.call_tick(this.guards.mask));
    this.followStep(now);
  }

  /** Asks for a place in the bulkhead again; whether it waits no longer. */
  ask(): boolean {
    if (this.ended) return true;
    this.safely(() => {
      const now = this.now();
      this.move(now, () => desk().core.call_tick(this.guards.mask));
      const codes = stepCodes();
      if ((codes & 255) === SLEEP && codes >>> 24 === BULKHEAD) return;
      const [at, wakeAt, attempt] = [stepAt(), stepWakeAt(), stepAttempt()];
      const { called } = this;
      this.called = undefined;
      this.guards.bulkhead?.part(this);
      called?.(() => {
        if (!this.ended) this.follow(codes, at, wakeAt, attempt, now);
      });
    });
    return this.called === undefined;
  }

  /** In the queue, from now on. Whoever leaves the bulkhead calls, and what follows runs in the context of this one. */
  private join(bulkhead: Bulkhead): void {
    if (this.called === undefined) {
      new Promise<() => void>((resolve) => {
        this.called = resolve;
      }).then((step) => this.safely(step));
    }
    bulkhead.join(this);
  }

  private gaveUp(reason: StopReason, at: number, now: number): void {
    const retryAt = at === Infinity ? undefined : Date.now() + (at - now) / 1e6;
    const { attempt: attempts, lastError, lastResult } = this;
    const outcome: Outcome = { outcome: "gave_up", reason, attempts, retryAt, lastError, lastResult };
    this.end();
    this.abortAll();
    if (this.returned) {
      const value = lastResult as Awaited<T>;
      remember(value, outcome);
      this.resolve(value);
      return;
    }
    const error = attempts === 0 ? new Refused(reason, retryAt) : lastError;
    settle(error, outcome, this.options, this.resolve, this.reject);
  }

  /** A hook's error ends the operation. */
  private raise(error: unknown): void {
    if (!this.ended) {
      this.end();
      this.abortAll();
    }
    this.reject(error);
  }

  /** What still runs is of no interest. */
  private abortAll(): void {
    if (this.flying.size === 0) return;
    const flights = [...this.flying.values()];
    this.flying.clear();
    for (const flight of flights) Attempt.abort(flight, new DOMException("the operation is over", "AbortError"));
  }

  private timedOut(flight: Flight, now: number): void {
    const error = new DOMException(`attempt ${flight.attempt} took longer than its limit`, "TimeoutError");
    this.failed(flight.attempt, error, true, now);
    // Only now, so that what the operation does about it is no second failure.
    Attempt.abort(flight, error);
  }

  /** The caller's signal has aborted. */
  cancel(): void {
    if (this.ended) return;
    const { lastError, lastResult, attempt: attempts } = this;
    const word = "cancelled";
    const reason: unknown = this.signal?.reason;
    const flights = [...this.flying.values()];
    this.end();
    this.flying.clear();
    const outcome: Outcome = { outcome: word, reason: word, attempts, retryAt: undefined, lastError, lastResult };
    this.reject(attach(reason, outcome));
    for (const flight of flights) Attempt.abort(flight, reason);
  }

  /** Leaves nothing behind: no timer, no listener, nothing that the guards have lent. */
  private end(): void {
    this.ended = true;
    this.sleepNoMore();
    if (this.signal) hearNoMore(this.signal, this);
    if (!this.stopped && this.call) {
      this.stopped = true;
      let now = 0;
      try {
        now = this.now();
      } catch {
        // What it holds goes back all the same, at the time that it has last seen.
      }
      this.move(now, () => desk().core.call_cancel(this.guards.mask));
    }
    this.guards.bulkhead?.part(this);
    this.guards.bulkhead?.stir();
  }

  private sleepNoMore(): void {
    if (this.timer !== undefined) {
      this.clock.clearTimeout(this.timer);
      this.timer = undefined;
    }
  }

  /** Sets the timer to what comes first: the limit of an attempt, or the time to tick. */
  private arm(now: number): void {
    this.sleepNoMore();
    let at = this.wakeAt;
    for (const { abortAt } of this.flying.values()) at = Math.min(at, abortAt);
    if (at === Infinity) return;
    const milliseconds = Math.min(Math.max(Math.ceil((at - now) / 1e6), 0), LONGEST_TIMER);
    this.timer = this.clock.setTimeout(() => {
      this.timer = undefined;
      this.safely(() => this.wake(this.now()));
    }, milliseconds);
  }

  private wake(now: number): void {
    for (const flight of [...this.flying.values()]) {
      if (flight.abortAt <= now && this.flying.has(flight.attempt)) this.timedOut(flight, now);
    }
    if (this.ended || this.timer !== undefined) return;
    if (now >= this.wakeAt) this.tick(now);
    else this.arm(now);
  }

  /** Nanoseconds by the clock, which all operations under these guards must share. */
  private now(): number {
    return nanosOf(this.clock.now());
  }
}

const GAVE_UP = 2;
const FOREVER = 0xffffffff;
