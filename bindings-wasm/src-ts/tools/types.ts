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
