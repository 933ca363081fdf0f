/**
 * The machines themselves, for programs with a loop, a clock or a scheduler of their own.
 *
 * Times are nanoseconds since any moment: as numbers (whole ones to 2^53, Infinity for never) or as bigints (to 2^64-1,
 * which is never). A time that goes in as a bigint comes out as a bigint, exact to the last bit.
 */
import machine from "../../dist/machine.wasm";
import { checkSeed, checkTime, timeRange, wrongType } from "../errors.js";
import { checkedFailure, codeOf, hintBits, kindOf } from "../failure.js";
import type { Failure } from "../hooks.js";
import { SLEEP } from "../host.js";
import { type Keeper, readLong, Slot, writeLong } from "../hot.js";
import { once } from "../memory.js";
import { type Policy, type Step, stepOf, ticketOf, wordsOf } from "../policy.js";
import type { Same, Time } from "../values.js";
import { CAUSES, type Cause, type FailureKind, REASONS, type StopReason } from "../words.js";

/** Sleep until then and try again, or do not try again. */
export type Decision<T extends Time = number> =
  | { readonly kind: "sleep"; readonly until: T; readonly cause: Cause }
  | { readonly kind: "give_up"; readonly reason: StopReason; readonly retryAt: T };

function writeTime(field: number, value: Time, name: string): void {
  checkTime(value, name);
  wasm();
  if (typeof value === "number") writeNumber(field, value);
  else writeBigint(field, value);
}

function writeOrigin(seed: Time, now: Time): void {
  checkSeed(seed, "seed");
  writeTime(SEED, seed, "seed");
  writeTime(NOW, now, "now");
}

/** A time as the type of another one. */
const readTime = <T extends Time>(field: number, like: T): Same<T> =>
  (typeof like === "bigint" ? readBigint(field) : readNumber(field)) as Same<T>;

const readStep = <T extends Time>(like: T): Step<Same<T>> =>
  stepOf(stepCodes(), stepAttempt(), (end) => readTime(end ? AT : WAKE_AT, like));

/** One decision a failure: the state of one operation, without its loop. */
export class Retry {
  private readonly policy: Uint32Array;
  private readonly keeper: Keeper = { state: undefined };

  /** An operation that started at `now`. A fixed seed repeats its jitter. */
  constructor(policy: Policy, seed: number | bigint, now: Time) {
    this.policy = wordsOf(policy);
    writeOrigin(seed, now);
    RETRY.load(this.keeper);
    core.retry_start();
  }

  /** Decides about an attempt that failed at `now`. */
  onFailure<T extends Time>(now: T, failure: Failure | FailureKind): Decision<Same<T>> {
    const judged = checkedFailure(failure);
    writeTime(NOW, now, "now");
    loadPolicy(this.policy);
    RETRY.load(this.keeper);
    writeBigint(SPAN, hintBits(judged.hint));
    core.retry_fail(codeOf(judged));
    const codes = stepCodes();
    const at = readTime(AT, now);
    if ((codes & 255) === SLEEP) return { kind: "sleep", until: at, cause: CAUSES[codes >>> 24] as Cause };
    return { kind: "give_up", reason: REASONS[(codes >> 16) & 255] as StopReason, retryAt: at };
  }
}

/**
 * The whole loop as a machine. Every answer is the step that holds now: an input out of order, too early, after the end or
 * with another attempt's ticket changes nothing. Times that run backwards read as the latest one seen.
 */
export class Call {
  private readonly policy: Uint32Array;
  private readonly keeper: Keeper = { state: undefined };

  private constructor(policy: Uint32Array) {
    this.policy = policy;
    CALL.load(this.keeper);
  }

  /** A call that begins at `now`, and its first step. */
  static begin<T extends Time>(policy: Policy, seed: number | bigint, now: T): [call: Call, step: Step<Same<T>>] {
    const words = wordsOf(policy);
    writeOrigin(seed, now);
    loadPolicy(words);
    const call = new this(words);
    core.call_begin();
    return [call, readStep(now)];
  }

  /** A call whose first attempt, ticket 1, already runs since `started`. */
  static underway(policy: Policy, seed: number | bigint, started: Time): Call {
    const words = wordsOf(policy);
    writeOrigin(seed, started);
    const call = new this(words);
    core.call_underway();
    return call;
  }

  /** The attempt with this ticket succeeded at `now`. */
  succeed<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>> {
    return this.move(now, wasm().call_succeed, ticket);
  }

  /** The attempt with this ticket failed at `now`. */
  fail<T extends Time>(ticket: number | bigint, now: T, failure: Failure | FailureKind): Step<Same<T>> {
    const judged = checkedFailure(failure);
    const fail = () => {
      writeBigint(SPAN, hintBits(judged.hint));
      core.call_fail(codeOf(judged));
    };
    return this.move(now, fail, ticket);
  }

  /** Nothing but time has passed. */
  tick<T extends Time>(now: T): Step<Same<T>> {
    return this.move(now, wasm().call_tick, 0);
  }

  /** The caller wants no more of it. */
  cancel<T extends Time>(now: T): Step<Same<T>> {
    return this.move(now, wasm().call_cancel, 0);
  }

  private move<T extends Time>(now: T, transition: () => void, ticket: number | bigint): Step<Same<T>> {
    writeTime(NOW, now, "now");
    writeNumber(TICKET, ticketOf(ticket));
    loadPolicy(this.policy);
    CALL.load(this.keeper);
    transition();
    return readStep(now);
  }
}

/**
 * A policy's delays in nanoseconds, as they would be slept if every attempt failed at once: for previews and other people's
 * loops. Bigints when the seed is one.
 */
export class Schedule<T extends Time = number> implements IterableIterator<Same<T>> {
  private readonly keeper: Keeper = { state: undefined };
  private readonly like: T;

  constructor(policy: Policy, seed: T) {
    const words = wordsOf(policy);
    writeOrigin(seed, 0);
    loadPolicy(words);
    SCHEDULE.load(this.keeper);
    core.schedule_start();
    this.like = seed;
  }

  /** The next delay after a failure of this kind if `u` from [0, 1) is drawn for it; undefined when there is none. */
  nextAt(u: number, kind: FailureKind = "transient"): Same<T> | undefined {
    const code = kindOf(kind);
    SCHEDULE.load(this.keeper);
    writeDouble(u);
    const more = core.schedule_next_at(code);
    return more === 0 ? undefined : readTime(SPAN, this.like);
  }

  next(): IteratorResult<Same<T>, undefined> {
    SCHEDULE.load(this.keeper);
    const more = core.schedule_next();
    return more === 0 ? { done: true, value: undefined } : { done: false, value: readTime(SPAN, this.like) };
  }

  [Symbol.iterator](): this {
    return this;
  }

  /** The base delay, before jitter, after failure `n`, from 0; in nanoseconds, exactly where `n` is a bigint. */
  static baseAt<N extends Time>(policy: Policy, n: N): Same<N> {
    const words = wordsOf(policy);
    const known = typeof n === "bigint" ? Number(n) : n;
    if (!(Number.isInteger(known) && known >= 0 && known <= 0xffffffff)) throw timeRange("n", n);
    wasm();
    loadPolicy(words);
    core.base_at(known as number);
    return readTime(SPAN, n);
  }
}

/** A machine as words: its policy and its state. */
export function stateOf(machine: unknown): { policy: Uint32Array; words: Uint32Array } {
  if (machine instanceof Call) return { policy: machine["policy"], words: CALL.stateOf(machine["keeper"]) };
  if (machine instanceof Retry) return { policy: machine["policy"], words: RETRY.stateOf(machine["keeper"]) };
  throw wrongType("machine", machine, "a Retry or a Call");
}

/** A machine with that policy and state. */
const restored = <M>(prototype: M, policy: Uint32Array, state: Uint32Array): M =>
  Object.assign(Object.create(prototype as object), { policy, keeper: { state } });

export const makeCall = (policy: Uint32Array, words: Uint32Array): Call => restored(Call.prototype, policy, words);

export const makeRetry = (policy: Uint32Array, words: Uint32Array): Retry => restored(Retry.prototype, policy, words);

interface Exports {
  memory: { readonly buffer: ArrayBuffer };
  address(): number;
  call_begin(): void;
  call_underway(): void;
  call_succeed(): void;
  call_fail(kind: number): void;
  call_tick(): void;
  call_cancel(): void;
  retry_start(): void;
  retry_fail(kind: number): void;
  schedule_start(): void;
  schedule_next(): number;
  schedule_next_at(kind: number): number;
  base_at(n: number): void;
}

/** The functions of the core; `wasm()` before the first use. */
export let core: Exports;
let words: Uint32Array;
let longs: BigUint64Array;
let doubles: Float64Array;

// Offsets of fields in units of their own size; the module asserts the same numbers.
export const SEED = 0;
export const TICKET = 1;
export const NOW = 2;
export const SPAN = 3;
const NUMBER = 4;
const STEP = 10;
export const AT = 6;
export const WAKE_AT = 7;
const END = 5200;

/** A bundler leaves it out where nobody needs it. */
const slot = (at: number, length: number) => new Slot(() => words, at, length);
const POLICY = 16;
export const CALL = /* @__PURE__ */ slot(630, 20);
export const RETRY = /* @__PURE__ */ slot(650, 16);
export const SCHEDULE = /* @__PURE__ */ slot(666, 634);

function take(exports: object): Exports {
  core = exports as Exports;
  const { buffer } = core.memory;
  const at = core.address();
  // The memory never grows: there is no allocator.
  words = new Uint32Array(buffer, at, END >> 2);
  longs = new BigUint64Array(buffer, at, END >> 3);
  doubles = new Float64Array(buffer, at, END >> 3);
  return core;
}

/** The core, compiled on first use: an import that is never used costs nothing. */
export function wasm(): Exports {
  return core ?? take(once(machine).make());
}

let loaded: Uint32Array | undefined;

/** Lays a policy on the memory, unless it lies there. */
export function loadPolicy(policy: Uint32Array): void {
  if (loaded !== policy) {
    words.set(policy, POLICY);
    loaded = policy;
  }
}

/** Writes a full number from 0 to 2^53, or Infinity for "never". */
export const writeNumber = (field: number, value: number): void => writeLong(words, field * 2, value);

/** Reads a number; "never" is Infinity. Above 2^53 it is the nearest double. */
export const readNumber = (field: number): number => readLong(words, field * 2);

export function writeBigint(field: number, value: bigint): void {
  longs[field] = value;
}

export function readBigint(field: number): bigint {
  return longs[field] as bigint;
}

export function writeDouble(value: number): void {
  doubles[NUMBER] = value;
}

/** Kind, outcome, reason and cause of the step, a byte each from the lowest. */
export function stepCodes(): number {
  return words[STEP] as number;
}

export function stepAttempt(): number {
  return words[STEP + 1] as number;
}
