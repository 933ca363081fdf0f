/** The loop: it waits, aborts, cancels and reports. The machine decides about the next step. */
import { follow } from "../cancel.js";
import { LONGEST_TIMER, stoodStill, system } from "../clock.js";
import { PERMANENT, TIMEOUT, TRANSIENT } from "../codes.js";
import { isAbortAgain, kindOfStatus, NETWORK } from "../error_names.js";
import { clean } from "../values.js";
import type { FailureKind, StopReason } from "../words.js";
import { Machine, type Step } from "./machine.js";
import type { AttemptContext, HostOptions, Verdict, Work } from "./options.js";
import { attach, broken, type Outcome, type Policy } from "./policy.js";
import { KINDS } from "./rules.js";

/** The context of an attempt. Its controller is made only if somebody asks for the signal, or to abort. */
class Attempt implements AttemptContext {
  readonly attempt: number;
  readonly #caller: AbortSignal | null | undefined;
  #controller: AbortController | undefined;
  #following: AbortSignal | undefined;

  constructor(attempt: number, caller?: AbortSignal | null) {
    this.attempt = attempt;
    this.#caller = caller;
  }

  get signal(): AbortSignal {
    return (this.#following ??= follow(Attempt.control(this), this.#caller));
  }

  static control(attempt: Attempt): AbortController {
    return (attempt.#controller ??= new AbortController());
  }
}

/**
 * Runs `fn` under `policy`. As long as the first attempt has neither limit nor signal and succeeds, this is a call and a
 * `then`: no clock, no seed, no machine.
 */
export function run<T>(fn: Work<T>, policy: Policy, options: HostOptions): Promise<Awaited<T>> {
  if (policy.limit < Infinity || options.signal) return operation(fn, policy, options);
  const failed = (error: unknown) => operation(fn, policy, options, [undefined, error]);
  let result: T;
  try {
    result = fn(new Attempt(1));
  } catch (error) {
    return failed(error);
  }
  return Promise.resolve(result).then(undefined, failed);
}

const timeout = (text: string) => new DOMException(text, "TimeoutError");

/** The end of a wait: a value, nothing and an error, or a word. */
type End<V> = readonly [value: () => V] | readonly [undefined, error: unknown] | "late" | "cancelled";

/** From the first attempt on, or from its failure. */
async function operation<T>(
  fn: Work<T>,
  policy: Policy,
  { signal, when, onRetry, seed, clock: given, isOnce }: HostOptions,
  first?: End<Awaited<T>>,
): Promise<Awaited<T>> {
  const clock = given ?? system;
  let epoch = clock.now();
  /** Nanoseconds since the beginning. */
  const now = () => Math.round((clock.now() - epoch) * 1e6);
  let attempt = 0;
  let lastError: unknown;

  const stopped = (error: unknown, reason: StopReason, retryAt?: number) => {
    const outcome: Outcome["outcome"] = reason === "cancelled" ? reason : "gave_up";
    return attach(error, { outcome, reason, attempts: attempt, retryAt, lastError });
  };
  const cancelled = () => stopped(signal?.reason, "cancelled");

  /** Waits for the work, but not past a time, however far off, and never until before it, or past a cancellation. */
  const waited = <V>(at: number, work?: () => V): Promise<End<Awaited<V>>> =>
    new Promise((resolve) => {
      let timer: unknown;
      const end = (how: End<Awaited<V>>) => {
        // Ends a timer's turn that is still to come.
        at = 0;
        clock.clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        resolve(how);
      };
      const cancel = () => end("cancelled");
      const wake = () => {
        const begun = now();
        const milliseconds = Math.min(Math.ceil((at - begun) / 1e6), LONGEST_TIMER);
        const fired = () => {
          const passed = (now() - begun) / 1e6;
          if (stoodStill(passed, milliseconds)) epoch -= milliseconds - passed;
          if (now() < at) wake();
          else end("late");
        };
        // A clock of a test may call back at once: in a turn of its own no stack grows.
        timer = clock.setTimeout(() => queueMicrotask(fired), milliseconds);
      };
      signal?.addEventListener("abort", cancel);
      if (at < Infinity) wake();
      if (work) {
        new Promise<V>((done) => done(work())).then(
          (value) => end([() => value as Awaited<V>]),
          (error) => end([undefined, error]),
        );
      }
    });

  let machine: Machine | undefined;
  for (let step: Step = { kind: "attempt", at: policy.limit }; ; ) {
    if (signal?.aborted) throw cancelled();
    if (policy.limit === 0) throw stopped(timeout("the deadline is over"), "deadline");
    if (step.kind === "stop") {
      const retryAt = step.at < Infinity ? Date.now() + (step.at - now()) / 1e6 : undefined;
      throw stopped(lastError, step.reason, retryAt);
    }
    if (step.kind === "sleep") {
      await waited(step.at);
      step = (machine as Machine).wake(now());
      continue;
    }
    const context = new Attempt(++attempt, signal);
    const end: End<Awaited<T>> = (attempt === 1 && first) || (await waited(step.at, () => fn(context)));
    if (end === "cancelled") {
      const error = cancelled();
      Attempt.control(context).abort(signal?.reason);
      throw error;
    }
    const late = end === "late";
    const [value, error] = late ? [undefined, timeout(`attempt ${attempt} took longer than its limit`)] : end;
    if (value) return value();
    const time = now();
    const isAgain = isAbortAgain(error, lastError);
    lastError = error;
    try {
      const [kind, hint] = late
        ? [isOnce ? PERMANENT : TIMEOUT, NaN]
        : judged(when?.(error) ?? (isAgain ? false : undefined), error);
      machine ??= new Machine(policy, BigInt(seed ?? Math.floor(Math.random() * 2 ** 53)));
      step = machine.fail(time, kind, hint);
      if (onRetry && step.kind === "sleep" && !signal?.aborted) {
        const said = hint < 0 ? "never" : hint >= 0 ? hint : undefined;
        const word = KINDS[kind - 1] as FailureKind;
        onRetry({ attempt, error, kind: word, hint: said, delayMs: (step.at - time) / 1e6, cause: step.cause });
      }
    } finally {
      // Only now, so that what the operation does about it is no second failure.
      if (late) Attempt.control(context).abort(error);
    }
  }
}

interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  response?: { status?: unknown; statusCode?: unknown } | null;
  $metadata?: { httpStatusCode?: unknown } | null;
}

/** The names of errors about the program itself, and of an abort; clients have names of their own for it. */
const PROGRAM_ERRORS =
  /^(Type|Reference|Syntax|Range|Eval|URI|Assertion|Config|(\w+User)?Abort|Cancell?(ed)?|DataClone)Error$/;

/** The names of errors of AWS by which a service asks for less; their statuses are 400 and others. */
const THROTTLED_NAMES = /Throttl|TooManyRequests|(Limit|Throughput)Exceeded|SlowDown/;

/** By its HTTP status if it has one, and else by its name. An error that throws when it is looked at is transient. */
function kindOf(error: unknown): number {
  try {
    // The reason of an abort.
    if (/^[sn]/.test(typeof error)) return PERMANENT;
    const known = clean<ErrorLike>(Object(error));
    const { name, code, message, status, statusCode, $metadata } = known;
    const response = clean(known.response);
    const ofAws = $metadata && (THROTTLED_NAMES.test(String(name)) ? 429 : $metadata.httpStatusCode);
    for (const number of [status, statusCode, response?.status, response?.statusCode, ofAws]) {
      const kind = typeof number === "number" && kindOfStatus(number);
      if (kind) return kind;
    }
    if (/TimeoutError$/.test(String(name)) || code === "ETIMEDOUT") return TIMEOUT;
    const isLost = name === "TypeError" && NETWORK.test(String(message));
    return isLost || !PROGRAM_ERRORS.test(String(name)) ? TRANSIENT : PERMANENT;
  } catch {
    return TRANSIENT;
  }
}

/** The number of its kind, and its hint in milliseconds: -1 for never, NaN for none. */
export function judged(verdict: Verdict, error: unknown): [kind: number, hint: number] {
  if (verdict == null || typeof verdict === "boolean") {
    const kind = verdict === false ? PERMANENT : kindOf(error);
    return [verdict && kind === PERMANENT ? TRANSIENT : kind, NaN];
  }
  const word = typeof verdict === "string" ? verdict : verdict.kind;
  const { hint } = clean<{ hint?: number | "never" | null }>(Object(verdict));
  const kind = KINDS.indexOf(word) + 1;
  if (!kind) throw broken(204, "failure", word);
  if (typeof (hint ?? 0) !== "number" && hint !== "never") throw broken(103, "hint", hint);
  return [kind, hint === "never" ? -1 : Math.max(hint ?? NaN, 0)];
}
