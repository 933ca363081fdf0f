/** States that outlive an operation: a gate for each key, which closes for a while after a failure, and a bucket of tokens. */

import { problem, WRONG_TYPE } from "../errors.js";
import { exact, FOREVER, type Length, like, limit, nanos } from "../memory.js";
import type { Same, Time } from "../times.js";
import type { Direction, Growth } from "../words.js";
import { memory } from "./memory.js";

type Maybe<T> = T | null | undefined;

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

const SECOND = 1_000_000_000n;
const LONGEST = (1n << 63n) - 1n;
const ALL = 0xffffffff;

const most = (value: bigint) => (value === FOREVER ? LONGEST : value);

function integer(value: Maybe<number>, name: string, otherwise: number): bigint {
  if (value === undefined || value === null) return BigInt(otherwise);
  if (!(Number.isInteger(value) && value >= 0 && value <= ALL)) throw problem(WRONG_TYPE, name, value);
  return BigInt(value);
}

/** The checked choices for gates. */
export class GateConfig {
  private readonly words: Uint32Array;

  constructor(options: GateOptions = {}) {
    const { factor, jitter, direction, growth, ahead, forgives } = options;
    const spans = {
      initial: nanos(options.initial, "initial", SECOND),
      max: most(limit(options.max, "max", SECOND * 300n)),
      graceDelay: nanos(options.graceDelay, "graceDelay", 0n),
      rest: nanos(options.rest, "rest", 0n),
      quiet: limit(options.quiet, "quiet", FOREVER),
      keep: limit(options.keep, "keep", SECOND * 300n),
      keepFailed: limit(options.keepFailed, "keepFailed", SECOND * 300n),
      quantum: nanos(options.quantum, "quantum", 0n),
    };
    const { initial, max, graceDelay, rest, quiet, keep, keepFailed, quantum } = spans;
    const grace = integer(options.grace, "grace", 0);
    const forgiven = forgives === "all" ? BigInt(ALL) : integer(forgives, "forgives", 1);
    memory().writeNumbers(initial, 0n, max, 0n, grace, graceDelay, forgiven, rest, quiet, keep, keepFailed, quantum);
    memory().writeDouble(1, factor ?? 2);
    memory().writeDouble(3, jitter ?? 0);
    const flags = [word("growth", growth, "power", "feedback"), word("direction", direction, "up", "down"), ahead];
    memory().check(memory().core.gate(flags.reduce((sum: number, flag, bit) => sum | (flag ? 1 << bit : 0), 0)));
    this.words = memory().copy("gateConfig");
  }

  /** An entry of Kubernetes' `flowcontrol.Backoff`; it begins again after `quiet`, twice `max` unless given. */
  static flowcontrol(options: { initial: Length; max: Length; maxJitter?: number; quiet?: Length }): GateConfig {
    const { initial, max, maxJitter = 0, quiet } = options;
    memory().writeNumbers(nanos(initial, "initial"), nanos(max, "max"), 0n, nanos(quiet, "quiet", FOREVER));
    memory().writeDouble(2, maxJitter);
    return GateConfig.preset(0);
  }

  /** An item of Kubernetes' `ItemExponentialFailureRateLimiter`. */
  static itemExponential(base: Length, max: Length): GateConfig {
    memory().writeNumbers(nanos(base, "base"), nanos(max, "max"));
    return GateConfig.preset(1);
  }

  /** An item of Kubernetes' `ItemFastSlowRateLimiter`. */
  static fastSlow(fast: Length, slow: Length, maxFastAttempts: number | bigint): GateConfig {
    const attempts = typeof maxFastAttempts === "number" ? BigInt(Math.trunc(maxFastAttempts)) : maxFastAttempts;
    memory().writeNumbers(nanos(fast, "fast"), nanos(slow, "slow"), BigInt.asUintN(64, attempts));
    return GateConfig.preset(2);
  }

  /** Chromium's `net::BackoffEntry`, from its policy, whose times are milliseconds and whose -1 is no limit. */
  static chromium(policy: ChromiumPolicy): GateConfig {
    const { multiply_factor, jitter_factor, always_use_initial_delay } = policy;
    const millis = (value: number, name: string) => {
      if (!Number.isSafeInteger(value)) throw problem(WRONG_TYPE, name, value);
      return value < 0 ? FOREVER : BigInt(value);
    };
    memory().writeNumbers(
      millis(Math.max(policy.initial_delay_ms, 0), "initial_delay_ms"),
      0n,
      0n,
      millis(policy.maximum_backoff_ms, "maximum_backoff_ms"),
      millis(policy.entry_lifetime_ms, "entry_lifetime_ms"),
      integer(policy.num_errors_to_ignore, "num_errors_to_ignore", 0),
      always_use_initial_delay ? 1n : 0n,
    );
    memory().writeDouble(1, multiply_factor);
    memory().writeDouble(2, jitter_factor);
    return GateConfig.preset(3);
  }

  private static preset(preset: number): GateConfig {
    memory().check(memory().core.gate_preset(preset));
    return Object.assign(Object.create(GateConfig.prototype) as GateConfig, { words: memory().copy("gateConfig") });
  }
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

function word(name: string, value: unknown, otherwise: string, other: string): boolean {
  if (value !== undefined && value !== null && value !== otherwise && value !== other) {
    throw problem(WRONG_TYPE, name, value);
  }
  return value === other;
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

/**
 * A gate for each key: a host, an item, an image. A key that is not known has a gate that is open. Times are nanoseconds since
 * any moment, as numbers or bigints, and come back in the same type.
 */
export class Gates<K> {
  private readonly config: Uint32Array;
  private readonly most: number;
  /** In the order of their last use. */
  private readonly entries = new Map<K, Uint32Array>();

  constructor(config: GateConfig | GateOptions = {}, options: GatesOptions = {}) {
    const most = options.most ?? 10_000;
    if (!(Number.isInteger(most) && most > 0)) throw problem(WRONG_TYPE, "most", most);
    this.config = (config instanceof GateConfig ? config : new GateConfig(config))["words"];
    this.most = most;
  }

  /** It failed at `now`, over something that happened at `event`; says for how long it closes, for a draw `u`. */
  failure<T extends Time>(key: K, now: T, u: number = Math.random(), event: Time = now): Same<T> {
    memory().writeNumbers(exact(event, "event"), exact(now, "now"));
    memory().writeDouble(2, u);
    this.change(key, memory().core.gate_failure);
    return like(now, memory().readNumber());
  }

  /** It succeeded at `now`. */
  success(key: K, now: Time): void {
    memory().writeNumbers(exact(now, "now"));
    this.change(key, memory().core.gate_success);
  }

  /** It opens at `release` and no other time, until a failure puts it off: what a server said, or a person. */
  releaseAt(key: K, release: Time): void {
    memory().writeNumbers(exact(release, "release"));
    this.change(key, memory().core.gate_release_at);
  }

  /** True if it is open at `now`. */
  isOpen(key: K, now: Time): boolean {
    return this.look(key, now).isOpen;
  }

  /** How it stands at `now`, with regard to something that happened at `event`. */
  look<T extends Time>(key: K, now: T, event: Time = now): GateState<Same<T>> {
    return this.state(this.entries.get(key), now, event);
  }

  /** Starts anew; true if there was anything to forget. */
  forget(key: K): boolean {
    return this.entries.delete(key);
  }

  /** Throws away what is not worth keeping at `now`; how many. */
  collect(now: Time): number {
    const before = this.entries.size;
    for (const [key, state] of this.entries) {
      if (this.state(state, now, now).isDiscardable) this.entries.delete(key);
    }
    return before - this.entries.size;
  }

  /** The keys, the one used longest ago first. */
  keys(): IterableIterator<K> {
    return this.entries.keys();
  }

  get size(): number {
    return this.entries.size;
  }

  private state<T extends Time>(entry: Uint32Array | undefined, now: T, event: Time): GateState<Same<T>> {
    memory().writeNumbers(exact(event, "event"), exact(now, "now"));
    this.load(entry);
    const flags = memory().core.gate_look();
    const is = (bit: number) => (flags & (1 << bit)) !== 0;
    return {
      failures: Number(memory().readNumber(0)),
      delay: like(now, memory().readNumber(1)),
      release: like(now, memory().readNumber(2)),
      isOpen: is(0),
      isDiscardable: is(1),
      covers: is(2),
      coversSince: is(3),
      draws: is(4),
    };
  }

  private load(entry: Uint32Array | undefined): void {
    memory().write("gateConfig", this.config);
    if (entry === undefined) memory().core.gate_forget();
    else memory().write("gate", entry);
  }

  private change(key: K, transition: () => unknown): void {
    const known = this.entries.get(key);
    this.load(known);
    transition();
    const entry = known ?? memory().copy("gate");
    memory().read("gate", entry);
    if (known !== undefined) this.entries.delete(key);
    this.entries.set(key, entry);
    if (this.entries.size > this.most) this.entries.delete(this.entries.keys().next().value as K);
  }
}

/** How fast a bucket fills and how much it holds. */
export interface BucketOptions {
  /** How many tokens drip in each `per`, 1 s unless given. */
  rate: number;
  per?: Maybe<Length>;
  /** How many of them are kept. */
  burst: number;
}

/** Tokens that drip into a bucket, as `golang.org/x/time/rate` counts them. Full at `now`. */
export class Bucket {
  private readonly config: Uint32Array;
  private readonly state: Uint32Array;

  constructor({ rate, per, burst }: BucketOptions, now: Time) {
    memory().writeNumbers(0n, nanos(per, "per", SECOND), exact(burst, "burst"), exact(now, "now"));
    memory().writeDouble(0, rate);
    memory().check(memory().core.bucket(), "bucket");
    this.config = memory().copy("bucketConfig");
    this.state = memory().copy("bucket");
  }

  /**
   * Takes `count` tokens at `now` and says how long they take to be there, in nanoseconds; undefined, and nothing is taken,
   * for more than a burst or when that is longer than `longest` (0 takes only what is there).
   */
  reserve<T extends Time>(count: number, now: T, longest: Time = LONGEST): Same<T> | undefined {
    memory().writeNumbers(exact(count, "count"), exact(now, "now"), exact(longest, "longest"));
    this.load();
    const was = memory().core.bucket_reserve();
    memory().read("bucket", this.state);
    return was === 0 ? undefined : like(now, memory().readNumber());
  }

  /** The tokens there are at `now`; negative while some are reserved that are not there yet. */
  tokensAt(now: Time): number {
    memory().writeNumbers(exact(now, "now"));
    this.load();
    memory().core.bucket_tokens();
    return memory().readDouble();
  }

  private load(): void {
    memory().write("bucketConfig", this.config);
    memory().write("bucket", this.state);
  }
}
