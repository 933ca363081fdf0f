/** Policies: what to do after a failure, checked once. */
import { readNumber, SPAN, takePolicy, wasm, writeDouble, writeText } from "./core.js";
import { configError, problem, WRONG_TYPE } from "./errors.js";
import { checkBeside, checkHost, checkWork, type HostOptions, isFields, type Work } from "./host.js";
import { run } from "./run.js";

/** Milliseconds, or a number with its unit: `"250ms"`, `"1.5s"`, `"2m"`. */
export type Duration = number | string;
type Maybe<T> = T | null | undefined;

/** How delays grow, before jitter. */
export interface BackoffFields {
  kind?: Maybe<"constant" | "linear" | "exponential">;
  /** The first delay; 100 ms unless given. */
  initial?: Maybe<Duration>;
  /** Another name of `initial`, for constant delays. */
  delay?: Maybe<Duration>;
  /** Exponential: what each failure multiplies the delay by; 2 unless given. */
  factor?: Maybe<number>;
  /** Linear: what each failure adds; as much as `initial` unless given. */
  increment?: Maybe<Duration>;
  /** The longest delay; 5 s unless given, `"none"` for no limit. */
  max?: Maybe<Duration>;
}

/** How delays are spread. */
export interface JitterFields {
  kind?: Maybe<"none" | "full" | "equal" | "additive" | "proportional">;
  /** Additive and proportional: the part of the delay that is spread. */
  factor?: Maybe<number>;
}

/** What is done with a server's word on when to come back. */
export interface HintFields {
  /** Never before it, exactly then, or not at all; floor unless given. */
  mode?: Maybe<"floor" | "replace" | "ignore">;
  /** The longest one that is obeyed; 60 s unless given, `"none"` for any. */
  max?: Maybe<Duration>;
  /** What happens with a longer one; stop unless given. */
  over?: Maybe<"stop" | "clamp">;
}

/** The fields of a policy. What is not given (or null) has its default. Names in snake_case are accepted too. */
export interface PolicyFields {
  backoff?: Maybe<"constant" | "linear" | "exponential" | BackoffFields>;
  jitter?: Maybe<"none" | "full" | "equal" | "additive" | "proportional" | JitterFields>;
  /** How many attempts there may be, the first one included; 3 unless given. */
  attempts?: Maybe<number | "forever">;
  /** How long the whole operation may take, sleeps included; no limit unless given. */
  deadline?: Maybe<Duration>;
  /** What an attempt must have left before the deadline to be worth starting. */
  minAttempt?: Maybe<Duration>;
  min_attempt?: Maybe<Duration>;
  /** When the next attempt would not fit: give up at once, or sleep less for one last attempt; stop unless given. */
  onDeadline?: Maybe<"stop" | "clip">;
  on_deadline?: Maybe<"stop" | "clip">;
  /** How long one attempt may take; no limit unless given. */
  attemptTimeout?: Maybe<Duration>;
  attempt_timeout?: Maybe<Duration>;
  hint?: Maybe<"floor" | "replace" | "ignore" | HintFields>;
}

/** What to do after a failure: immutable, to be shared by any number of operations. */
export class Policy {
  /** What crosses into the core. */
  private readonly words: Uint32Array;
  /** The first attempt's limit in nanoseconds. */
  private readonly limit: number;

  /** Throws a {@link ConfigError} that names field, value and rule. */
  constructor(fields: PolicyFields = {}) {
    if (!isFields(fields)) throw problem(WRONG_TYPE, "policy", fields);
    // All is read before the core hears of it: a getter may make a policy, too, and the core has one desk.
    const given = collect([], "", fields);
    const core = wasm();
    core.policy_start();
    for (const [name, value] of given) set(name, value);
    const length = core.policy_build();
    if (length !== 0) throw configError(length, "", (path) => valueAt(given, path));
    this.limit = readNumber(SPAN);
    this.words = takePolicy();
  }

  /** How long the first attempt may take, in milliseconds: the smaller of deadline and attempt timeout, or Infinity. */
  get firstLimit(): number {
    return this.limit / 1e6;
  }

  /** Runs `fn` until it succeeds or the policy says stop. */
  retry<T>(fn: Work<T>, options?: HostOptions): Promise<Awaited<T>> {
    try {
      checkWork(fn);
      if (options !== undefined) {
        checkBeside(options);
        checkHost(options);
      }
      return run(fn, this, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** No object of fields, not even to another copy of this package. */
  get [Symbol.toStringTag](): string {
    return "Policy";
  }
}

type Given = readonly [name: string, value: unknown];

/** Every field of an object; those that are objects themselves have their names behind a dot, of which there is one. */
function collect(given: Given[], prefix: string, fields: object): Given[] {
  for (const name in fields) {
    const value: unknown = (fields as Record<string, unknown>)[name];
    const before = given.length;
    if (prefix === "" && isFields(value)) collect(given, `${name}.`, value);
    if (given.length === before) given.push([prefix + name, value]);
  }
  return given;
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// What a value is to the core.
const OTHER = 0;
const TEXT = 1;
const NUMBER = 2;
const NOTHING = 3;
const EMPTY = 4;

function set(name: string, value: unknown): void {
  const length = writeText(snake(name));
  let kind = OTHER;
  let size = 0;
  if (typeof value === "string") {
    kind = TEXT;
    size = writeText(value, length);
  } else if (typeof value === "number") {
    kind = NUMBER;
    writeDouble(value);
  } else if (value === undefined || value === null) {
    kind = NOTHING;
  } else if (isFields(value)) {
    kind = EMPTY;
  }
  const problem = wasm().policy_set(length, kind, size);
  if (problem !== 0) throw configError(problem, name, () => value);
}

/** What was given for the field with this path, under any of its names. */
function valueAt(given: readonly Given[], path: string): unknown {
  const values = new Map(given.map(([name, value]) => [snake(name), value]));
  const short = path.replace(/\.(kind|mode)$/, "");
  return (
    values.get(path) ?? values.get(short) ?? (path === "backoff.initial" ? values.get("backoff.delay") : undefined)
  );
}
