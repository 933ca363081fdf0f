/** The loop: it waits, aborts, cancels and says what happened. What to do next it asks the core. */
import { discard } from "./answer.js";
import { hear, hearNoMore } from "./cancel.js";
import {
  AT,
  CALL,
  core,
  forget,
  type Keeper,
  lay,
  loadPolicy,
  NOW,
  REMAINING,
  readNumber,
  stepAttempt,
  stepCodes,
  TICKET,
  takePlace,
  wasm,
  writeNumber,
} from "./core.js";
import { attach, ConfigError, type Outcome, remember } from "./errors.js";
import { LONGEST, readHint, type Verdict, writeAnswer, writeResult, writeTimeout, writeVerdict } from "./failure.js";
import type { AttemptContext, Clock, HostOptions, Work } from "./host.js";
import type { Policy } from "./policy.js";
import { writeSeed } from "./seed.js";
import { causeWord, kindWord, reasonWord, type StopReason } from "./words.js";

/** The globals are looked up at each use, so that fake timers work. */
export const system: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** A longer `setTimeout` fires at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** An attempt's side of an abort: a controller is only made for those who ask for its signal. */
export class Attempt implements AttemptContext {
  readonly attempt: number;
  private controller: AbortController | undefined;
  private over: { reason: unknown } | undefined;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.over) this.controller.abort(this.over.reason);
    }
    return this.controller.signal;
  }

  static abort(attempt: Attempt | undefined, reason: unknown): void {
    if (attempt === undefined) return;
    attempt.over = { reason };
    attempt.controller?.abort(reason);
  }
}

/**
 * Runs `fn` under `policy`. As long as the first attempt has neither limit nor signal and succeeds without being asked
 * whether it did, this is a call and a `then`: no clock, no seed, no core.
 */
export function run<T>(fn: Work<T>, policy: Policy, options: HostOptions<Awaited<T>> | undefined): Promise<Awaited<T>> {
  if (!isPlain(policy, options)) return runWatched(fn, policy, options);
  let result: unknown;
  try {
    result = fn(new Attempt(1));
  } catch (error) {
    return new Run(fn, policy, options).rescue(error);
  }
  return promised<T>(result).then(undefined, (error: unknown) => new Run(fn, policy, options).rescue(error));
}

/**
 * A function that runs `fn` so, with its arguments and its `this`. A call that has neither shares one closure with all such:
 * beside a call and a `then` even what is allocated takes time that can be seen.
 */
export function runner<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  policy: Policy,
  options: HostOptions<Awaited<T>>,
): (this: This, ...args: Args) => Promise<Awaited<T>> {
  const work = (self: This, args: Args) => () => called(fn as never, self, args) as T;
  const rescue = (self: This, args: Args) => (error: unknown) =>
    new Run(work(self, args), policy, options).rescue(error);
  const nobody = undefined as This;
  const nothing = [] as unknown as Args;
  const workAlone = work(nobody, nothing);
  const rescueAlone = rescue(nobody, nothing);
  return function (this: This, ...args: Args) {
    const isAlone = args.length === 0 && this === undefined;
    if (!isPlain(policy, options)) return runWatched(isAlone ? workAlone : work(this, args), policy, options);
    let result: unknown;
    try {
      result = called(fn as never, this, args);
    } catch (error) {
      return rescue(this, args)(error);
    }
    return promised<T>(result).then(undefined, isAlone ? rescueAlone : rescue(this, args));
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

/** Whether nothing is asked, heard or timed before something fails. */
const isPlain = (policy: Policy, options: HostOptions<never> | undefined): boolean =>
  policy["limit"] === Infinity &&
  policy["kept"] === undefined &&
  (options === undefined || !(options.guards || options.signal || options.whenResult));

function runWatched<T>(fn: Work<T>, policy: Policy, options: HostOptions<Awaited<T>> | undefined): Promise<Awaited<T>> {
  const guards = options?.guards ?? (policy["kept"] && policy.guards);
  return guards ? guards.run(fn, policy, options) : new Run(fn, policy, options).begin();
}

const promised = <T>(result: unknown): Promise<Awaited<T>> =>
  (result instanceof Promise ? result : Promise.resolve(result)) as Promise<Awaited<T>>;

const NO_OPTIONS = {};

/** One operation whose first attempt has failed, can be aborted, or can return what is no success. */
class Run<T> implements Keeper {
  private readonly fn: Work<T>;
  private readonly policy: Policy;
  private readonly options: HostOptions<Awaited<T>>;
  private readonly clock: Clock;
  // Every field has a value from the beginning: objects of one shape are quicker.
  /** The clock's time when it was read first; the core counts nanoseconds from here. */
  private epoch: number | undefined = undefined;
  private readonly promise: Promise<Awaited<T>>;
  private resolve!: (value: Awaited<T> | PromiseLike<Awaited<T>>) => void;
  private reject!: (error: unknown) => void;

  /** The core's state, while another operation's lies on the desk. */
  state: Uint32Array | undefined = undefined;
  /** Whether the core has heard of it: from the first failure on. */
  private known = false;
  /** The number of the latest attempt. */
  private attempt = 0;
  /** Whether its result is awaited. */
  private inFlight = false;
  private running: Attempt | undefined = undefined;
  private timer: unknown = undefined;
  private signal: AbortSignal | undefined = undefined;
  private ended = false;
  /** How the latest failed attempt ended: with an error, or with a value that is no success. */
  private lastError: unknown = undefined;
  private lastResult: Awaited<T> | undefined = undefined;
  private returned = false;

  constructor(fn: Work<T>, policy: Policy, options: HostOptions<Awaited<T>> | undefined) {
    this.fn = fn;
    this.policy = policy;
    this.options = options ?? NO_OPTIONS;
    this.clock = this.options.clock ?? system;
    this.promise = new Promise<Awaited<T>>((resolve, reject) => {
      this.resolve = resolve as typeof this.resolve;
      this.reject = reject;
    });
  }

  /** From the first attempt on. */
  begin(): Promise<Awaited<T>> {
    const limit = this.policy["limit"];
    if (this.listen()) this.start(1, limit, limit === Infinity ? 0 : this.now());
    return this.promise;
  }

  /** From the failure of the first attempt on, which nobody could abort. */
  rescue(error: unknown): Promise<Awaited<T>> {
    this.attempt = 1;
    this.inFlight = true;
    this.failed(1, error, false);
    return this.promise;
  }

  /** Hears the caller's signal from now on; false when it has already said no. */
  private listen(): boolean {
    const { signal } = this.options;
    if (!signal) return true;
    this.signal = signal;
    if (signal.aborted) {
      this.cancel();
      return false;
    }
    hear(signal, this);
    return true;
  }

  private start(attempt: number, abortAt: number, now: number): void {
    this.attempt = attempt;
    this.inFlight = true;
    const context = new Attempt(attempt);
    this.running = context;
    if (abortAt !== Infinity) this.wake(abortAt, now);
    let result: T;
    try {
      result = this.fn(context);
    } catch (error) {
      this.failed(attempt, error, false);
      return;
    }
    promised<T>(result).then(
      (value) => this.succeeded(attempt, value),
      (error: unknown) => this.failed(attempt, error, false),
    );
  }

  private succeeded(attempt: number, value: Awaited<T>): void {
    if (!this.awaits(attempt)) return;
    const { whenResult } = this.options;
    if (whenResult) this.asked(value, whenResult);
    else this.succeed(value);
  }

  private succeed(value: Awaited<T>): void {
    this.end();
    this.resolve(value);
  }

  /** Whether a value is a success, or else what failure. */
  private asked(value: Awaited<T>, whenResult: true | ((value: Awaited<T>) => Verdict)): void {
    this.rest();
    const rules = this.policy["rules"];
    const idempotent = this.options.idempotent ?? true;
    try {
      const judge = whenResult === true;
      const verdict = judge ? writeAnswer(value, rules, idempotent) !== 0 : whenResult(value);
      if (this.ended) return;
      if (!verdict) {
        remember(value, undefined);
        this.succeed(value);
        return;
      }
      this.failedWith(undefined, value, true);
      const now = this.now();
      const kind = judge ? writeAnswer(value, rules, idempotent) : writeResult(verdict, value);
      this.decide(kind, now);
    } catch (raised) {
      this.end();
      this.reject(raised);
    }
  }

  private failed(attempt: number, error: unknown, timeout: boolean, now = this.now()): void {
    if (!this.awaits(attempt)) return;
    this.rest();
    this.failedWith(error, undefined, false);
    const { when } = this.options;
    const idempotent = this.options.idempotent ?? true;
    const rules = this.policy["rules"];
    try {
      // The user's code comes first: it may run other operations, and the core has one desk.
      const verdict = when && !timeout ? when(error) : undefined;
      if (this.ended) return;
      const kind = timeout ? writeTimeout(error, rules, idempotent) : writeVerdict(verdict, error, rules, idempotent);
      this.decide(kind, now);
    } catch (raised) {
      // A hook's own error, or what it answered is no verdict.
      if (raised instanceof ConfigError && raised.cause === undefined) raised.cause = error;
      this.end();
      this.reject(raised);
    }
  }

  private failedWith(error: unknown, result: Awaited<T> | undefined, returned: boolean): void {
    this.lastError = error;
    this.lastResult = result;
    this.returned = returned;
  }

  private awaits(attempt: number): boolean {
    return this.inFlight && this.attempt === attempt;
  }

  /** Nothing is in flight, and nothing wakes it. */
  private rest(): void {
    this.inFlight = false;
    this.sleepNoMore();
  }

  /** Asks the core about a failure of which its kind is known, and its hint written. */
  private decide(kind: number, failedAt: number): void {
    // The user's code that was asked may have cancelled this.
    if (this.ended) return;
    const { onRetry, seed } = this.options;
    let now = failedAt;
    wasm();
    if (this.known) {
      lay(CALL, this);
    } else {
      writeSeed(seed);
      writeNumber(NOW, 0);
      takePlace(CALL, this);
      core.call_underway();
      this.known = true;
    }
    const hint = onRetry ? readHint() : undefined;
    writeNumber(TICKET, this.attempt);
    writeNumber(NOW, now);
    loadPolicy(this.policy["words"]);
    core.call_fail(kind);
    const codes = stepCodes();
    const at = readNumber(AT);
    if ((codes & 255) === SLEEP && (onRetry || this.returned)) {
      const { attempt, lastError: error, lastResult: result } = this;
      const delay = readNumber(REMAINING) / 1e6;
      const cause = causeWord(codes >>> 24);
      onRetry?.({ attempt, error, result, failure: kindWord(kind), hint, delay, cause });
      // The hook may have begun to read it.
      if (this.returned) discard(result);
      if (this.ended) return;
      now = this.now();
    }
    this.follow(codes, at, this.attempt, now);
  }

  private tick(now: number): void {
    writeNumber(NOW, now);
    loadPolicy(this.policy["words"]);
    lay(CALL, this);
    core.call_tick();
    this.follow(stepCodes(), readNumber(AT), stepAttempt(), now);
  }

  /** Does what the core says. */
  private follow(codes: number, at: number, attempt: number, now: number): void {
    switch (codes & 255) {
      case ATTEMPT:
        this.start(attempt, at, now);
        break;
      case SLEEP:
        this.wake(at, now);
        break;
      default:
        this.gaveUp(reasonWord((codes >> 16) & 255), at, now);
    }
  }

  private gaveUp(reason: StopReason, at: number, now: number): void {
    const retryAt = at === Infinity ? undefined : Date.now() + (at - now) / 1e6;
    const { attempt: attempts, lastError, lastResult } = this;
    const outcome: Outcome = { outcome: "gave_up", reason, attempts, retryAt, lastError, lastResult };
    if (this.returned) {
      const value = lastResult as Awaited<T>;
      remember(value, outcome);
      this.succeed(value);
    } else {
      this.fail(lastError, outcome);
    }
  }

  private timedOut(now: number): void {
    const { running, attempt } = this;
    const error = new DOMException(`attempt ${attempt} took longer than its limit`, "TimeoutError");
    this.failed(attempt, error, true, now);
    // Only now, so that what the operation does about it is no second failure.
    Attempt.abort(running, error);
  }

  /** The caller's signal has aborted. */
  cancel(): void {
    if (this.ended) return;
    const { running, inFlight, lastError, lastResult, attempt: attempts } = this;
    const word = "cancelled";
    const reason: unknown = this.signal?.reason;
    this.fail(reason, { outcome: word, reason: word, attempts, retryAt: undefined, lastError, lastResult });
    if (inFlight) Attempt.abort(running, reason);
  }

  private fail(error: unknown, outcome: Outcome): void {
    this.end();
    settle(error, outcome, this.options, this.resolve, this.reject);
  }

  /** Leaves nothing behind: no timer, no listener. */
  private end(): void {
    this.ended = true;
    forget(CALL, this);
    this.rest();
    if (this.signal) hearNoMore(this.signal, this);
  }

  private sleepNoMore(): void {
    if (this.timer !== undefined) {
      this.clock.clearTimeout(this.timer);
      this.timer = undefined;
    }
  }

  /** Goes on at a time, however far off, and never before it: an attempt is over its limit, or a sleep is over. */
  private wake(at: number, now: number): void {
    const milliseconds = Math.min(Math.max(Math.ceil((at - now) / 1e6), 0), LONGEST_TIMER);
    this.timer = this.clock.setTimeout(() => {
      this.timer = undefined;
      const now = this.now();
      if (now < at) this.wake(at, now);
      else if (this.inFlight) this.timedOut(now);
      else this.tick(now);
    }, milliseconds);
  }

  /** Nanoseconds since the clock was read first; a clock that answers nonsense stands still. */
  private now(): number {
    const time = this.clock.now();
    this.epoch ??= time;
    const nanos = Math.round((time - this.epoch) * 1e6);
    return nanos > 0 ? Math.min(nanos, LONGEST) : 0;
  }
}

/** What an operation that did not succeed comes to: its error, or what stands for it. */
export function settle<V>(
  error: unknown,
  outcome: Outcome,
  { fallback }: HostOptions<V>,
  resolve: (value: V | PromiseLike<V>) => void,
  reject: (error: unknown) => void,
): void {
  const last = attach(error, outcome);
  if (!fallback || outcome.outcome !== "gave_up") {
    reject(last);
    return;
  }
  try {
    resolve(fallback(last) as V | PromiseLike<V>);
  } catch (raised) {
    reject(raised);
  }
}

export const ATTEMPT = 1;
export const SLEEP = 2;
