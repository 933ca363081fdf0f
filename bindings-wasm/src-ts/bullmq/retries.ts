/** Retries of BullMQ jobs: BullMQ moves the jobs, and the core decides when, the same on whichever worker has the job. */
import type { BackoffStrategy, Job, JobsOptions, WorkerOptions } from "bullmq";
import { readBigint, SPAN } from "../core.js";
import { attach, NOT_SUPPORTED, type Outcome, problem, WRONG_TYPE } from "../errors.js";
import { type Failure, type Verdict, writeVerdict } from "../failure.js";
import type { PolicyFields, PresetName } from "../fields.js";
import { randomSeed } from "../guards/desk.js";
import type { Guards } from "../guards/guards.js";
import type { AttemptContext } from "../host.js";
import { attemptsOf, type Recorded, Recorder } from "../log/recorder.js";

import { replay } from "../log/replay.js";
import { Policy } from "../policy.js";
import { Attempt, LONGEST_TIMER } from "../run.js";
import { kindWord } from "../words.js";
import { type JobLogs, type Past, readPast, write, writeMove } from "./history.js";

type Maybe<T> = T | null | undefined;

/** How jobs are retried. */
export interface BullRetriesOptions {
  /** A policy, its fields, or the name of a preset. */
  policy: Policy | PolicyFields | PresetName;
  /** Where the lines of the jobs are read: their `Queue`. */
  queue: JobLogs;
  /** Whether and as what an error is retried, as for `retry`. */
  when?: Maybe<(error: unknown) => Verdict>;
  /** Whether a job can run twice without harm; true unless given. */
  idempotent?: Maybe<boolean>;
  /**
   * What all jobs of this process share: guards of one's own, and neither a budget nor a bulkhead. A job sleeps in no process, and
   * these two would wait for it; BullMQ has a `concurrency`.
   */
  guards?: Maybe<Guards>;
  /** How often an attempt runs again whose worker died in it, before that counts as a failure of its own; 3 unless given. */
  reruns?: Maybe<number>;
  /** Where a job's jitter comes from; random unless given. It is in the job's log from then on. */
  seed?: Maybe<(job: Job) => number | bigint>;
}

/** A job's work. Its attempt is aborted when it takes too long, or when the worker cancels the job. */
export type JobWork<Data, Result, Name extends string> = (
  job: Job<Data, Result, Name>,
  context: Omit<AttemptContext, "token"> & { readonly token: string | undefined },
) => Promise<Result>;

/** The job has failed for good: BullMQ knows it by its name. What the last attempt threw is its `cause`. */
class Unrecoverable extends Error {
  override readonly name = "UnrecoverableError";
}

/** The job was moved by somebody who knows: BullMQ knows it by its name. */
class Delayed extends Error {
  override readonly name = "DelayedError";
}

/** An attempt whose worker died in it, too often. */
class Interrupted extends Error {
  override readonly name = "InterruptedError";
}

/** What BullMQ means by these is no failure: the job, or the queue, was moved by the work itself. */
const MOVES = ["DelayedError", "WaitingError", "WaitingChildrenError"];
const RATE_LIMIT = "bullmq:rateLimitExceeded";
const TYPE = "holdoff";
/** As good as without end, for counts that JSON and Lua read. */
const ENDLESS = Number.MAX_SAFE_INTEGER;
const MILLISECOND = 1_000_000n;

/**
 * Retries for the jobs of a queue.
 *
 * The worker gets {@link BullRetries.processor} and {@link BullRetries.workerOptions}, the jobs {@link BullRetries.jobOptions}.
 * What happens to a job is written into its log as events before it is acted upon, so that another worker goes on where one was
 * killed: an attempt that was interrupted runs again under its own number.
 */
export class BullRetries {
  private readonly policy: Policy;
  private readonly options: BullRetriesOptions;
  private readonly attempts: number;
  /** When the next attempt of a job is due that has just failed here, in nanoseconds. */
  private readonly due = new WeakMap<object, bigint>();

  /** Throws a {@link ConfigError} about what is wrong. */
  constructor(options: BullRetriesOptions) {
    const { policy, queue, guards, reruns } = options;
    this.policy = policy instanceof Policy ? policy : new Policy(policy);
    this.options = options;
    this.attempts = Math.min(attemptsOf(this.policy), ENDLESS);
    if (typeof queue?.getJobLogs !== "function") throw problem(WRONG_TYPE, "queue", queue);
    for (const name of ["budget", "bulkhead"] as const) {
      if (guards?.[name]) throw problem(NOT_SUPPORTED, `guards.${name}`, guards[name]);
    }
    if (!(Number.isInteger(reruns ?? 3) && (reruns ?? 3) >= 0)) throw problem(WRONG_TYPE, "reruns", reruns);
  }

  /** What jobs are added with: as many attempts as the policy makes, and whom BullMQ asks when the next one is. */
  jobOptions<Options extends JobsOptions>(
    options?: Options,
  ): Options & { attempts: number; backoff: { type: string } } {
    return { ...(options as Options), attempts: this.attempts, backoff: { type: TYPE } };
  }

  /** What the worker is made with. Interruptions count by `reruns`, so BullMQ's own limit, one for a job's life, is lifted. */
  get workerOptions(): Required<Pick<WorkerOptions, "settings" | "maxStalledCount">> {
    return { settings: { backoffStrategy: this.backoffStrategy }, maxStalledCount: 2 ** 31 - 1 };
  }

  /**
   * When a job that has failed is due, in milliseconds from now: what was decided about it. For `settings` of a worker that has
   * other strategies, too, to be asked for the type `"holdoff"`. A job that failed anywhere but in {@link BullRetries.processor}
   * is not retried.
   */
  readonly backoffStrategy: BackoffStrategy = (_made, _type, _error, job) => {
    const due = job && this.due.get(job);
    if (due === undefined) return -1;
    const left = due - hostNow();
    return left > 0n ? Number((left + MILLISECOND - 1n) / MILLISECOND) : 0;
  };

  /** The processor of a worker: runs one attempt of the job. */
  processor<Data = unknown, Result = unknown, Name extends string = string>(
    work: JobWork<Data, Result, Name>,
  ): (job: Job<Data, Result, Name>, token?: string, signal?: AbortSignal) => Promise<Result> {
    if (typeof work !== "function") throw problem(WRONG_TYPE, "work", work);
    return (job, token, signal) => this.process(work, job, token, signal);
  }

  private async process<Data, Result, Name extends string>(
    work: JobWork<Data, Result, Name>,
    job: Job<Data, Result, Name>,
    token: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    this.check(job);
    const [recorder, { step, events }] = this.taken(job, await readPast(job, this.options.queue));
    await write(job, events);
    if (step.kind === "sleep") {
      if (events.some(({ type }) => type === "ATTEMPT_FAILED")) {
        this.due.set(job, step.until);
        throw new Interrupted(`the worker died in attempt ${recorder.attempt}, as it did before`);
      }
      // Too early, by another worker's clock or a person's wish; or a guard lets nobody through.
      await job.moveToDelayed(Number((step.until + MILLISECOND - 1n) / MILLISECOND), token);
      throw new Delayed("the next attempt is not due yet");
    }
    if (step.kind !== "attempt") throw ended(step, recorder, undefined);
    return this.attempt(work, job, token, signal, recorder, step);
  }

  /** Throws unless the job leaves the decisions to the policy. */
  private check({ opts }: Job): void {
    const { backoff, keepLogs } = opts;
    const attempts = opts.attempts || 1;
    const wrong = (what: string) =>
      new Unrecoverable(`${what}; add jobs with the jobOptions() of their retries`) as Error;
    if (attempts < this.attempts) {
      throw wrong(`the job may have ${attempts} attempts, but its policy makes ${this.attempts}`);
    }
    if (typeof backoff !== "object" || backoff.type !== TYPE) {
      throw wrong(`the backoff of the job is not { type: "${TYPE}" }, so its policy would not be asked`);
    }
    if (keepLogs !== undefined) {
      throw wrong("the job has keepLogs, which would cut off the log that its retries are decided by");
    }
  }

  /** The job's call, from its beginning or from where it was left. */
  private taken(job: Job, { events, moved }: Past): [recorder: Recorder, recorded: Recorded<bigint>] {
    const now = hostNow();
    const { seed, guards, reruns } = this.options;
    const last = events.at(-1)?.type;
    // A call that ended has ended: somebody wants the job to run again.
    if (last === undefined || last === "SUCCEEDED" || last === "GAVE_UP" || last === "CANCELLED") {
      const own = seed ? seed(job) : randomSeed();
      return Recorder.begin(this.policy, own, now, { guards, task: job.id });
    }
    // The policy may have changed since: what was promised is kept, and what comes is by the new one.
    const recorder = replay(this.policy, events, { anyPolicy: true, guards, task: job.id });
    const resumed = recorder.resume(now, (reruns ?? 3) + moved);
    const { step } = resumed;
    if (step.kind !== "sleep" || step.until > now || resumed.events.length > 0) return [recorder, resumed];
    return [recorder, recorder.tick(now)];
  }

  private async attempt<Data, Result, Name extends string>(
    work: JobWork<Data, Result, Name>,
    job: Job<Data, Result, Name>,
    token: string | undefined,
    signal: AbortSignal | undefined,
    recorder: Recorder,
    { ticket, attempt, abortAt }: { ticket: number; attempt: number; abortAt: bigint },
  ): Promise<Result> {
    const context = new Attempt(attempt);
    const over = new Over(signal, abortAt, (reason) => Attempt.abort(context, reason));
    let result: Result;
    try {
      result = await over.race(
        work(job, {
          attempt,
          token,
          get signal() {
            return context.signal;
          },
        }),
      );
    } catch (error) {
      if (isMove(error)) {
        await writeMove(job);
        throw error;
      }
      const now = hostNow();
      const cancelled = signal?.aborted ?? false;
      const { step, events } = cancelled
        ? recorder.cancel(now)
        : recorder.fail(ticket, now, over.isTimeout(error) ? "timeout" : this.judged(error), reasonOf(error));
      await write(job, events);
      const known = readable(error);
      if (step.kind !== "sleep") throw ended(step, recorder, known);
      this.due.set(job, step.until);
      throw known;
    } finally {
      over.end();
    }
    await write(job, recorder.succeed(ticket, hostNow()).events);
    return result;
  }

  /** What an error is. */
  private judged(error: unknown): Failure {
    const { when, idempotent } = this.options;
    const kind = writeVerdict(when?.(error), error, this.policy["rules"], idempotent ?? true);
    const hint = readBigint(SPAN);
    return { kind: kindWord(kind), hint: hint === NO_HINT ? undefined : hint === NO_HINT - 1n ? "never" : hint };
  }
}

const NO_HINT = (1n << 64n) - 1n;

/** Nanoseconds since 1970, the same for all workers. */
const hostNow = (): bigint => BigInt(Date.now()) * MILLISECOND;

function isMove(error: unknown): boolean {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return MOVES.includes(name as string) || message === RATE_LIMIT;
}

function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : String(error);
}

/** BullMQ reads a message from whatever was thrown; where it cannot, the job stays active until it counts as stalled. */
const readable = (error: unknown): unknown => error ?? new Error(`the work threw ${error}`, { cause: error });

/** What a job fails with that is not retried. */
function ended(step: Recorded<bigint>["step"], recorder: Recorder, cause: unknown): Error {
  const { outcome, reason, retryAt } = step as { outcome?: string; reason?: Outcome["reason"]; retryAt?: bigint };
  const word = outcome === "cancelled" ? "cancelled" : (reason as Outcome["reason"]);
  const { attempt: attempts } = recorder;
  const said = cause === undefined ? `no attempt: ${word}` : reasonOf(cause);
  const error = new Unrecoverable(said, cause === undefined ? undefined : { cause });
  attach(error, {
    outcome: outcome === "cancelled" ? "cancelled" : "gave_up",
    reason: word,
    attempts,
    retryAt: retryAt === undefined || retryAt === NO_HINT ? undefined : Number(retryAt) / 1e6,
    lastError: cause,
    lastResult: undefined,
  });
  return error;
}

/** Ends the wait for an attempt when its time is over, or when the worker cancels the job. */
class Over {
  private readonly signal: AbortSignal | undefined;
  private readonly abort: (reason: unknown) => void;
  private readonly at: number;
  private reject: ((reason: unknown) => void) | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private timeout: unknown;

  constructor(signal: AbortSignal | undefined, abortAt: bigint, abort: (reason: unknown) => void) {
    this.signal = signal;
    this.abort = abort;
    this.at = abortAt === NO_HINT ? Infinity : Number(abortAt) / 1e6;
  }

  race<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.reject = reject;
      this.signal?.addEventListener("abort", this.cancel);
      if (this.signal?.aborted) this.cancel();
      if (this.at !== Infinity) this.wait();
      Promise.resolve(work).then(resolve, reject);
    });
  }

  isTimeout(error: unknown): boolean {
    return error !== undefined && error === this.timeout;
  }

  end(): void {
    clearTimeout(this.timer);
    this.signal?.removeEventListener("abort", this.cancel);
  }

  private readonly cancel = (): void => this.stop(this.signal?.reason);

  private readonly wait = (): void => {
    const left = Math.ceil(this.at - Date.now());
    if (left > 0) {
      this.timer = setTimeout(this.wait, Math.min(left, LONGEST_TIMER));
      return;
    }
    this.timeout = new DOMException("the attempt took longer than its limit", "TimeoutError");
    this.stop(this.timeout);
  };

  private stop(reason: unknown): void {
    this.reject?.(reason);
    this.abort(reason);
  }
}
