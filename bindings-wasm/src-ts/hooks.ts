/** Hooks: functions that are told what happens to an operation, its own and those of the whole process. */
import type { BreakerState, Cause, FailureKind, StopReason } from "./words.js";

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
  /** The time after which another try might succeed, in milliseconds; undefined when nobody knows. */
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

/** True if anybody is told about an operation with these options, or asked about its delays. */
export const isHeard = (options: (Hooks<never> & { delay?: unknown }) | null | undefined): boolean =>
  listeners.length > 0 ||
  !!(options && (options.onAttempt || options.onRetry || options.onSuccess || options.onGiveUp || options.delay));
