/** Everything that a plain retry does without, loaded only if imported. */
import "../policies/index.js";
import "../rules/index.js";
import { type Clock, hostNow, system } from "../clock.js";
import { ConfigError, WRONG_TYPE } from "../errors.js";
import type { Failure } from "../hooks.js";
import type { GuardSet } from "../host.js";
import type { Time } from "../values.js";
import { decoder } from "../values.js";
import type { FailureKind } from "../words.js";
import * as core from "./core.js";
import { eventFromJson, eventsFromBytes, eventToBytes } from "./core.js";
import type { Event as AnyEvent } from "./events.js";
import type { Log, SavedGuards } from "./types.js";

export type { Length } from "../memory.js";
export type { FormName } from "../words.js";
export { type ChaosOptions, chaos, withChaos } from "./chaos.js";
export {
  applyDrawn,
  applyJitter,
  attemptsOf,
  Bucket,
  Call,
  Chaos,
  explain,
  fromForm,
  GateConfig,
  Gates,
  Layered,
  Layers,
  LoopBackoff,
  lintNested,
  lints,
  Periodic,
  presets,
  Recorder,
  Retry,
  replay,
  resumeCall,
  resumeRetry,
  Schedule,
  save,
  saveJson,
  toForm,
  toJson,
  totalWait,
  totalWaitNanos,
  WaitBackoff,
} from "./core.js";
export { type Digits, ReplayError } from "./events.js";
export type * from "./types.js";
export type { Incident };

Object.assign(core.Schedule.prototype, {
  [Symbol.iterator](): unknown {
    return this;
  },
});

/** An event: the names and values of one line of a log. */
export type Event = AnyEvent;

/** Forms of events. */
export const Event = Object.freeze({
  /** One event from its JSON form: text, or the object read from it. Throws a `ReplayError` about the field that is wrong. */
  fromJson: eventFromJson,
  /**
   * An event as bytes: a log is one after the other. Its failure's text is its own unless another is given; text of more than
   * 65535 bytes is cut.
   */
  toBytes: eventToBytes,
  /** The events of a log's bytes. Throws a `ReplayError` with the number of the event that cannot be read. */
  readAll: eventsFromBytes,
});

/** An attempt of an incident failed. Its message is the text that the log has, or names the kind. */
export class RecordedError extends Error {
  override readonly name = "RecordedError";
  /** The failure that the log has: its kind and its hint, in nanoseconds. */
  declare readonly failure: Failure;
  /** @internal */
  constructor(text: string, failure: Failure) {
    super(text || `${failure.kind} failure of an incident`);
    this.failure = failure;
  }
}

/** An attempt of an incident that ended. */
export interface RecordedAttempt {
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** How it failed; undefined if it succeeded. */
  readonly failure: Failure | undefined;
  /** The text that the log has beside the failure; empty without one. */
  readonly text: string;
}

/** The attempts of a call, from its log. */
class Incident {
  /** The attempts that ended, in their order. */
  readonly attempts: readonly RecordedAttempt[];
  /**
   * Options for `retry`: the seed of the call, with which its policy decides the same again, and a `when` that judges a
   * {@link RecordedError} as the log does and leaves other errors to the default rules.
   */
  readonly options: {
    readonly seed: bigint;
    readonly when: (error: unknown) => Failure | undefined;
  };

  /** @internal */
  constructor(events: readonly Event[]) {
    const attempts: RecordedAttempt[] = [];
    let seed = 0n;
    let began: bigint | undefined;
    for (const event of events) {
      const { type, at, attemptNumber, failureReason: text = "" } = event;
      if (type === "STARTED") seed = BigInt(event.seed);
      if (type === "STARTED" || type === "RESUMED") began = attemptNumber ? BigInt(at) : undefined;
      if (type !== "ATTEMPT_FAILED" && type !== "SUCCEEDED") continue;
      const took = began === undefined ? 0 : Number(BigInt(at) - began) / 1e6;
      const failure = type === "SUCCEEDED" ? undefined : failureOf(event.failure, event.hint);
      attempts.push({ tookMs: Math.max(took, 0), failure, text });
    }
    if (attempts.length === 0) throw new ConfigError(WRONG_TYPE, "wrong_type", "log", "", "has no attempt that ended");
    this.attempts = attempts;
    this.options = { seed, when: (error) => (error instanceof RecordedError ? error.failure : undefined) };
  }

  /**
   * A function whose calls take as long as the attempts did and fail as they did; later calls, and attempts that succeeded, resolve
   * with the value. Time is that of `clock`, by default of the host's timers, which a test may have made fake.
   */
  work<V = undefined>(value?: V, clock: Pick<Clock, "setTimeout"> = system): () => Promise<V> {
    const attempts = this.attempts.values();
    return async () => {
      const { value: attempt } = attempts.next();
      if (attempt?.tookMs) await new Promise<void>((resolve) => clock.setTimeout(resolve, attempt.tookMs));
      if (attempt?.failure) throw new RecordedError(attempt.text, attempt.failure);
      return value as V;
    };
  }
}

function failureOf(kind: FailureKind, hint: string): Failure {
  if (hint === "none") return { kind };
  return { kind, hint: hint === "never" ? hint : BigInt(hint) };
}

/** Another realm has a class of its own for bytes. */
const isBytes = (log: Log): log is Uint8Array => ArrayBuffer.isView(log);

/** The first bytes of a log in JSON: a brace or white space. Events as bytes begin with another one. */
const JSON_STARTS: readonly (number | undefined)[] = [..."{ \t\r\n"].map((letter) => letter.charCodeAt(0));

/** The call that a log tells of: its bytes, its lines of JSON as text or as bytes, or its events. */
export function incident(log: Log | string): Incident {
  if (typeof log === "string") {
    const lines = log.split("\n").filter((line) => line.trim());
    return new Incident(lines.map((line) => Event.fromJson(line)));
  }
  if (!isBytes(log)) return new Incident(Array.from(log, (event) => Event.fromJson(event)));
  return JSON_STARTS.includes(log[0]) ? incident(decoder.decode(log)) : new Incident(Event.readAll(log));
}

/**
 * The states of a set of guards as bytes by the names of the guards, for another process or another clock; `now` is in nanoseconds.
 * Attempts in flight are not saved, so a bulkhead has no state. Throws a `ConfigError` about a value that is no set of guards.
 */
export const saveGuards = (guards: GuardSet, now: Time = hostNow()): SavedGuards => core.saveGuards(guards, now);

/**
 * Gives the guards of a set the states that were saved under configurations of the same kinds; guards without a saved state keep
 * theirs. Throws a `ConfigError` about a state that is damaged or another guard's, and changes nothing then.
 */
export const restoreGuards = (guards: GuardSet, saved: SavedGuards, now: Time = hostNow()): void =>
  core.restoreGuards(guards, saved, now);
