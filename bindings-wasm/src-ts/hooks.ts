/** Hooks of an operation and listeners of the process: functions that are called with events. */

import { durationOf, HookError, NEVER, NOT_A_DURATION, problem } from "./errors.js";
import type { Duration, Nanos } from "./values.js";
import type { BreakerState, Cause, FailureKind, StopReason } from "./words.js";

/** When the server wants to be asked again: from now on in milliseconds, `"2s"`, nanoseconds as a bigint, or never. */
export type Hint = number | bigint | string | null | undefined;

/** One failed attempt. */
export interface Failure {
  readonly kind: FailureKind;
  readonly hint?: Hint;
  /** The number of the policy's rule that takes it, from 1; 0 for none, undefined if no policy has judged it. */
  readonly rule?: number | undefined;
}

/**
 * The answer of a `when`: true to retry, false not to, a kind, a kind with a hint, or undefined for the default. The answer of
 * a `whenResult`: true, a kind or a kind with a hint for a failure; false for a success; undefined for the default, by which an HTTP
 * answer is judged by its status and every other value is a success.
 */
export type Verdict = boolean | FailureKind | Failure | null | undefined;

/** A verdict, or a promise of one. */
export type Judgement = Verdict | PromiseLike<Verdict>;

/** The facts about an error that the rules of a policy look at. */
export interface Facts {
  /** Its HTTP status. */
  readonly status?: number | null | undefined;
  /** Its gRPC code. */
  readonly grpc?: number | null | undefined;
  /** Its codes: those of Node, of a client or of a database. */
  readonly codes?: readonly string[] | null | undefined;
  /** The names of its class and of those it derives from. */
  readonly types?: readonly string[] | null | undefined;
  readonly message?: string | null | undefined;
  /** True (the default) if the operation can run twice without harm. */
  readonly idempotent?: boolean | null | undefined;
  /** True if the request was never sent. */
  readonly unsent?: boolean | null | undefined;
  /** True for an error of the program itself. */
  readonly programFault?: boolean | null | undefined;
  /** The value of the header `x-should-retry`. */
  readonly shouldRetry?: boolean | null | undefined;
}

/** A failure as the core takes it. */
export interface JudgedFailure {
  /** The number of its kind. */
  readonly kind: number;
  /** Its hint in nanoseconds, `NEVER`, or Infinity for none. */
  readonly hint: Nanos;
  /** The number of the rule that takes it: 0 if no policy has judged it, `NO_RULE` if no rule takes it. */
  readonly rule: number;
}

type Maybe<T> = T | null | undefined;

/** An attempt that is about to begin. */
export interface AttemptEvent {
  /** The option `name`, else the name of the function, else empty. */
  readonly operation: string;
  /** The number of the attempt, from 1; 0 for an operation that ended before its first one. */
  readonly attempt: number;
  /** The time since the operation began, in milliseconds. */
  readonly elapsedMs: number;
}

/** A failed attempt, and the sleep after it. */
export interface RetryEvent<V = unknown> extends AttemptEvent {
  /** The error it threw; undefined if it returned a value that `whenResult` calls a failure. */
  readonly error: unknown;
  /** That value. */
  readonly value: V | undefined;
  readonly kind: FailureKind;
  /** The server's hint: milliseconds from the failure, or `"never"`. */
  readonly hint: number | "never" | undefined;
  /** How long the sleep is, in milliseconds. */
  readonly delayMs: number;
  readonly cause: Cause;
  /** Ends the sleep now, unless the server or a guard asked for it: call it when a network is back. Later it does nothing. */
  readonly wake: () => void;
}

/** The end of an operation that succeeded. */
export interface SuccessEvent<V = unknown> extends AttemptEvent {
  readonly value: V;
}

/** The end of an operation that did not succeed. */
export interface GiveUpEvent<V = unknown> extends AttemptEvent {
  /** The error that comes out; undefined if a value does. */
  readonly error: unknown;
  /** The value that comes out, which `whenResult` calls a failure. */
  readonly value: V | undefined;
  /** The kind of the last failure; undefined if no attempt failed. */
  readonly kind: FailureKind | undefined;
  readonly reason: StopReason;
  /** The guard that refused. */
  readonly refusedBy: "budget" | "breaker" | "limiter" | "bulkhead" | undefined;
  /** The time after which another try might succeed, in milliseconds; undefined if it is unknown. */
  readonly retryInMs: number | undefined;
}

/**
 * Functions that are called with events, in the async context of the operation's caller. A promise that they return is awaited,
 * until the deadline at most and until the caller's signal aborts.
 */
export interface Hooks<V = unknown> {
  /** Called before each attempt. */
  onAttempt?: Maybe<(event: AttemptEvent) => unknown>;
  /** Called before each sleep. */
  onRetry?: Maybe<(event: RetryEvent<V>) => unknown>;
  /** Called when the operation has succeeded, before its value comes out. */
  onSuccess?: Maybe<(event: SuccessEvent<V>) => unknown>;
  /** Called when the operation ends without success, before its error or value comes out. */
  onGiveUp?: Maybe<(event: GiveUpEvent<V>) => unknown>;
}

/** A breaker whose state has changed. */
export interface ChangeEvent {
  /** The option `name` of its guards, or their key; empty without either. */
  readonly name: string;
  /** Their key, if the guards are those of a key; else undefined. */
  readonly key: string | undefined;
  readonly before: BreakerState;
  readonly after: BreakerState;
  /** The time of the change on the guards' clock, in milliseconds. */
  readonly atMs: number;
}

/** The hook of a breaker. */
export interface ChangeHook {
  /** Called soon after the state has changed. An error of it is an unhandled rejection. */
  onChange?: Maybe<(event: ChangeEvent) => unknown>;
}

/** Hooks of the whole process. */
export type Listener = Hooks & ChangeHook;

const KEY = Symbol.for("holdoff.listeners");

/** The listeners of the process, which all copies of this package tell: those for `import` and for `require`. */
export const listeners: Listener[] = ((globalThis as { [KEY]?: Listener[] })[KEY] ??= []);

/** Tells all hooks about an event. `failed` gets the errors, and the promise of asynchronous hooks never rejects. */
export function tell(
  all: readonly Hooks[],
  hook: keyof Hooks,
  event: object,
  failed: (error: unknown) => void,
): Promise<unknown> | undefined {
  const answers: PromiseLike<unknown>[] = [];
  for (const hooks of all) {
    try {
      const answer = hooks[hook]?.(event as never) as PromiseLike<unknown> | undefined;
      if (answer?.then) answers.push(answer);
    } catch (error) {
      failed(error);
    }
  }
  return answers.length > 0 ? Promise.all(answers).catch(failed) : undefined;
}

/** True if an operation with these options has a hook, a listener or a function of delays. */
export const hasHooks = (options: (Hooks<never> & { delay?: unknown }) | null | undefined): boolean =>
  listeners.length > 0 ||
  !!(options && (options.onAttempt || options.onRetry || options.onSuccess || options.onGiveUp || options.delay));

/** A failed attempt whose delay is not decided yet. */
export type DelayEvent<V = unknown> = Omit<RetryEvent<V>, "delayMs" | "cause">;

/** The answer of a function of delays: a delay, false to stop, or nothing for the policy's own delay. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without an answer returns void
export type DelayAnswer = Duration | false | null | undefined | void;

/** The answer of the user's function, as the failure's hint; undefined if it has none. */
export function askDelay(delay: (event: never) => unknown, event: object, lastError: unknown): Nanos | undefined {
  let answer: unknown;
  try {
    answer = delay(event as never);
  } catch (error) {
    throw new HookError("delay", error, lastError);
  }
  if (answer === undefined || answer === null) return undefined;
  const span = answer === false ? NEVER : durationOf(answer);
  if (span === undefined) throw problem(NOT_A_DURATION, "delay", answer);
  return span;
}
