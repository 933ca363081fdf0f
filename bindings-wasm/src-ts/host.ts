/** Options of the host: how to run, watch and cancel one operation. */
import type { LoopBudgets } from "./budgets.js";
import { follow } from "./cancel.js";
import type { Clock } from "./clock.js";
import { isSeed, problem, SEED_RANGE, wrongType } from "./errors.js";
import type { PolicyFields } from "./fields.js";
import type { GuardFields as Sections } from "./guards/fields.js";
import type { DelayAnswer, DelayEvent, Hooks, JudgedFailure, Judgement } from "./hooks.js";
import type { Rules } from "./options.js";
import { bareCopy, type GuardField, isFields } from "./values.js";
import type { StopReason } from "./words.js";

/** The context of an attempt. */
export interface AttemptContext {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /**
   * Aborts when the attempt is over its limit, and whenever the option `signal` does, also after the operation: then it ends the reading
   * of a body or of a stream. Pass it on to `fetch` and the like.
   */
  readonly signal: AbortSignal;
  /**
   * Hands out a body that can be sent once: a stream or a generator. A second attempt that asks for it ends the operation with reason
   * `body`, instead of sending an empty body, and the earlier failure comes out.
   */
  readonly once: <B>(body: B) => B;
  /** The token for a retry inside this attempt; only under a policy with `nested`. */
  readonly token?: AttemptToken;
}

/** Runs operations under guards: the `Guards` of `holdoff/guards`. */
export interface Guarding {
  run<T>(fn: Work<T>, policy: CompiledPolicy, options?: HostOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>>;
}

/** The guards of a policy: the `Guards` of `holdoff/guards`, whose import completes this type. */
export interface GuardSet extends Guarding {}

/** A policy that the core has checked: every `Policy` is one. */
export interface CompiledPolicy {
  /** How long the first attempt may take, in milliseconds, or Infinity. */
  readonly firstLimit: number;
  /** The guards that all operations under the policy share. */
  readonly guards: GuardSet | undefined;
  /**
   * The policy as the core reads it, made of its numbers.
   * @internal
   */
  readonly words: Uint32Array;
  /**
   * The time that an operation may take, in nanoseconds; Infinity for no limit.
   * @internal
   */
  readonly deadline: number;
  /**
   * The first attempt's limit in nanoseconds.
   * @internal
   */
  readonly limit: number;
  /**
   * Its rules.
   * @internal
   */
  readonly rules: Rules | undefined;
  /**
   * The fields of its guards.
   * @internal
   */
  readonly guardFields?: readonly GuardField[] | undefined;
  /**
   * The budgets that its loops bring; undefined if it names a budget.
   * @internal
   */
  readonly budgets?: LoopBudgets | undefined;
}

/** The operation: called once for each attempt. */
export type Work<T> = (context: AttemptContext) => T;

type Maybe<T> = T | null | undefined;

/** How to run an operation whose result is a `V`. Options for results of any type have no fallback. */
export interface HostOptions<V = unknown, F = unknown extends V ? never : V> extends Hooks<V> {
  /** Cancels the operation, in an attempt and in a sleep alike; it then rejects with the signal's reason. */
  signal?: Maybe<AbortSignal>;
  /** Judges an error: retry it or not, and as which kind. The default is {@link classify}, also without an answer at the attempt's limit. */
  when?: Maybe<(error: unknown) => Judgement>;
  /**
   * Judges a value that an attempt returned; without it every value is a success. `true` judges HTTP answers by status and
   * headers, like errors that have them; an object that is no answer is then an error. A function that returns undefined leaves an
   * HTTP answer to the same judgement, and every other value is a success. If the operation gives up, it returns the last value instead
   * of throwing. Bodies of earlier HTTP answers are read to their end if they are small, or else cancelled. A function that does not
   * answer within the attempt's limit is a timeout of the attempt.
   */
  whenResult?: Maybe<true | ((value: V) => Judgement)>;
  /**
   * Chooses the delay after a failure that is not permanent: milliseconds or `"2s"`, false to stop, nothing for the policy's own delay.
   * The answer is obeyed exactly, however long a hint may be; attempts, deadline and guards still limit the operation.
   */
  delay?: Maybe<(event: DelayEvent<V>) => DelayAnswer>;
  /** The name of the operation, for hooks; the default is the name of the function. */
  name?: Maybe<string>;
  /** Makes the jitter repeatable: a whole number from 0, as a bigint up to 2^64-1. */
  seed?: Maybe<number | bigint>;
  /**
   * True (the default) if the operation can run twice without harm. With false only throttled failures and requests that were never
   * sent are retried, and what a rule names with `idempotent`.
   */
  idempotent?: Maybe<boolean>;
  clock?: Maybe<Clock>;
  /** True if a timer of the operation does not keep the process running: in Node it may end during a sleep. */
  unref?: Maybe<boolean>;
  /** The guards that the operation shares with others, made by `holdoff/guards`; they replace the policy's own. */
  guards?: Maybe<Guarding>;
  /**
   * The server that is called, `scheme://host:port`, if calls of the policy go to several: each key has a budget of its own for
   * retries. The default is an empty key.
   */
  key?: Maybe<string>;
  /**
   * Returns a value, or a promise of one, when the operation gave up with this error; not called when it was cancelled. No limit
   * bounds it; an abort of the signal ends the wait for it, and then the error comes out.
   */
  fallback?: Maybe<(error: unknown) => F | PromiseLike<F>>;
  /** The token of the retries around this one, for policies with `nested`. */
  token?: Maybe<AttemptToken>;
  /**
   * Asked before another attempt: with false the operation ends with the reason `body`, because its body cannot be sent again.
   * @internal
   */
  canSend?: Maybe<() => boolean>;
}

/** The options of one call under a policy: with fields that replace those of the policy, but for guards, which outlive a call. */
export type CallOptions<V = unknown, F = unknown extends V ? never : V> = HostOptions<V, F> &
  Omit<PolicyFields, keyof Sections> & { policy?: null | undefined };

/** The own fields of options: a property that a program has added to `Object.prototype` is no option. */
export function checkedOptions<O extends object>(options: O): O {
  if (!isFields(options)) throw wrongType("options", options, "an object, such as { policy } or { attempts: 5 }");
  return bareCopy(options);
}

type Check = readonly [isRight: (value: unknown) => boolean, wanted: string];
const isFunction = (value: unknown): boolean => typeof value === "function";
const FUNCTION: Check = [isFunction, "a function"];
const FLAG: Check = [(value) => typeof value === "boolean", "true or false"];
const TEXT: Check = [(value) => typeof value === "string", "a text"];

/** The check of each of {@link HostOptions}. */
const CHECKS: Readonly<Record<keyof HostOptions, Check>> = {
  signal: [
    (value) => {
      const { aborted, addEventListener } = value as Partial<AbortSignal>;
      return typeof aborted === "boolean" && isFunction(addEventListener);
    },
    "an AbortSignal",
  ],
  when: FUNCTION,
  whenResult: [(value) => value === true || isFunction(value), "true or a function"],
  onAttempt: FUNCTION,
  onRetry: FUNCTION,
  onSuccess: FUNCTION,
  onGiveUp: FUNCTION,
  delay: FUNCTION,
  seed: [isSeed, ""],
  idempotent: FLAG,
  unref: FLAG,
  clock: [
    (value) => {
      const { now, setTimeout, clearTimeout } = value as Partial<Clock>;
      return [now, setTimeout, clearTimeout].every(isFunction);
    },
    "an object with now, setTimeout and clearTimeout",
  ],
  guards: [(value) => isFunction((value as Partial<Guarding>).run), 'Guards of "holdoff/guards"'],
  key: TEXT,
  name: TEXT,
  fallback: FUNCTION,
  token: [(value) => typeof value === "object", "a token"],
  canSend: FUNCTION,
};

/** True for a name of {@link HostOptions}. */
export const isHostField = (name: string): name is keyof HostOptions => Object.hasOwn(CHECKS, name);

export function checkWork(fn: unknown): void {
  if (typeof fn !== "function") throw wrongType("fn", fn, "a function");
}

/** Throws if an option has a value of the wrong type. */
export function checkHost<V, F>(options: HostOptions<V, F>): void {
  for (const name in options) {
    if (!isHostField(name)) continue;
    const value = options[name];
    const [isRight, wanted] = CHECKS[name];
    if (value === undefined || value === null || isRight(value)) continue;
    throw name === "seed" ? problem(SEED_RANGE, name, value) : wrongType(name, value, wanted);
  }
}

/** The context of an attempt. Its controller is made only if somebody asks for the signal. */
export class Attempt implements AttemptContext {
  readonly attempt: number;
  /** When the attempt is over its limit; Infinity without one. */
  readonly abortAt: number;
  /** The caller's signal, which its own follows. */
  caller: AbortSignal | null | undefined = undefined;
  /** Settles when its function ends. */
  completion: Promise<void> | undefined = undefined;
  /** Judges the attempt at its limit, if it has failed and its predicate has not answered. */
  judge: (() => void) | undefined = undefined;
  #controller: AbortController | undefined;
  #following: AbortSignal | undefined;
  #over: { reason: unknown } | undefined;

  constructor(attempt: number, abortAt = Infinity) {
    this.attempt = attempt;
    this.abortAt = abortAt;
  }

  get signal(): AbortSignal {
    if (this.#following === undefined) {
      this.#controller = new AbortController();
      if (this.#over) this.#controller.abort(this.#over.reason);
      this.#following = follow(this.#controller, this.caller);
    }
    return this.#following;
  }

  get once(): <B>(body: B) => B {
    return (body) => {
      if (this.attempt > 1) throw new TypeError("the body is already used");
      return body;
    };
  }

  static abort(attempt: Attempt, reason: unknown): void {
    attempt.#over = { reason };
    attempt.#controller?.abort(reason);
  }
}

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

/** The numbers of steps and of the outcome of an operation that failed. */
export const ATTEMPT = 1;
export const SLEEP = 2;
export const WAIT = 3;
export const STOP = 4;
export const GAVE_UP = 2;

/** The next step of an operation. Times are in nanoseconds of the operation's clock. */
export interface EngineStep {
  /** The numbers of the step, the outcome, the reason and the cause, a byte each. */
  readonly codes: number;
  /** When to abort the attempt, or until when to sleep. */
  readonly at: number;
  /** When to tick although an attempt runs. */
  readonly wakeAt: number;
  /** The number of the attempt. */
  readonly attempt: number;
}

/** The state of one operation, which decides its steps: a call of the core, with or without guards. */
export interface Engine {
  /** True if a sleeping operation never returns the value of its last attempt, so that the value can be discarded. */
  readonly discardsAsleep: boolean;
  begin(): EngineStep;
  /**
   * Reports a failure: an error, or a value that is no success. `epoch` is the clock's time at time 0, in milliseconds. With `isExact`
   * the hint is the delay, whatever the policy does about hints.
   */
  fail(
    attempt: Attempt,
    judged: JudgedFailure,
    failure: unknown,
    now: number,
    epoch: number,
    isExact: boolean,
  ): EngineStep;
  /** Reports an error of the program itself. Returns undefined if the error counts as a failure. */
  abandon(attempt: number, error: unknown, now: number): EngineStep | undefined;
  succeed(attempt: number): void;
  tick(now: number): EngineStep;
  /** The same, and ends a sleep for backoff now. A sleep for a server's hint or for a guard goes on. */
  hurry(now: number): EngineStep;
  /** The length of the sleep that was just decided, in nanoseconds. */
  delay(step: EngineStep): number;
  /** Makes the context of an attempt, and runs the attempt in it. */
  context(attempt: number, abortAt: number): Attempt;
  run<T>(fn: Work<T>, context: Attempt): T;
  /** Is told each step that the operation follows. */
  follows(step: EngineStep): void;
  /** Says why the budget refused the retry that was just asked for; undefined for a budget that has no tokens. */
  shortage(): string | undefined;
  /** The error of an operation that ended before its first attempt. */
  refused(reason: StopReason, retryAt: number | undefined): unknown;
  /** Gives back permits and tokens of the operation. */
  end(): void;
}

/** The mark of an attempt for the retries inside it, which under a policy with `nested` are a `Token` of `holdoff/guards`. */
export interface AttemptToken {
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The number of attempts that all retries around may make together; Infinity without a limit. */
  readonly allowed: number;
  /** The number of retries around. */
  readonly depth: number;
  /** The value of the header `x-retry-attempt`. */
  readonly header: string;
  /** The value of `grpc-previous-rpc-attempts`; undefined for the first attempt. */
  readonly grpc: string | undefined;
  /**
   * True once a retry inside the attempt has given up.
   * @internal
   */
  isGivenUp: boolean;
}

interface Contexts {
  current?(): AttemptToken | undefined;
  /** Runs a function inside an attempt. */
  run?<T>(attempt: AttemptToken, fn: () => T): T;
}

const KEY = Symbol.for("holdoff.around");

/** The attempt in which the current code runs, for all copies of this package. */
export const around = ((globalThis as { [KEY]?: Contexts })[KEY] ??= Object.create(null) as Contexts);

/** The guards of a set, whose states a recorded call changes. */
export interface SharedStates {
  /** The guards, their states read back from wasm memory. */
  take(): readonly object[];
  /** Wakes the calls that wait for a place in the bulkhead or the breaker. */
  notify(): void;
}

interface Maker {
  check(guardFields: readonly GuardField[]): void;
  make(guardFields: readonly GuardField[]): GuardSet;
  /** The states of a set of guards; undefined for any other value. */
  states(guards: unknown): SharedStates | undefined;
}

export let maker: Maker | undefined;

/** Sets the maker of guards: the entry `holdoff/guards` has one. */
export function makeGuardsWith(by: Maker): void {
  maker = by;
}

/** The token of the attempt in which the caller runs, if the runtime has async contexts and `holdoff/node` was imported. */
export const currentToken = (): AttemptToken | undefined => around.current?.();
