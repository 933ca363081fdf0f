/**
 * The guards one by one, for programs with a loop of their own. Times are nanoseconds: `now` as a number or a bigint, and by the
 * host's clock when it is left out. What goes in as a bigint comes out as one.
 */
import { exact, FOREVER, type Length, like, nanos } from "../border.js";
import { NOT_SUPPORTED, problem, WRONG_TYPE } from "../errors.js";
import { kindOf } from "../failure.js";
import type { Clock } from "../host.js";
import type { Same, Time } from "../machine.js";
import { collect, type Given, type Kept, LIST, NUMBER, snake } from "../policy.js";
import { checkSeed } from "../seed.js";
import type { FailureKind } from "../words.js";
import {
  clear,
  configAt,
  desk,
  type GuardName,
  give,
  got,
  hostNow,
  LIMITER,
  lay,
  NAMES,
  randomSeed,
  roomFor,
  stateAt,
} from "./desk.js";
import type {
  AdaptiveFields,
  BreakerFields,
  BudgetFields,
  BulkheadFields,
  GuardFields,
  HedgeFields,
  LimiterFields,
  StretchFields,
} from "./fields.js";
import { layKept } from "./kept.js";
import type { Nesting } from "./nested.js";

/** Where a guard's randomness comes from, and when it begins. */
export interface GuardOptions {
  /** A whole number from 0, as a bigint up to 2^64-1; from the operating system unless given. */
  seed?: number | bigint | null | undefined;
  /** Nanoseconds; the host's time unless given. */
  now?: Time | undefined;
}

/** Configurations, checked: the words of each guard there is, and how long a limiter's log is. */
export interface Configs {
  readonly words: readonly (Uint32Array | undefined)[];
  readonly log: number;
  readonly nesting: Nesting | undefined;
  /** Whether the breaker asks how long an attempt took; and whether it asks when one succeeded. */
  readonly asksTook: boolean;
  readonly asksWhen: boolean;
}

const NOT_SAID = 4;

/** Reads the configurations that fields say. Throws a ConfigError. */
export function configsOf(kept: Kept): Configs {
  clear();
  const { core } = desk();
  layKept(desk(), kept);
  desk().check(core.guards_build());
  const [mask, mode, cap, log] = [got(0), got(1), got(2), got(3)];
  const words = NAMES.map((_, index) => (mask & (1 << index) ? configAt(index) : undefined));
  const says = (path: string) => !Array.isArray(kept) || kept.some((given) => given.path === path);
  const kind = Array.isArray(kept) ? kept.find(({ path }) => path === "breaker" || path === "breaker.kind")?.value : "";
  return {
    words,
    log,
    nesting: mode === NOT_SAID ? undefined : { mode, cap },
    asksTook: says("breaker.slow_after"),
    asksWhen: kind !== undefined && kind !== "consecutive",
  };
}

/** The fields of sections, as the core names them. */
export function fieldsOf(sections: object): Given[] {
  const given: Given[] = [];
  collect(given, "", sections, NUMBER, 0);
  return given.filter(({ kind }) => kind !== LIST).map((field) => ({ ...field, path: snake(field.path) }));
}

/** Anything that has fresh states and the seed and the time that they begin with. */
interface Origin {
  readonly seed: bigint;
  readonly now: bigint;
}

export function originOf({ seed, now }: GuardOptions = {}): Origin {
  if (seed !== undefined && seed !== null) checkSeed(seed, "seed");
  return {
    seed: seed === undefined || seed === null ? randomSeed() : BigInt(seed),
    now: now === undefined ? BigInt(hostNow()) : exact(now, "now"),
  };
}

/** The guards of configurations, new. Those that are not there are undefined. */
export function madeOf(configs: Configs, { seed, now }: Origin): (Guard | undefined)[] {
  clear();
  let mask = 0;
  for (const [index, config] of configs.words.entries()) {
    if (config === undefined) continue;
    mask |= 1 << index;
    desk().lay(`${NAMES[index] as GuardName}Config`, config);
  }
  desk().give(now, seed);
  desk().core.guards_new(mask);
  return configs.words.map((config, index) => (config === undefined ? undefined : guardOf(index, config, configs)));
}

const CLASSES = (): readonly { readonly prototype: Guard }[] => [
  Budget,
  Breaker,
  Limiter,
  Bulkhead,
  Adaptive,
  Stretch,
  Hedge,
];

function guardOf(index: number, config: Uint32Array, { log, asksTook, asksWhen }: Configs): Guard {
  const guard = Object.create((CLASSES()[index] as { prototype: Guard }).prototype) as Guard;
  const laid = {
    index,
    config,
    words: stateAt(index),
    log: index === LIMITER && log > 0 ? new Uint32Array(log * 2) : undefined,
  };
  return Object.assign(guard, laid, index === 1 ? { asksTook, asksWhen } : undefined);
}

/** What all guards have. */
export abstract class Guard {
  /** @internal */
  declare readonly index: number;
  /** @internal */
  declare readonly config: Uint32Array;
  /** @internal */
  declare readonly words: Uint32Array;
  /** @internal */
  declare readonly log: Uint32Array | undefined;

  /** @internal */
  constructor(index: number, fields: unknown, options?: GuardOptions) {
    const section = NAMES[index] as GuardName;
    const origin = originOf(options);
    const made = madeOf(configsOf(fieldsOf({ [section]: fields ?? null })), origin)[index];
    if (made === undefined) throw problem(WRONG_TYPE, section, fields);
    Object.assign(this, made);
  }

  /** Its state as bytes that last, for another process or another clock. What is in flight is not in it. */
  save(now?: Time): Uint8Array {
    this.at(now);
    const long = this.log ? desk().core.limiter_saved() : 0;
    if (this.log) behind(this.log, long);
    const length = desk().core.guard_save(1 << this.index);
    return (this.log ? behind(this.log, length) : desk().text.subarray(0, length)).slice();
  }

  /** Replaces its state by one that was saved under a configuration of the same kind. */
  protected restored(bytes: Uint8Array, now: Time | undefined): this {
    if (!(bytes instanceof Uint8Array)) throw problem(WRONG_TYPE, "bytes", bytes);
    this.at(now);
    // One byte more than there can be is enough to be told so.
    const longest = this.log ? desk().core.limiter_saved() + 1 : desk().text.length;
    const given = bytes.subarray(0, longest);
    (this.log ? behind(this.log, given.length) : desk().text).set(given);
    desk().check(desk().core.guard_restore(1 << this.index, given.length));
    return this;
  }

  /** Lays it down, and the time; the sample of how times come back. */
  protected at(now: Time | undefined): Time {
    lay(this);
    if (now === undefined) give(0, hostNow());
    else if (typeof now === "number" && Number.isSafeInteger(now) && now >= 0) give(0, now);
    else desk().give(exact(now, "now"));
    return now ?? 0;
  }

  /** @internal */
  static again(guard: Guard, bytes: Uint8Array, now: Time | undefined): void {
    guard.restored(bytes, now);
  }
}

/** The memory behind a log. */
function behind(log: Uint32Array, length: number): Uint8Array {
  const times = log.length / 2;
  const at = roomFor(times + Math.ceil(length / 8));
  return desk().memory(Uint8Array, at + times * 8, length);
}

/** Nothing held, and no place. */
const NONE = 0xffffffff;

/** A number of things, or of tokens. */
function counted(value: number, name: string): number {
  if (!(Number.isInteger(value) && value >= 0 && value < NONE)) throw problem(WRONG_TYPE, name, value);
  return value;
}

/** How many retries there may be for the calls there are. */
export class Budget extends Guard {
  constructor(fields?: BudgetFields["kind"] | BudgetFields, options?: GuardOptions) {
    super(0, fields ?? "ratio", options);
  }

  static restore(fields: BudgetFields["kind"] | BudgetFields, bytes: Uint8Array, now?: Time): Budget {
    return new Budget(fields, { now }).restored(bytes, now);
  }

  /** A call begins. */
  begin(now?: Time): void {
    this.at(now);
    desk().core.budget_begin();
  }

  /** May an attempt start, the first or another? */
  admit(now?: Time): boolean {
    this.at(now);
    return desk().core.budget_admit() !== 0;
  }

  /** An attempt failed in a way that may be retried. */
  fail(kind: FailureKind, now?: Time): void {
    const code = kindOf(kind);
    this.at(now);
    desk().core.budget_fail(code);
  }

  /** May there be a retry after such a failure? What it has paid, which is for {@link succeed} or {@link refund}. */
  withdraw(kind: FailureKind, now?: Time): number | undefined {
    const code = kindOf(kind);
    this.at(now);
    const held = desk().core.budget_withdraw(code) >>> 0;
    return held === NONE ? undefined : held;
  }

  /** A retry has run. */
  retried(): void {
    lay(this);
    desk().core.budget_retried();
  }

  /** A retry that has paid never ran. */
  refund(held: number, now?: Time): void {
    this.at(now);
    desk().core.budget_refund(counted(held, "held"));
  }

  /** The call succeeded; `held` is what its latest retry has paid. */
  succeed(held?: number, now?: Time): void {
    this.at(now);
    desk().core.budget_succeed(held === undefined ? NONE : counted(held, "held"));
  }

  /** The call is over, however. */
  end(held?: number): void {
    lay(this);
    desk().core.budget_end(held === undefined ? NONE : counted(held, "held"));
  }

  /** The tokens, or retries, that there are. */
  balance(now?: Time): number {
    this.at(now);
    return desk().core.budget_balance();
  }

  /** The probability that an attempt is refused. */
  rejection(now?: Time): number {
    this.at(now);
    return desk().core.budget_rejection();
  }
}

export type BreakerState = "closed" | "open" | "half_open" | "isolated";
const STATES: readonly BreakerState[] = ["closed", "open", "half_open", "isolated"];

/** What a breaker says to a call. */
export type Acquired<T extends Time = number> =
  | { readonly permit: number; readonly retryAt?: never }
  | { readonly permit?: never; readonly retryAt: T };

/** What is done about a success under a permit, by a clock if it asks for one. */
export interface Success {
  readonly permit: number;
  readonly clock: Clock | undefined;
  then<V>(value: V): V;
}

/** Whether the other side is well enough to be called. */
export class Breaker extends Guard {
  /** @internal */
  declare readonly asksTook: boolean;
  /** @internal */
  declare readonly asksWhen: boolean;
  /**
   * What calls do that succeed while it is closed.
   * @internal
   */
  declare success: Success | undefined;

  constructor(fields?: BreakerFields["kind"] | BreakerFields, options?: GuardOptions) {
    super(1, fields ?? "consecutive", options);
  }

  static restore(fields: BreakerFields["kind"] | BreakerFields, bytes: Uint8Array, now?: Time): Breaker {
    return new Breaker(fields, { now }).restored(bytes, now);
  }

  /** May a call run? Its permit, or when to ask again. */
  acquire<T extends Time = number>(now?: T): Acquired<Same<T>> {
    const sample = this.at(now) as T;
    const permit = desk().core.breaker_acquire();
    return permit < 0 ? { retryAt: like(sample, desk().got(1)) } : { permit };
  }

  /** A call with that permit ended; `took` is in nanoseconds, of use to a breaker that minds slow calls. */
  record(permit: number, verdict: "success" | "failure", took: Time = 0, now?: Time): void {
    const span = exact(took, "took");
    if (verdict !== "success" && verdict !== "failure") throw problem(WRONG_TYPE, "verdict", verdict);
    this.at(now);
    desk().longs[1] = span;
    desk().core.breaker_record(permit, verdict === "failure" ? 1 : 0);
  }

  /** Nothing will be known of a call with that permit: its place comes back. */
  abandon(permit: number, now?: Time): void {
    this.at(now);
    desk().core.breaker_abandon(permit);
  }

  /** The server said not to come before that is over, a number in milliseconds. */
  hint(span: Length, now?: Time): void {
    const long = nanos(span, "hint");
    this.at(now);
    desk().longs[1] = long;
    desk().core.breaker_hint();
  }

  /** Opens it until it is reset. */
  isolate(now?: Time): void {
    this.move(0, now);
  }

  /** Closes it. */
  forceClose(now?: Time): void {
    this.move(1, now);
  }

  /** Makes it as new. */
  reset(now?: Time): void {
    this.move(2, now);
  }

  private move(what: number, now: Time | undefined): void {
    this.at(now);
    desk().core.breaker_move(what);
  }

  /** How it stands. */
  state(now?: Time): BreakerState {
    this.at(now);
    return STATES[desk().core.breaker_look()] as BreakerState;
  }

  /** When calls may try it next, of one that is open; in nanoseconds. */
  get retryAt(): number {
    this.look();
    return got(1);
  }

  /** The calls that count now, and how many of them failed and were slow. */
  rates(now?: Time): { readonly calls: number; readonly failed: number; readonly slow: number } {
    this.at(now);
    desk().core.breaker_look();
    return { calls: got(2), failed: got(3), slow: got(4) };
  }

  /** How often it has opened. */
  get openings(): number {
    this.look();
    return got(5);
  }

  private look(): void {
    this.at(0);
    desk().core.breaker_look();
  }
}

/** How many attempts there may be in a time. */
export class Limiter extends Guard {
  constructor(fields: LimiterFields, options?: GuardOptions) {
    super(2, fields, options);
  }

  static restore(fields: LimiterFields, bytes: Uint8Array, now?: Time): Limiter {
    return new Limiter(fields, { now }).restored(bytes, now);
  }

  /** Takes so many; undefined, or when they can be taken. */
  take<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const many = counted(count, "count");
    const sample = this.at(now) as T;
    return desk().core.limiter_take(many) !== 0 ? undefined : like(sample, desk().got(1));
  }

  /** Could so many be taken? Undefined, or when they can be. */
  look<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const many = counted(count, "count");
    const sample = this.at(now) as T;
    return desk().core.limiter_look(many) !== 0 ? undefined : like(sample, desk().got(1));
  }

  /** So many that were taken were not used. */
  giveBack(count = 1, now?: Time): void {
    const many = counted(count, "count");
    this.at(now);
    desk().core.limiter_give_back(many);
  }
}

/** Whoever waits for a place in a bulkhead. */
export interface Waiter {
  /** Asks for the place again; false when it still waits. */
  ask(): boolean;
}

/** What a bulkhead says to a call. */
export type Entry =
  | { readonly kind: "entered" }
  | { readonly kind: "queued"; readonly place: number }
  | { readonly kind: "refused" };

/** How many attempts there may be at once. */
export class Bulkhead extends Guard {
  /** The operations that wait, the first first. */
  private waiters: Set<Waiter> | undefined;
  private stirring: boolean | undefined;

  constructor(fields: number | BulkheadFields, options?: GuardOptions) {
    super(3, fields, options);
  }

  /** Enters it, queues, or does neither. */
  enter(): Entry {
    return this.entry(NONE);
  }

  /** Asks again, from a place in the queue. */
  enterFrom(place: number): Entry {
    return this.entry(counted(place, "place"));
  }

  private entry(place: number): Entry {
    lay(this);
    const answer = desk().core.bulkhead_enter(place);
    if (answer === 2) return { kind: "queued", place: got(1) };
    return { kind: answer === 0 ? "entered" : "refused" };
  }

  /** A call has left. */
  leave(): void {
    this.gone(NONE);
  }

  /** One that waited waits no longer. */
  leaveQueue(place: number): void {
    this.gone(counted(place, "place"));
  }

  private gone(place: number): void {
    lay(this);
    desk().core.bulkhead_leave(place);
    this.stir();
  }

  /** How many run. */
  get running(): number {
    lay(this);
    return desk().core.bulkhead_look();
  }

  /** How many wait. */
  get waiting(): number {
    lay(this);
    desk().core.bulkhead_look();
    return got(1);
  }

  /** There is nothing to save: what runs does not run elsewhere. */
  override save(): Uint8Array {
    throw problem(NOT_SUPPORTED, "bulkhead", "save");
  }

  /** @internal */
  join(waiter: Waiter): void {
    (this.waiters ??= new Set()).add(waiter);
  }

  /** @internal */
  part(waiter: Waiter): void {
    if (this.waiters?.delete(waiter)) this.stir();
  }

  /**
   * A place may have come free: those who wait are asked, in their order, once what is going on is over.
   * @internal
   */
  stir(): void {
    if (this.stirring || !this.waiters?.size) return;
    this.stirring = true;
    queueMicrotask(() => {
      this.stirring = false;
      for (const waiter of [...(this.waiters ?? [])]) if (!waiter.ask()) break;
    });
  }
}

/** What an adaptive rate that has been at work knows. */
export interface AdaptiveStart {
  /** Attempts per second: allowed, measured, and allowed when it was throttled last. */
  readonly rate: number;
  readonly measured: number;
  readonly lastMaxRate: number;
  readonly tokens: number;
  /** When that was, in nanoseconds. */
  readonly throttledAt: Time;
  /** Whether it limits yet. */
  readonly limits: boolean;
}

/** A rate that follows the other side's throttling. */
export class Adaptive extends Guard {
  constructor(
    fields?: AdaptiveFields["kind"] | AdaptiveFields,
    options?: GuardOptions & { start?: AdaptiveStart | undefined },
  ) {
    super(4, fields ?? "cubic", options);
    if (options?.start) this.start(options.start, options.now);
  }

  private start(
    { rate, measured, lastMaxRate, tokens, throttledAt, limits }: AdaptiveStart,
    now: Time | undefined,
  ): void {
    const throttled = exact(throttledAt, "throttledAt");
    this.at(now);
    for (const [at, number] of [rate, tokens, measured, lastMaxRate].entries()) desk().giveDouble(at + 1, number);
    desk().longs[5] = throttled;
    desk().core.adaptive_start(limits ? 1 : 0);
  }

  static restore(fields: AdaptiveFields["kind"] | AdaptiveFields, bytes: Uint8Array, now?: Time): Adaptive {
    return new Adaptive(fields, { now }).restored(bytes, now);
  }

  /** Takes as much; undefined, or when it can be taken. */
  take<T extends Time = number>(cost = 1, now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    desk().giveDouble(2, cost);
    return desk().core.adaptive_take() !== 0 ? undefined : like(sample, desk().got(1));
  }

  /** As much that was taken was not used. */
  giveBack(cost = 1, now?: Time): void {
    this.at(now);
    desk().giveDouble(2, cost);
    desk().core.adaptive_give_back();
  }

  /** An answer came, and was throttled or not. */
  update(throttled: boolean, now?: Time): void {
    this.at(now);
    desk().core.adaptive_update(throttled ? 1 : 0);
  }

  /** Attempts per second. */
  get rate(): number {
    return this.look(0);
  }

  /** The rate that was measured. */
  get measured(): number {
    return this.look(1);
  }

  /** Whether it limits anything yet. */
  get limits(): boolean {
    return this.look(2) !== 0;
  }

  /** The tokens that there are. */
  tokens(now?: Time): number {
    return this.look(3, now);
  }

  private look(what: number, now: Time | undefined = 0): number {
    this.at(now);
    return desk().core.adaptive_look(what);
  }
}

/** Longer delays while much fails. */
export class Stretch extends Guard {
  constructor(fields: number | StretchFields, options?: GuardOptions) {
    super(5, fields, options);
  }

  static restore(fields: number | StretchFields, bytes: Uint8Array, now?: Time): Stretch {
    return new Stretch(fields, { now }).restored(bytes, now);
  }

  /** An attempt ended. */
  record(failed: boolean, now?: Time): void {
    this.at(now);
    desk().core.stretch_record(failed ? 1 : 0);
  }

  /** What a delay in nanoseconds becomes. */
  stretch<T extends Time>(delay: T, now?: Time): Same<T> {
    const long = exact(delay, "delay");
    this.at(now);
    desk().longs[1] = long;
    desk().core.stretch_delay();
    return like(delay, desk().got(1));
  }

  /** The attempts that count, and how many of them failed. */
  counts(now?: Time): { readonly calls: number; readonly failed: number } {
    this.at(now);
    const calls = desk().core.stretch_look();
    return { calls, failed: got(1) };
  }
}

/** When a second attempt starts beside one that takes long. */
export class Hedge extends Guard {
  constructor(fields: Length | HedgeFields, options?: GuardOptions) {
    super(6, fields, options);
  }

  static restore(fields: Length | HedgeFields, bytes: Uint8Array, now?: Time): Hedge {
    return new Hedge(fields, { now }).restored(bytes, now);
  }

  /** An attempt took so many nanoseconds. */
  record(took: Time): void {
    const span = exact(took, "took");
    lay(this);
    desk().longs[1] = span;
    desk().core.hedge_record();
  }

  /** How long the share of attempts takes at most; undefined before the first record, or without a percentile. */
  get quantile(): bigint | undefined {
    this.look();
    const quantile = desk().got(1);
    return quantile === FOREVER ? undefined : quantile;
  }

  /** After how many nanoseconds the next attempt starts. */
  get delay(): bigint {
    this.look();
    return desk().got(2);
  }

  /** How many records there were. */
  get records(): number {
    return this.look();
  }

  private look(): number {
    lay(this);
    return desk().core.hedge_look() >>> 0;
  }
}

/** A guard by its name. */
export interface ByName {
  budget: Budget;
  breaker: Breaker;
  limiter: Limiter;
  bulkhead: Bulkhead;
  adaptive: Adaptive;
  stretch: Stretch;
  hedge: Hedge;
}

/** A guard, or what to make one of. */
export type Sections = { [Name in keyof ByName]?: GuardFields[Name] | ByName[Name] };
