/** Retries of BullMQ jobs: BullMQ moves the jobs, and the policy decides when, the same on every worker. */
import type { BackoffStrategy, Job, JobsOptions, WorkerOptions } from "bullmq";
import {
  type AttemptContext,
  ConfigError,
  classify,
  type Failure,
  OUTCOME,
  type Outcome,
  Policy,
  type PolicyFields,
  type PresetName,
  parseNanos,
  type Step,
  type Verdict,
} from "holdoff";
import "holdoff/policies";
import "holdoff/rules";
import type { Guards } from "holdoff/guards";
import { attemptsOf, type Event, Recorder, replay } from "holdoff/tools";
import { type History, type JobStore, readHistory, type StoredJob, writeEvents, writeMark } from "./history.js";
import { runLimited } from "./limit.js";

type Maybe<T> = T | null | undefined;

/** How jobs are retried. */
export interface BullRetriesOptions {
  /** A policy, its fields, or the name of a preset. */
  policy: Policy | PolicyFields | PresetName;
  /** Reads and writes the histories of the jobs: their `Queue`. */
  queue: JobStore;
  /** Classifies an error, as for `retry` of `holdoff`. */
  when?: Maybe<(error: unknown) => Verdict>;
  /** True if a job can run twice without harm, the default. */
  idempotent?: Maybe<boolean>;
  /**
   * Guards that all jobs of this process share: a breaker, a limiter and the like, but no budget and no bulkhead. A budget and
   * a bulkhead would reserve something for a job that sleeps elsewhere; BullMQ has a `concurrency`.
   */
  guards?: Maybe<Guards>;
  /**
   * How often an attempt runs again whose process died in it, before that counts as a failure of its own; 3 unless given. A death counts if
   * the process ran no other attempt. Of other interruptions and of those after {@link BullRetries.stopping}, 20 do not count.
   */
  reruns?: Maybe<number>;
  /** The seed of a job's jitter; random unless given. The job's history keeps it. */
  seed?: Maybe<(job: Job) => number | bigint>;
}

/** A job's work. Its signal aborts when the attempt takes too long, or when the worker cancels the job. */
export type JobWork<Data, Result, Name extends string> = (
  job: Job<Data, Result, Name>,
  context: Pick<AttemptContext, "attempt" | "signal"> & { readonly token: string | undefined },
) => Promise<Result>;

/** The job has failed for good: BullMQ knows it by its name. Its `cause` is what the last attempt threw. */
class UnrecoverableError extends Error {
  override readonly name = "UnrecoverableError";
}

/** The job was moved to the delayed ones: BullMQ knows it by its name. */
class DelayedError extends Error {
  override readonly name = "DelayedError";
}

/** Workers died in an attempt more often than `reruns` allows. */
class InterruptedError extends Error {
  override readonly name = "InterruptedError";
}

type AttemptStep = Extract<Step<bigint>, { kind: "attempt" }>;
type Refusal = Extract<Step<bigint>, { outcome: "gave_up" }>;

/** Errors by which BullMQ says that the work moved the job, or paused the queue, itself. They are no failures. */
const MOVES = ["DelayedError", "WaitingError", "WaitingChildrenError"];
const RATE_LIMIT = "bullmq:rateLimitExceeded";
const BACKOFF_TYPE = "holdoff";
const DEFAULT_RERUNS = 3;
/** Characters of an error's text that the history keeps. */
const LONGEST_TEXT = 500;
/** The most interruptions of an attempt that do not count: it must not kill its workers for ever. */
const MOST_EXCUSED = 20;
const NEVER = 2n ** 64n - 1n;
const MILLISECOND = 1_000_000n;
/** Nanoseconds after which a guard is asked again that does not say when it lets an attempt through. */
const ASK_AGAIN = 5_000n * MILLISECOND;

/** An attempt of this process. */
interface Flight {
  readonly job: StoredJob;
  readonly queue: JobStore;
  readonly call: number;
  excused: boolean;
}

/** The attempts in flight in this process, by the key of their job. If it dies, nobody knows which of them was the cause. */
const flights = new Map<string, Flight>();

/** Writes that the interruption of attempts does not count. */
async function excuse(all: Iterable<Flight>): Promise<void> {
  const fresh = [...all].filter(({ excused }) => !excused);
  for (const flight of fresh) flight.excused = true;
  await Promise.all(fresh.map(({ job, queue, call }) => writeMark(job, queue, call, "excused")));
}

/** Runs an attempt that is known to be in flight until it has ended. */
async function inFlight<T>(job: StoredJob, queue: JobStore, call: number, attempt: () => Promise<T>): Promise<T> {
  const key = queue.toKey(job.id ?? "");
  const flight: Flight = { job, queue, call, excused: false };
  flights.set(key, flight);
  try {
    // If the marks cannot be written, the interruption counts.
    if (flights.size > 1) await excuse(flights.values()).catch(() => {});
    return await attempt();
  } finally {
    // This process may have lost the job, and taken it again.
    if (flights.get(key) === flight) flights.delete(key);
  }
}

/**
 * Retries for the jobs of a queue.
 *
 * Give {@link BullRetries.processor} and {@link BullRetries.workerOptions} to the worker, and {@link BullRetries.jobOptions} to the
 * jobs. Each event of a job is written to the job's hash in Redis before it is acted upon. So when a worker is killed, another one goes on:
 * an interrupted attempt runs again under its own number.
 */
export class BullRetries {
  private readonly policy: Policy;
  private readonly options: BullRetriesOptions;
  private readonly attempts: number;
  /** The time in nanoseconds at which the next attempt of a job is due that has just failed here. */
  private readonly due = new WeakMap<object, bigint>();

  /** Throws a {@link ConfigError} about an option that is wrong. */
  constructor(options: BullRetriesOptions) {
    const { policy, queue, guards, reruns } = options;
    this.policy = policy instanceof Policy ? policy : new Policy(policy);
    this.options = options;
    // A number that JSON and Lua can read.
    this.attempts = Math.min(attemptsOf(this.policy), Number.MAX_SAFE_INTEGER);
    if (typeof queue?.toKey !== "function") throw wrongType("queue", "a Queue of BullMQ");
    const limit = reruns ?? DEFAULT_RERUNS;
    if (!(Number.isInteger(limit) && limit >= 0)) throw wrongType("reruns", "a whole number from 0");
    for (const name of ["budget", "bulkhead"] as const) {
      if (guards?.[name]) {
        throw new ConfigError(
          147,
          "not_supported",
          `guards.${name}`,
          "",
          "cannot be held for a job that sleeps elsewhere",
        );
      }
    }
  }

  /** Options of a job: as many attempts as the policy makes, and the policy as its backoff. */
  jobOptions<Options extends JobsOptions>(
    options?: Options,
  ): Options & { attempts: number; backoff: { type: string } } {
    return { ...(options as Options), attempts: this.attempts, backoff: { type: BACKOFF_TYPE } };
  }

  /** Options of a worker. BullMQ's own limit of interruptions in a job's life is lifted: `reruns` counts them by attempt. */
  get workerOptions(): Required<Pick<WorkerOptions, "settings" | "maxStalledCount">> {
    return { settings: { backoffStrategy: this.backoffStrategy }, maxStalledCount: 2 ** 31 - 1 };
  }

  /**
   * How long a job that has failed waits, in milliseconds. Call it for the type `"holdoff"` in the `settings` of a worker that has
   * other strategies too. A job that failed outside of {@link BullRetries.processor} is not retried.
   */
  readonly backoffStrategy: BackoffStrategy = (_made, _type, _error, job) => {
    const due = job && this.due.get(job);
    return due === undefined ? -1 : Math.max(toMilliseconds(due - now()), 0);
  };

  /** The processor of a worker: runs one attempt of the job. */
  processor<Data = unknown, Result = unknown, Name extends string = string>(
    work: JobWork<Data, Result, Name>,
  ): (job: Job<Data, Result, Name>, token?: string, signal?: AbortSignal) => Promise<Result> {
    if (typeof work !== "function") throw wrongType("work", "a function");
    return async (job, token, signal) => {
      this.check(job);
      const { queue } = this.options;
      const history = await readHistory(job, queue);
      const [recorder, { step, events }] = this.resume(job, history);
      if (isRefused(step)) {
        await job.moveToDelayed(toMilliseconds(this.askAgainAt(step, history)), token);
        throw new DelayedError(`the ${step.reason} lets no attempt begin now`);
      }
      const call = events[0]?.type === "STARTED" ? history.call + 1 : history.call;
      await writeEvents(job, queue, call, events);
      const log = [...history.events, ...events];
      if (step.kind === "attempt") {
        return inFlight(job, queue, call, () => this.attempt(work, job, token, signal, recorder, step, call, log));
      }
      if (step.kind !== "sleep") throw unrecoverable(step, recorder, undefined);
      if (events.some(({ type }) => type === "ATTEMPT_FAILED")) {
        this.due.set(job, step.until);
        throw new InterruptedError(`the worker died in attempt ${recorder.attempt}, as it did before`);
      }
      // Another worker's clock is ahead, a person promoted the job, or a guard refuses it.
      await job.moveToDelayed(toMilliseconds(step.until), token);
      throw new DelayedError("the next attempt is not due yet");
    };
  }

  /** The events of the latest call of a job. */
  async eventsOf(job: StoredJob): Promise<readonly Event[]> {
    return (await readHistory(job, this.options.queue)).events;
  }

  /**
   * Call it when the process is told to stop, before `worker.close()`: if it is killed before its attempts have ended, that does not
   * count against their `reruns`.
   */
  async stopping(): Promise<void> {
    await excuse(flights.values());
  }

  /** Throws unless the job leaves the decisions to the policy. */
  private check({ opts }: Job): void {
    const { backoff } = opts;
    const attempts = opts.attempts || 1;
    const wrong = (text: string) => new UnrecoverableError(`${text}; add jobs with the jobOptions() of their retries`);
    if (attempts < this.attempts) {
      throw wrong(`the job may have ${attempts} attempts, but its policy makes ${this.attempts}`);
    }
    if (typeof backoff !== "object" || backoff.type !== BACKOFF_TYPE) {
      throw wrong(`the backoff of the job is not { type: "${BACKOFF_TYPE}" }, so its policy would not be asked`);
    }
  }

  /** Begins the job's call, or resumes it from its history. */
  private resume(job: Job, { events, moves, excused }: History): ReturnType<typeof Recorder.begin<bigint>> {
    const time = now();
    const { seed, guards, reruns } = this.options;
    const options = { guards, task: job.id };
    const last = events.at(-1)?.type;
    // A person may retry a job whose call has ended: that begins a new call.
    if (last === undefined || last === "SUCCEEDED" || last === "GAVE_UP" || last === "CANCELLED") {
      return Recorder.begin(this.policy, seed ? seed(job) : randomSeed(), time, options);
    }
    // The policy may be another one since the last deployment: decisions that were made stay.
    const recorder = replay(this.policy, events, { anyPolicy: true, ...options });
    const resumed = recorder.resume(time, (reruns ?? DEFAULT_RERUNS) + moves + Math.min(excused, MOST_EXCUSED));
    const isDue = resumed.step.kind === "sleep" && resumed.step.until <= time && resumed.events.length === 0;
    return [recorder, isDue ? recorder.tick(time) : resumed];
  }

  /** When to ask a guard again that refuses an attempt, at the latest at the job's deadline. */
  private askAgainAt({ retryAt }: Refusal, { events }: History): bigint {
    const until = retryAt === undefined || retryAt === NEVER ? now() + ASK_AGAIN : retryAt;
    const { deadline } = this.policy.toJSON();
    const [first] = events;
    if (first === undefined || typeof deadline !== "string") return until;
    const end = BigInt(first.at) + (parseNanos(deadline) ?? NEVER);
    return until < end ? until : end;
  }

  private async attempt<Data, Result, Name extends string>(
    work: JobWork<Data, Result, Name>,
    job: Job<Data, Result, Name>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
    recorder: Recorder,
    { ticket, attempt, abortAt }: AttemptStep,
    call: number,
    log: readonly Event[],
  ): Promise<Result> {
    const { queue } = this.options;
    const timeout = new DOMException("the attempt took longer than its limit", "TimeoutError");
    const limit = abortAt === NEVER ? Infinity : Number(abortAt) / 1e6;
    let result: Result;
    try {
      result = await runLimited((signal) => work(job, { attempt, token, signal }), limit, timeout, cancelled);
    } catch (error) {
      if (isMove(error)) {
        await writeMark(job, queue, call, "moved");
        throw error;
      }
      const time = now();
      const isCancelled = cancelled?.aborted === true;
      const failure = isCancelled || error === timeout ? "timeout" : this.failureOf(error);
      const text = messageOf(error).slice(0, LONGEST_TEXT);
      const fail = (one: Recorder) => one.fail(ticket, time, failure, text);
      let { step, events } = isCancelled ? recorder.cancel(time) : fail(recorder);
      // The guards have counted the failure. The policy alone says when they are asked about the next attempt.
      if (isRefused(step)) ({ step, events } = fail(replay(this.policy, log, { anyPolicy: true, task: job.id })));
      await writeEvents(job, queue, call, events);
      // BullMQ reads a message from whatever was thrown; where it cannot, the job stays active until it counts as stalled.
      const readable = error ?? new Error(`the work threw ${error}`, { cause: error });
      if (step.kind !== "sleep") throw unrecoverable(step, recorder, readable);
      this.due.set(job, step.until);
      throw readable;
    }
    await writeEvents(job, queue, call, recorder.succeed(ticket, now()).events);
    return result;
  }

  private failureOf(error: unknown): Failure {
    const { when, idempotent } = this.options;
    const verdict = when?.(error);
    if (verdict === undefined || verdict === null) {
      return this.policy.classify(error, { idempotent: idempotent ?? true });
    }
    if (typeof verdict === "string") return { kind: verdict };
    if (typeof verdict === "object") return verdict;
    if (!verdict) return { kind: "permanent" };
    const failure = classify(error);
    return failure.kind === "permanent" ? { ...failure, kind: "transient" } : failure;
  }
}

/** True if a guard refuses an attempt for now. */
const isRefused = (step: Step<bigint>): step is Refusal =>
  step.kind === "stop" && step.outcome === "gave_up" && (step.reason === "breaker" || step.reason === "limiter");

/** Nanoseconds since 1970, the same for all workers. */
const now = (): bigint => BigInt(Date.now()) * MILLISECOND;

/** Rounded up, so that no job is early. */
const toMilliseconds = (nanos: bigint): number => Number((nanos + MILLISECOND - 1n) / MILLISECOND);

const randomSeed = (): bigint => crypto.getRandomValues(new BigUint64Array(1))[0] as bigint;

const wrongType = (path: string, rule: string): ConfigError =>
  new ConfigError(101, "wrong_type", path, "", `must be ${rule}`);

function isMove(error: unknown): boolean {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  return MOVES.includes(name as string) || message === RATE_LIMIT;
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : String(error);
}

/** The error of a job that is not retried; `cause` is what its last attempt threw, if one ran here. */
function unrecoverable(step: Step<bigint>, recorder: Recorder, cause: unknown): Error {
  const gaveUp = step.kind === "stop" && step.outcome === "gave_up" ? step : undefined;
  const reason = gaveUp?.reason ?? "cancelled";
  const text = cause === undefined ? `no attempt: ${reason}` : messageOf(cause);
  const error = new UnrecoverableError(text, cause === undefined ? undefined : { cause });
  const outcome: Outcome = {
    outcome: gaveUp ? "gave_up" : "cancelled",
    reason,
    attempts: recorder.attempt,
    retryAt: gaveUp === undefined || gaveUp.retryAt === NEVER ? undefined : Number(gaveUp.retryAt) / 1e6,
    lastError: cause,
    lastResult: undefined,
  };
  return Object.defineProperty(error, OUTCOME, { value: outcome, configurable: true, writable: true });
}
