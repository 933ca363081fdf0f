/** The failures of a call that was logged, to happen again in a test. */
import { type Clock, system } from "../clock.js";
import { ConfigError, WRONG_TYPE } from "../errors.js";
import type { Failure } from "../failure.js";
import { decoder } from "../utf8.js";
import type { FailureKind } from "../words.js";
import { Event } from "./event.js";
import type { Log } from "./types.js";

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
export class Incident {
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
