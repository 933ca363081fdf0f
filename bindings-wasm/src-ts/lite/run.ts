/** The loop: it waits, aborts, cancels and reports. The machine decides about the next step. */

import type { Clock } from "../clock.js";
import { TIMEOUT } from "../codes.js";
import type { AttemptContext, Work } from "../host.js";
import type { FailureKind, StopReason } from "../words.js";
import { attach, type Outcome } from "./errors.js";
import { judged } from "./judge.js";
import { Machine, type Step } from "./machine.js";
import type { HostOptions } from "./options.js";
import type { Policy } from "./policy.js";
import { KINDS } from "./rules.js";

/** The globals are looked up at each use, so that fake timers work. */
const system: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** The context of an attempt. Its controller is made only if somebody asks for the signal, or to abort. */
class Attempt implements AttemptContext {
  readonly attempt: number;
  private controller: AbortController | undefined;

  constructor(attempt: number) {
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    return Attempt.control(this).signal;
  }

  static control(attempt: Attempt): AbortController {
    return (attempt.controller ??= new AbortController());
  }
}

/**
 * Runs `fn` under `policy`. As long as the first attempt has neither limit nor signal and succeeds, this is a call and a
 * `then`: no clock, no seed, no machine.
 */
export function run<T>(fn: Work<T>, policy: Policy, options: HostOptions): Promise<Awaited<T>> {
  if (policy.limit < Infinity || options.signal) return operation(fn, policy, options);
  const failed = (error: unknown) => operation(fn, policy, options, [error]);
  let result: T;
  try {
    result = fn(new Attempt(1));
  } catch (error) {
    return failed(error);
  }
  return Promise.resolve(result).then(undefined, failed);
}

/** From the first attempt on, or from its failure. */
function operation<T>(
  fn: Work<T>,
  policy: Policy,
  { signal, when, onRetry, seed, clock: given }: HostOptions,
  first?: [error: unknown],
): Promise<Awaited<T>> {
  return new Promise((resolve, reject) => {
    const clock = given ?? system;
    const epoch = clock.now();
    let machine: Machine | undefined;
    let attempt = 0;
    let running: Attempt | undefined;
    let timer: unknown;
    let ended = false;
    let lastError: unknown;

    /** Nanoseconds since the beginning. */
    const now = () => Math.round((clock.now() - epoch) * 1e6);

    /** Nothing is in flight, and nothing wakes it. */
    const rest = () => {
      running = undefined;
      clock.clearTimeout(timer);
    };

    /** Leaves nothing behind. */
    const end = () => {
      ended = true;
      rest();
      signal?.removeEventListener("abort", cancel);
    };

    const stop = (error: unknown, outcome: Outcome["outcome"], reason: StopReason, retryAt?: number) => {
      end();
      reject(attach(error, { outcome, reason, attempts: attempt, retryAt, lastError }));
    };

    const cancel = () => {
      const attempt = running;
      const reason = signal?.reason;
      stop(reason, "cancelled", "cancelled");
      if (attempt) Attempt.control(attempt).abort(reason);
    };

    /** Goes on at a time, however far off, and never before it: an attempt is over its limit, or a sleep is over. */
    const wake = (at: number) => {
      const milliseconds = Math.min(Math.ceil((at - now()) / 1e6), 2 ** 31 - 1);
      timer = clock.setTimeout(() => {
        const context = running;
        if (now() < at) wake(at);
        else if (context) {
          const error = new DOMException(`attempt ${attempt} took longer than its limit`, "TimeoutError");
          failed(error, true);
          // Only now, so that what the operation does about it is no second failure.
          Attempt.control(context).abort(error);
        } else follow((machine as Machine).wake(now()));
      }, milliseconds);
    };

    const start = (limit: number) => {
      const context = (running = new Attempt(++attempt));
      if (limit < Infinity) wake(limit);
      new Promise<T>((done) => done(fn(context))).then(
        (value) => {
          if (running === context) {
            end();
            resolve(value as Awaited<T>);
          }
        },
        (error) => {
          if (running === context) failed(error);
        },
      );
    };

    /** Does what the machine says. */
    const follow = (step: Step) => {
      if (step.kind === "attempt") start(step.at);
      else if (step.kind === "sleep") wake(step.at);
      else {
        const retryAt = step.at < Infinity ? Date.now() + (step.at - now()) / 1e6 : undefined;
        stop(lastError, "gave_up", step.reason, retryAt);
      }
    };

    const failed = (error: unknown, timeout?: boolean) => {
      const time = now();
      rest();
      lastError = error;
      try {
        const [kind, hint] = timeout ? [TIMEOUT, NaN] : judged(when?.(error), error);
        if (ended) return;
        machine ??= new Machine(policy, BigInt(seed ?? Math.floor(Math.random() * 2 ** 53)));
        const step = machine.fail(time, kind, hint);
        if (onRetry && step.kind === "sleep") {
          const failure = KINDS[kind - 1] as FailureKind;
          const said = hint < 0 ? "never" : hint >= 0 ? hint : undefined;
          onRetry({ attempt, error, failure, hint: said, delay: (step.at - time) / 1e6, cause: step.cause });
          if (ended) return;
        }
        follow(step);
      } catch (raised) {
        // A hook's own error, or what it answered is no verdict.
        end();
        reject(raised);
      }
    };

    if (first) {
      attempt = 1;
      failed(first[0]);
    } else if (signal?.aborted) cancel();
    else {
      signal?.addEventListener("abort", cancel);
      start(policy.limit);
    }
  });
}
