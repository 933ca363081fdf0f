/* tslint:disable */
/* eslint-disable */
/** The types of arguments and results of tools. wasm-bindgen prints them into `core.d.ts`, before the functions and classes. */

import type { PolicyFields, PresetName } from "../fields.js";
import type { GuardSet } from "../host.js";
import type { Length } from "../memory.js";
import type { Policy, Step } from "../policy.js";
import type { Time } from "../values.js";
import type {
    Cause,
    Direction,
    Ended,
    FailureKind,
    Growth,
    InTime,
    Level,
    ReplayMode,
    StopReason,
    Timer,
} from "../words.js";

import type { Event } from "./events.js";

type Maybe<T> = T | null | undefined;

/** A policy, its fields or the name of a preset. */
export type AnyPolicy = Policy | PolicyFields | PresetName;

/** Sleep until then and try again, or do not try again. */
export type Decision<T extends Time = number> =
| { readonly kind: "sleep"; readonly until: T; readonly cause: Cause }
| { readonly kind: "give_up"; readonly reason: StopReason; readonly retryAt: T };

/** One retry: what is waited before it and until then in all, in milliseconds, if attempts take no time. */
export interface Row {
    /** Which, from 1. */
    readonly retry: number;
    /** The shortest delay, whatever the draws before. */
    readonly min: number;
    /** The delay when every draw is 1/2. */
    readonly typical: number;
    readonly max: number;
    readonly minTotal: number;
    readonly typicalTotal: number;
    readonly maxTotal: number;
    /** The place of the retry before or after the deadline. */
    readonly inTime: InTime;
}

/** Settings that are valid but probably a mistake. */
export interface Lint {
    /** Its number, the same in every language. */
    readonly code: number;
    /** The word for it, such as `no_jitter`. */
    readonly word: string;
    readonly text: string;
    /** The number in the policy, and the limit it is compared with; times in milliseconds. */
    readonly found: number | undefined;
    readonly limit: number | undefined;
}

/** An explanation: its rows as data, and everything as text. */
export interface Explanation {
    readonly rows: readonly Row[];
    readonly lints: readonly Lint[];
    /** The policy in words, a table of its retries, and what the linter says. The same text in every language. */
    toString(): string;
}

/** The options of an explanation. */
export interface ExplainOptions {
    /** The most rows. */
    rows?: number | null | undefined;
    /** The kind of the failures. */
    after?: FailureKind | null | undefined;
}

/** The options of lints. */
export interface LintOptions {
    /** The time that somebody waits for the operation. */
    within?: Length | null | undefined;
}

/** A policy read from a foreign document. */
export interface FromForm {
    readonly policy: Policy;
    /** The names of the types of errors that are never retried (Temporal). */
    readonly errorTypes: readonly string[];
}

/** The choices for a gate. */
export interface GateOptions {
    /** The first delay; 1 s unless given. */
    initial?: Maybe<Length>;
    /** The factor of each further failure; 2 unless given. */
    factor?: Maybe<number>;
    /** The longest delay; 5 minutes unless given, `"none"` for no limit. */
    max?: Maybe<Length>;
    /** The part of a delay that jitter moves it by, and which way; none and up unless given. */
    jitter?: Maybe<number>;
    direction?: Maybe<Direction>;
    /** `initial * factor^n`, or the last delay, jitter included, times the factor; power unless given. */
    growth?: Maybe<Growth>;
    /** How many failures are let off, and with what delay instead; none unless given. */
    grace?: Maybe<number>;
    graceDelay?: Maybe<Length>;
    /** True if the first failure after the grace already counts as the second. */
    ahead?: Maybe<boolean>;
    /** How many failures a success takes back, or all; 1 unless given. */
    forgives?: Maybe<number | "all">;
    /** For how long at least it closes after a success. */
    rest?: Maybe<Length>;
    /** After more than this between two failures the second is the first again; never unless given. */
    quiet?: Maybe<Length>;
    /** For how long an entry that has been open is worth keeping, without failures and with; 5 minutes unless given. */
    keep?: Maybe<Length>;
    keepFailed?: Maybe<Length>;
    /** The unit that delays are rounded to. */
    quantum?: Maybe<Length>;
}

/** The choices for an entry of Kubernetes' `flowcontrol.Backoff`. */
export interface FlowcontrolOptions {
    initial: Length;
    max: Length;
    /** The part of a delay that jitter may add; 0 unless given. */
    maxJitter?: Maybe<number>;
    /** After more than this between two failures the second is the first again; twice `max` unless given. */
    quiet?: Maybe<Length>;
}

/** Chromium's policy, by its own names. */
export interface ChromiumPolicy {
    num_errors_to_ignore: number;
    initial_delay_ms: number;
    multiply_factor: number;
    jitter_factor: number;
    maximum_backoff_ms: number;
    entry_lifetime_ms: number;
    always_use_initial_delay: boolean;
}

/** How a gate stands. */
export interface GateState<T extends Time = number> {
    readonly failures: number;
    /** The delay after the last failure. */
    readonly delay: T;
    /** When it opens or opened. */
    readonly release: T;
    readonly isOpen: boolean;
    /** True if it can be thrown away. */
    readonly isDiscardable: boolean;
    /** True if the last delay, counted from the failure, still covers something that happened at `event`. */
    readonly covers: boolean;
    /** True if less time than the last delay has passed since `event`. */
    readonly coversSince: boolean;
    /** True if a failure would use its draw. */
    readonly draws: boolean;
}

/** How many keys there may be. */
export interface GatesOptions {
    /** Then the one used longest ago is given up for a new one; 10000 unless given. */
    most?: Maybe<number>;
}

/** How fast a bucket fills and how much it holds. */
export interface BucketOptions {
    /** How many tokens drip in each `per`, 1 s unless given. */
    rate: number;
    per?: Maybe<Length>;
    /** How many of them are kept. */
    burst: number;
}

/** How much fails on purpose, and how long attempts are held up. */
export interface ChaosRates {
    /** A whole number from 0 to 2^64-1; 0 unless given. */
    seed?: Maybe<number | bigint>;
    /** The share of the attempts that fail, from 0 to 1; 0 unless given. */
    failureRate?: Maybe<number>;
    /** The share of the attempts that are held up, from 0 to 1; 1 unless given. */
    latencyRate?: Maybe<number>;
    /** The shortest latency: milliseconds, text with a unit, or nanoseconds as a bigint; 0 unless given. */
    shortest?: Maybe<Length>;
    /** The longest latency; 0 unless given. */
    longest?: Maybe<Length>;
}

/** A backoff that carries its configuration: Kubernetes' `wait.Backoff`. */
export interface WaitBackoffOptions {
    /** The first delay: milliseconds, text with a unit, or nanoseconds as a bigint. */
    duration: Length;
    /** The factor of the duration at each step; 0, unless given, for none. */
    factor?: Maybe<number>;
    /** The part of a delay that jitter may add; 0 unless given. */
    jitter?: Maybe<number>;
    /** How many steps may multiply; none unless given. */
    steps?: Maybe<number | bigint>;
    /** The largest duration; `"none"` unless given. */
    cap?: Maybe<Length>;
}

/** The fields of a Kubernetes `wait.Backoff`. */
export interface KubernetesBackoff {
    duration: Length;
    factor: number;
    jitter: number;
    steps: number | bigint;
    /** Nanoseconds. */
    cap: number | bigint;
}

/** How a wait backoff stands. */
export interface WaitBackoffState {
    /** The delay of the next step before jitter, in nanoseconds. */
    readonly duration: bigint;
    /** How many steps may still multiply it. */
    readonly steps: bigint;
    readonly cap: bigint;
    /** True if a step uses its draw. */
    readonly draws: boolean;
}

/** When a loop backoff begins again with its first delay: after so much quiet, or so long after it last did; else never. */
export interface LoopBackoffReset {
    afterQuiet?: Maybe<Length>;
    every?: Maybe<Length>;
}

/** The arguments of Kubernetes' `NewExponentialBackoffManager`. */
export interface ExponentialOptions {
    initial: Length;
    max: Length;
    reset: Length;
    factor: number;
    jitter: number;
}

/** How a periodic loop goes about it. */
export interface PeriodicOptions {
    /**
     * Where the time between runs comes from: asked of the loop backoff before each (`"variable"`, unless given), a grid
     * whose mesh is asked once, of whose missed ticks one is kept or none, or nowhere. `"poll"` is what Kubernetes'
     * `Backoff.Timer` takes.
     */
    timer?: Maybe<Timer | "poll">;
    /** True (the default) if an interval begins with the end of a run. */
    sliding?: Maybe<boolean>;
    /** True (the default) if the first run comes before the first interval. */
    immediate?: Maybe<boolean>;
    /** True if an immediate first run takes place even after a cancellation or the deadline. */
    firstIsSure?: Maybe<boolean>;
    /** True if runs end with the steps of the backoff. */
    bySteps?: Maybe<boolean>;
    /** True for one last run when the time is up. */
    lastAtDeadline?: Maybe<boolean>;
    /** How long the whole may take; `"none"` unless given. */
    deadline?: Maybe<Length>;
}

/** The next step of a periodic loop. */
export type PeriodicStep<T extends Time = number> =
/** Run it, then tell what it found with `finish`. */
| { readonly kind: "run"; readonly run: number }
/** Wait until then, then tick. */
| { readonly kind: "sleep"; readonly until: T }
/** A run is in flight. */
| { readonly kind: "wait" }
| { readonly kind: "stop"; readonly ended: Ended };

/** How far a periodic loop is: its runs and intervals, the last interval in nanoseconds, and its deadline. */
export interface PeriodicState {
    readonly runs: number;
    readonly intervals: number;
    readonly interval: bigint;
    readonly deadline: bigint;
}

/** The options between two levels of retries. */
export interface LayersOptions {
    /** How many attempts there may be over both; as many as the two policies allow unless given. */
    attempts?: Maybe<number>;
    /**
     * True for each reason after which the outer level goes on when the inner one gave up. By default it goes on after attempts,
     * deadline and hint, and not after a permanent failure.
     */
    goOnAfter?: Maybe<Partial<Record<StopReason, boolean>>>;
}

/** The attempts of a call inside a call, and how it ended. */
export interface LayeredState {
    readonly attempt: number;
    readonly outerAttempt: number;
    readonly innerAttempt: number;
    readonly stoppedBy: Level | undefined;
    readonly innerReason: StopReason | undefined;
}

/** How to resume. */
export interface ResumeOptions {
    /** Take it although it was saved under another policy, which is known to differ harmlessly. */
    forced?: Maybe<boolean>;
    /** How long it lay, if that is to count: against the deadline, and as sleep. */
    away?: Maybe<Length>;
}

/** A saved state: bytes, JSON as text, or the object read from it. */
export type Saved = Uint8Array | string | object;

/** A log: its bytes, or its events, each as an object or as its JSON. */
export type Log = Uint8Array | Iterable<Event | object | string>;

/** The answer of a transition: the next step, and the events to store before following it. */
export interface Recorded<T extends Time = number> {
    readonly step: Step<T>;
    readonly events: readonly Event[];
}

/** States of guards by the names of the guards. */
export type SavedGuards = {
    readonly [Name in "budget" | "breaker" | "limiter" | "adaptive" | "stretch" | "hedge"]?: Uint8Array;
};

/** The options of a recorded call. */
export interface RecorderOptions {
    /** The guards that the call shares with others; a call that begins without guards takes none later. */
    guards?: Maybe<GuardSet>;
    /** The name of its task, which its events have as `payload.taskId`. */
    task?: Maybe<string>;
}

/** How to read a log. */
export interface ReplayOptions extends RecorderOptions {
    /**
     * Which decision counts where the log has one and the policy makes another: the log's (`"follow"`, unless given), or none:
     * the first difference is an error (`"verify"`).
     */
    mode?: Maybe<ReplayMode>;
    /** The log may have been written under another policy. */
    anyPolicy?: Maybe<boolean>;
}

declare global {
    interface SymbolConstructor {
        /** Declared here for programs whose `lib` is older. */
        readonly dispose: unique symbol;
    }
}
import type { Failure } from "../hooks.js";
import type { Same } from "../values.js";
import type { Answer, FormName } from "../words.js";



/**
 * Tokens that drip into a bucket, as `golang.org/x/time/rate` counts them. Full at `now`.
 */
export class Bucket {
    free(): void;
    [Symbol.dispose](): void;
    constructor(options: BucketOptions, now: Time);
    /**
     * Takes `count` tokens at `now` and says how long they take to be there, in nanoseconds; undefined, and nothing is taken,
     * for more than a burst or when that is longer than `longest` (0 takes only the tokens there are).
     */
    reserve<T extends Time>(count: Time, now: T, longest?: Time | null): Same<T> | undefined;
    /**
     * The tokens there are at `now`; negative while some are reserved that are not there yet.
     */
    tokensAt(now: Time): number;
}

/**
 * The whole loop as a machine. Every answer is the step that holds now: an input out of order, too early, after the end or
 * with another attempt's ticket changes nothing. Times that run backwards read as the latest one seen.
 */
export class Call {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * A call that begins at `now`, and its first step.
     */
    static begin<T extends Time>(policy: Policy, seed: number | bigint, now: T): [call: Call, step: Step<Same<T>>];
    /**
     * The caller wants no more of it.
     */
    cancel<T extends Time>(now: T): Step<Same<T>>;
    /**
     * The attempt with this ticket failed at `now`.
     */
    fail<T extends Time>(ticket: number | bigint, now: T, failure: Failure | FailureKind): Step<Same<T>>;
    /**
     * The attempt with this ticket succeeded at `now`.
     */
    succeed<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>>;
    /**
     * Nothing but time has passed.
     */
    tick<T extends Time>(now: T): Step<Same<T>>;
    /**
     * A call whose first attempt, ticket 1, already runs since `started`.
     */
    static underway(policy: Policy, seed: number | bigint, started: Time): Call;
}

/**
 * Which attempts fail on purpose and how long each is held up, by its number from 0.
 */
export class Chaos {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * True if the attempt fails on purpose.
     */
    fails(k: Time): boolean;
    /**
     * The nanoseconds by which the attempt is held up.
     */
    latency(k: Time): bigint;
    constructor(rates: ChaosRates);
}

/**
 * The checked choices for gates.
 */
export class GateConfig {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Chromium's `net::BackoffEntry`, from its policy, whose times are milliseconds and whose -1 is no limit.
     */
    static chromium(policy: ChromiumPolicy): GateConfig;
    /**
     * An item of Kubernetes' `ItemFastSlowRateLimiter`; `slow` at once for a number of attempts that is not positive.
     */
    static fastSlow(fast: Length, slow: Length, maxFastAttempts: number | bigint): GateConfig;
    /**
     * An entry of Kubernetes' `flowcontrol.Backoff`; it begins again after `quiet`, twice `max` unless given.
     */
    static flowcontrol(options: FlowcontrolOptions): GateConfig;
    /**
     * An item of Kubernetes' `ItemExponentialFailureRateLimiter`.
     */
    static itemExponential(base: Length, max: Length): GateConfig;
    constructor(options?: GateOptions | null);
}

/**
 * A gate for each key: a host, an item, an image. A key that is not known has a gate that is open. Times are nanoseconds since
 * any moment, as numbers or bigints, and come back in the same type.
 */
export class Gates<K> {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Throws away the gates that are not worth keeping at `now`; how many.
     */
    collect(now: Time): number;
    /**
     * It failed at `now`, over something that happened at `event`; says for how long it closes, for a draw `u`.
     */
    failure<T extends Time>(key: K, now: T, u?: number | null, event?: Time | null): Same<T>;
    /**
     * Starts anew; true if there was anything to forget.
     */
    forget(key: K): boolean;
    /**
     * True if it is open at `now`.
     */
    isOpen(key: K, now: Time): boolean;
    /**
     * The keys, the one used longest ago first.
     */
    keys(): IterableIterator<K>;
    /**
     * How it stands at `now`, with regard to something that happened at `event`.
     */
    look<T extends Time>(key: K, now: T, event?: Time | null): GateState<Same<T>>;
    constructor(config?: GateConfig | GateOptions | null, options?: GatesOptions | null);
    /**
     * It opens at `release` and no other time, until a failure puts it off: a server's answer, or a person's choice.
     */
    releaseAt(key: K, release: Time): void;
    /**
     * It succeeded at `now`.
     */
    success(key: K, now: Time): void;
    /**
     * The number of keys.
     */
    readonly size: number;
}

/**
 * A call inside a call: driven as a {@link Call} is.
 */
export class Layered {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Begins at `now` with the first attempt of both levels, and its first step.
     */
    static begin<T extends Time>(layers: Layers, seed: number | bigint, now: T): [layered: Layered, step: Step<Same<T>>];
    /**
     * The caller wants no more of it.
     */
    cancel<T extends Time>(now: T): Step<Same<T>>;
    /**
     * The attempt with this ticket failed at `now`. `outward` is what the outer level is told if the inner one gives up.
     */
    fail<T extends Time>(ticket: number | bigint, now: T, failure: Failure | FailureKind, outward?: Failure | FailureKind | null): Step<Same<T>>;
    /**
     * How long it still sleeps at `now`, in nanoseconds; 0 when it does not sleep.
     */
    remaining<T extends Time>(now: T): Same<T>;
    /**
     * The attempt with this ticket succeeded at `now`.
     */
    succeed<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>>;
    /**
     * Nothing but time has passed.
     */
    tick<T extends Time>(now: T): Step<Same<T>>;
    /**
     * One whose first attempt, ticket 1, already runs since `started`.
     */
    static underway(layers: Layers, seed: number | bigint, started: Time): Layered;
    /**
     * Why the inner level would give up if that attempt failed like that; undefined when it would not.
     */
    wouldGiveUp(ticket: number | bigint, now: Time, failure: Failure | FailureKind): StopReason | undefined;
    /**
     * The attempts so far, and once it gave up the level that did and why the inner one last did.
     */
    readonly state: LayeredState;
}

/**
 * The policies of both levels.
 */
export class Layers {
    free(): void;
    [Symbol.dispose](): void;
    constructor(outer: Policy, inner: Policy, options?: LayersOptions | null);
    /**
     * The most attempts there can be over both levels, or Infinity.
     */
    readonly attempts: number;
}

/**
 * The delays between the runs of something that runs for ever.
 */
export class LoopBackoff {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Kubernetes' `NewExponentialBackoffManager`.
     */
    static exponential(options: ExponentialOptions, now?: Time | null): LoopBackoff;
    /**
     * Kubernetes' `NewJitteredBackoffManager`.
     */
    static jittered(period: Length, jitter: number): LoopBackoff;
    /**
     * The delays of a wait backoff, made at `now`.
     */
    constructor(backoff: WaitBackoff | WaitBackoffOptions, reset?: LoopBackoffReset | null, now?: Time | null);
    /**
     * The delay to wait at `now`, in nanoseconds, for a draw `u` from [0, 1).
     */
    next<T extends Time>(now: T, u?: number | null): Same<T>;
    /**
     * Kubernetes' `Backoff.DelayWithReset`.
     */
    static withReset(backoff: WaitBackoff | WaitBackoffOptions, reset: Length, now?: Time | null): LoopBackoff;
    /**
     * Its backoff as it stands.
     */
    readonly state: WaitBackoffState;
}

/**
 * Something that runs again and again, as a machine: no timer, no clock.
 */
export class Periodic {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * The caller wants no more of it; a run in flight is the last one.
     */
    cancel(): PeriodicStep;
    /**
     * The run with this number ended at `now`.
     */
    finish<T extends Time>(run: number, now: T, answer: Answer): PeriodicStep<Same<T>>;
    /**
     * Runs at the intervals of a loop backoff, made at `now`, from which a deadline counts.
     */
    constructor(loopBackoff: LoopBackoff, options: PeriodicOptions, seed: number | bigint, now: Time);
    /**
     * Nothing but time has passed: begins it, or starts the next run if it is due.
     */
    tick<T extends Time>(now: T): PeriodicStep<Same<T>>;
    /**
     * How many runs there were and how many intervals were asked for, the last of them in nanoseconds, and the deadline.
     */
    readonly state: PeriodicState;
}

/**
 * The whole loop as a machine that says what to write down: as `Call`, and under guards as `GuardedCall`, but it does not hedge.
 * Write the events of a transition before you do what its step says: a crash between the two loses nothing. `replay` makes the
 * same recorder from the log, which goes on with {@link Recorder.resume}. Logs are read by other processes, so let times be
 * nanoseconds since 1970, as bigints: `BigInt(Date.now()) * 1_000_000n`.
 */
export class Recorder {
    private constructor();
    free(): void;
    [Symbol.dispose](): void;
    /**
     * The attempt with this ticket ended at `now` by a fault of the program's own; in the log that is a permanent failure.
     */
    abandon<T extends Time>(ticket: number | bigint, now: T, reason?: string | null): Recorded<Same<T>>;
    /**
     * A call that begins at `now`, its first step and its first events.
     */
    static begin<T extends Time>(policy: Policy, seed: number | bigint, now: T, options?: RecorderOptions | null): [recorder: Recorder, recorded: Recorded<Same<T>>];
    /**
     * The caller wants no more of it.
     */
    cancel<T extends Time>(now: T): Recorded<Same<T>>;
    /**
     * The attempt with this ticket failed at `now`; `reason` is the text of the failure in its events.
     */
    fail<T extends Time>(ticket: number | bigint, now: T, failure: Failure | FailureKind, reason?: string | null): Recorded<Same<T>>;
    /**
     * Goes on at `now` with a call that was made from its log. Asleep, it sleeps on. An attempt in flight was interrupted and
     * runs again, under its own number, but only `reruns` times (3 unless given); then it has failed, as a timeout.
     */
    resume<T extends Time>(now: T, reruns?: number | null): Recorded<Same<T>>;
    /**
     * The attempt with this ticket succeeded at `now`.
     */
    succeed<T extends Time>(ticket: number | bigint, now: T): Recorded<Same<T>>;
    /**
     * Nothing but time has passed, or a place in the bulkhead has come free.
     */
    tick<T extends Time>(now: T): Recorded<Same<T>>;
    /**
     * The attempt in flight or else the last one that ran, 0 for none.
     */
    readonly attempt: number;
    /**
     * The call without its hold on guards, for `save`.
     */
    readonly call: Call;
    /**
     * True if it began with guards.
     */
    readonly isGuarded: boolean;
    /**
     * How often the attempt in flight was run again.
     */
    readonly reruns: number;
    /**
     * The place in the log of its latest event.
     */
    readonly sequence: number;
    /**
     * When it began, in nanoseconds.
     */
    readonly started: bigint;
    /**
     * The step that holds.
     */
    readonly step: Step<bigint>;
}

/**
 * One decision a failure: the state of one operation, without its loop.
 */
export class Retry {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * An operation that started at `now`. A fixed seed repeats its jitter.
     */
    constructor(policy: Policy, seed: number | bigint, now: Time);
    /**
     * Decides about an attempt that failed at `now`.
     */
    onFailure<T extends Time>(now: T, failure: Failure | FailureKind): Decision<Same<T>>;
}

/**
 * A policy's delays in nanoseconds, as they would be slept if every attempt failed at once: for previews and other people's
 * loops. Bigints when the seed is one.
 */
export class Schedule<N extends Time = number> {
    [Symbol.iterator](): this;
    free(): void;
    [Symbol.dispose](): void;
    /**
     * The base delay, before jitter, after failure `n`, from 0; in nanoseconds, exactly where `n` is a bigint.
     */
    static baseAt<T extends Time>(policy: Policy, n: T): Same<T>;
    constructor(policy: Policy, seed: N);
    /**
     * The next delay after a failure of this kind if `u` from [0, 1) is drawn for it; undefined when there is none.
     */
    nextAt(u: number, kind?: FailureKind | null): Same<N> | undefined;
    next(): IteratorResult<Same<N>, undefined>;
}

/**
 * A delay that is its own state: each step says one and moves on. Exact, in nanoseconds as bigints.
 */
export class WaitBackoff {
    free(): void;
    [Symbol.dispose](): void;
    /**
     * Kubernetes' `wait.Jitter`: the duration and up to `maxFactor` of it more; a factor that is not positive reads as 1.
     */
    static kubernetesJitter(duration: Length, maxFactor: number): WaitBackoff;
    /**
     * From the fields of a Kubernetes `wait.Backoff`, where a jitter, cap or steps that is not positive means none.
     */
    static kubernetes(fields: KubernetesBackoff): WaitBackoff;
    constructor(options: WaitBackoffOptions);
    /**
     * The next delay, for a draw `u` from [0, 1).
     */
    step(u?: number | null): bigint;
    readonly state: WaitBackoffState;
}

/**
 * A policy's bounded jitter applied to a delay in nanoseconds for a drawn whole number, a bigint of 64 bits with a sign or a
 * safe integer, in place of a uniform: `delay + (drawn mod bound)`, the remainder from 0 on. Exact where a bound has more
 * bits than a double. Other kinds leave the delay as it is.
 */
export function applyDrawn<T extends Time>(policy: Policy, delay: T, drawn: number | bigint): Same<T>;

/**
 * A policy's jitter applied to a delay in nanoseconds, at most `max`, for the draw `u` from [0, 1).
 */
export function applyJitter<T extends Time>(policy: Policy, delay: T, max: Time, u: number): Same<T>;

/**
 * How many attempts a policy makes; Infinity for one without end.
 */
export function attemptsOf(policy: Policy): number;

/**
 * One event from its JSON form: text, or the object read from it. Throws a {@link ReplayError} about the field that is wrong.
 */
export function eventFromJson(event: string | object): Event;

/**
 * An event as bytes: a log is one after the other. Its failure's text is its own unless another is given; text of more than
 * 65535 bytes is cut.
 */
export function eventToBytes(event: string | object, reason?: string | null): Uint8Array;

/**
 * The events of a log's bytes. Throws a {@link ReplayError} with the number of the event that cannot be read.
 */
export function eventsFromBytes(bytes: Uint8Array): Event[];

/**
 * Explains a policy, its fields or a preset: at most `rows` retries (all of them up to 100, 10 of one without an end), after
 * failures of the kind `after` (transient, and in the text every kind that has delays of its own).
 */
export function explain(policy: AnyPolicy, options?: ExplainOptions | null): Explanation;

/**
 * Reads a policy that another system wrote: JSON as text, or what was read from it. A gRPC service config with several
 * policies needs the index of one, `entry`. `errorTypes` are the names of the types of errors that are never retried
 * (Temporal).
 */
export function fromForm(form: FormName, document: string | object, options?: { entry?: number } | null): FromForm;

/**
 * The lint of nested retries, the outermost first: their attempts multiply. `found` is how often the innermost operation
 * runs at most, undefined for ever.
 */
export function lintNested(policies: readonly AnyPolicy[]): Lint | undefined;

/**
 * The lints of a policy, its fields or a preset, for a caller that waits `within` at most.
 */
export function lints(policy: AnyPolicy, options?: LintOptions | null): Lint[];

/**
 * The names of the presets.
 */
export function presets(): PresetName[];

/**
 * The recorder that wrote a log, which goes on with {@link Recorder.resume}. Throws a {@link ReplayError} about the first
 * event that is damaged, missing, impossible, or not the policy's decision.
 */
export function replay(policy: Policy, log: Log, options?: ReplayOptions | null): Recorder;

/**
 * Gives the guards of a set the states that were saved.
 */
export function restoreGuards(guards: GuardSet, saved: SavedGuards, now: Time): void;

/**
 * The loop that was saved, on a clock that reads `now`; its `tick` says the next step. An attempt that was in flight is
 * abandoned: it fails now, as a timeout.
 */
export function resumeCall(saved: Saved, policy: Policy, now: Time, options?: ResumeOptions | null): Call;

/**
 * The machine that was saved, on a clock that reads `now`. Throws a ConfigError about what is damaged or another's.
 */
export function resumeRetry(saved: Saved, policy: Policy, now: Time, options?: ResumeOptions | null): Retry;

/**
 * The state of a machine at `now` as bytes: 56 of a retry, 72 of a call.
 */
export function save(machine: Retry | Call, now: Time): Uint8Array;

/**
 * The states of a set of guards at `now`: bytes by the names of the guards.
 */
export function saveGuards(guards: GuardSet, now: Time): SavedGuards;

/**
 * The same as JSON.
 */
export function saveJson(machine: Retry | Call, now: Time): string;

/**
 * The policy as another system writes it. Throws a ConfigError when it cannot be said there.
 */
export function toForm(form: FormName, policy: Policy, options?: { errorTypes?: readonly string[] } | null): string;

/**
 * The policy as a JSON document, which is the same in every language and reads back to the same policy.
 */
export function toJson(policy: Policy): string;

/**
 * How long all sleeps take together if no draw spreads them, in milliseconds; undefined without an end. The deadline is not
 * looked at.
 */
export function totalWait(policy: AnyPolicy): number | undefined;

/**
 * The same in exact nanoseconds.
 */
export function totalWaitNanos(policy: AnyPolicy): bigint | undefined;
