/** The classes of guards. Generated from core/src/decide/guards.rs and bindings-wasm/src/guards/single.rs by `cargo xtask generate`. */
import { kindOf } from "../failure.js";
import { like } from "../memory.js";
import type { Duration, Same, Time } from "../values.js";
import { BREAKER_STATES, type BreakerState, type FailureKind } from "../words.js";
import { type AdaptiveOptions, StartedGuard } from "./adaptive.js";
import { type Acquired, acquired, WatchedGuard } from "./breaker.js";
import type * as Fields from "./fields.js";
import { Guard, type GuardOptions, PlainGuard } from "./guard.js";
import { core, load, memory, readArgument } from "./memory.js";
import {
  checkedCount,
  checkedVerdict,
  type Entry,
  entryOf,
  lengthOf,
  type Length,
  numberOf,
  real,
  withdrawalOf,
  writeLength,
  writeSpan,
} from "./methods.js";

/** How many retries there may be for the calls there are. */
export class Budget extends Guard {
  constructor(fields?: Fields.BudgetFields["kind"] | Fields.BudgetFields, options?: GuardOptions) {
    super(0, fields ?? "ratio", options);
  }

  /** A call begins. */
  begin(now?: Time): void {
    this.at(now);
    core.budget_begin();
  }

  /** May an attempt start, the first or another? */
  admit(now?: Time): boolean {
    this.at(now);
    return core.budget_admit() !== 0;
  }

  /** An attempt failed in a way that may be retried. */
  fail(kind: FailureKind, now?: Time): void {
    this.at(now);
    core.budget_fail(kindOf(kind));
  }

  /** May there be a retry after such a failure? The payment of the retry, for `succeed` or `refund`. */
  withdraw(kind: FailureKind, now?: Time): number | undefined {
    this.at(now);
    return withdrawalOf(core.budget_withdraw(kindOf(kind)));
  }

  /** A retry has run. */
  retried(): void {
    load(this);
    core.budget_retried();
  }

  /** A retry that has paid never ran. */
  refund(withdrawal: number, now?: Time): void {
    this.at(now);
    core.budget_refund(checkedCount(withdrawal, "withdrawal"));
  }

  /** The call succeeded; `withdrawal` is the payment of its latest retry. */
  succeed(withdrawal?: number, now?: Time): void {
    this.at(now);
    core.budget_succeed(numberOf(withdrawal, "withdrawal"));
  }

  /** The call is over, with any result. */
  end(withdrawal?: number): void {
    load(this);
    core.budget_end(numberOf(withdrawal, "withdrawal"));
  }

  /** The tokens, or retries, that there are. */
  balance(now?: Time): number {
    this.at(now);
    return core.budget_balance();
  }

  /** The probability that an attempt is refused. */
  rejection(now?: Time): number {
    this.at(now);
    return core.budget_rejection();
  }
}

/** When a breaker stops calls to a server that keeps failing. */
export class Breaker extends WatchedGuard {
  constructor(fields?: Fields.BreakerFields["kind"] | Fields.BreakerFields, options?: GuardOptions) {
    super(1, fields ?? "consecutive", options);
  }

  /** May a call run? Its permit, or when to ask again. */
  acquire<T extends Time = number>(now?: T): Acquired<Same<T>> {
    const sample = this.at(now) as T;
    return acquired(this.watch(() => core.breaker_acquire()), sample);
  }

  /** A call with that permit ended; `took` is in nanoseconds, of use to a breaker that counts slow calls. */
  record(permit: number, verdict: "success" | "failure", took: Time = 0, now?: Time): void {
    this.at(now);
    writeSpan(took, "took");
    this.change(() => core.breaker_record(permit, checkedVerdict(verdict)));
  }

  /** Nothing will be known of a call with that permit: its place comes back. */
  abandon(permit: number, now?: Time): void {
    this.at(now);
    this.change(() => core.breaker_abandon(permit));
  }

  /** The server said not to come before that time is over, a number in milliseconds. */
  hint(hint: Length, now?: Time): void {
    this.at(now);
    writeLength(hint, "hint");
    this.watch(() => core.breaker_hint());
  }

  /** Opens it until it is reset. */
  isolate(now?: Time): void {
    this.at(now);
    this.change(() => core.breaker_isolate());
  }

  /** Closes it. */
  forceClose(now?: Time): void {
    this.at(now);
    this.change(() => core.breaker_force_close());
  }

  /** Makes it as new. */
  reset(now?: Time): void {
    this.at(now);
    this.change(() => core.breaker_reset());
  }

  /** The state at that time. */
  state(now?: Time): BreakerState {
    this.at(now);
    return BREAKER_STATES[core.breaker_state()] as BreakerState;
  }

  /** The end of the open time, in nanoseconds. */
  get retryAt(): number {
    load(this);
    core.breaker_retry_at();
    return readArgument(1);
  }

  /** The calls that count now, and how many of them failed and were slow. */
  rates(now?: Time): { readonly calls: number; readonly failed: number; readonly slow: number } {
    this.at(now);
    core.breaker_rates();
    return { calls: readArgument(1), failed: readArgument(2), slow: readArgument(3) };
  }

  /** How often it has opened. */
  get openings(): number {
    load(this);
    return core.breaker_openings() >>> 0;
  }
}

/** How many attempts there may be in a time. */
export class Limiter extends Guard {
  constructor(fields: Fields.LimiterFields, options?: GuardOptions) {
    super(2, fields, options);
  }

  /** Takes so many; undefined, or when they can be taken. */
  take<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    return core.limiter_take(checkedCount(count, "count")) === 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** Could so many be taken? Undefined, or when they can be. */
  look<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    return core.limiter_look(checkedCount(count, "count")) === 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** So many that were taken were not used. */
  giveBack(count = 1, now?: Time): void {
    this.at(now);
    core.limiter_give_back(checkedCount(count, "count"));
  }
}

/** How many attempts may run at once. */
export class Bulkhead extends Guard {
  constructor(fields: number | Fields.BulkheadFields, options?: GuardOptions) {
    super(3, fields, options);
  }

  /** Enters it, queues, or does neither. */
  enter(): Entry {
    load(this);
    return entryOf(core.bulkhead_enter());
  }

  /** Asks again, from a place in the queue. */
  enterFrom(place: number): Entry {
    load(this);
    return entryOf(core.bulkhead_enter_from(checkedCount(place, "place")));
  }

  /** A call has left. */
  leave(): void {
    load(this);
    this.change(() => core.bulkhead_leave());
  }

  /** A queued caller gives up its place. */
  leaveQueue(place: number): void {
    load(this);
    this.change(() => core.bulkhead_leave_queue(checkedCount(place, "place")));
  }

  /** How many run. */
  get running(): number {
    load(this);
    return core.bulkhead_running() >>> 0;
  }

  /** How many wait. */
  get waiting(): number {
    load(this);
    return core.bulkhead_waiting() >>> 0;
  }
}

/** A rate of attempts that follows the server's throttling. */
export class Adaptive extends StartedGuard {
  constructor(fields?: Fields.AdaptiveFields["kind"] | Fields.AdaptiveFields, options?: AdaptiveOptions) {
    super(4, fields ?? "cubic", options);
  }

  /** Takes as much; undefined, or when it can be taken. */
  take<T extends Time = number>(cost = 1, now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    return core.adaptive_take(real(cost)) === 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** As much that was taken was not used. */
  giveBack(cost = 1, now?: Time): void {
    this.at(now);
    core.adaptive_give_back(real(cost));
  }

  /** An answer came, and was throttled or not. */
  update(throttled: boolean, now?: Time): void {
    this.at(now);
    core.adaptive_update(throttled ? 1 : 0);
  }

  /** Attempts per second. */
  get rate(): number {
    load(this);
    return core.adaptive_rate();
  }

  /** The rate that was measured. */
  get measured(): number {
    load(this);
    return core.adaptive_measured();
  }

  /** True once it limits. */
  get limits(): boolean {
    load(this);
    return core.adaptive_limits() !== 0;
  }

  /** The tokens that there are. */
  tokens(now?: Time): number {
    this.at(now);
    return core.adaptive_tokens();
  }
}

/** Longer delays while many attempts fail. */
export class Stretch extends Guard {
  constructor(fields: number | Fields.StretchFields, options?: GuardOptions) {
    super(5, fields, options);
  }

  /** An attempt ended. */
  record(failed: boolean, now?: Time): void {
    this.at(now);
    core.stretch_record(failed ? 1 : 0);
  }

  /** The stretched delay, in nanoseconds. */
  stretch<T extends Time>(delay: T, now?: Time): Same<T> {
    this.at(now);
    writeSpan(delay, "delay");
    core.stretch_stretch();
    return like(delay, memory().readNumber(1));
  }

  /** The attempts that count, and how many of them failed. */
  counts(now?: Time): { readonly calls: number; readonly failed: number } {
    this.at(now);
    core.stretch_counts();
    return { calls: readArgument(1), failed: readArgument(2) };
  }
}

/** A second attempt beside a slow one. */
export class Hedge extends Guard {
  constructor(fields: Duration | bigint | Fields.HedgeFields, options?: GuardOptions) {
    super(6, fields, options);
  }

  /** An attempt took so many nanoseconds. */
  record(took: Time): void {
    load(this);
    writeSpan(took, "took");
    core.hedge_record();
  }

  /** The time that the share of attempts takes at most; undefined before the first record, or without a percentile. */
  get quantile(): bigint | undefined {
    load(this);
    core.hedge_quantile();
    return lengthOf(memory().readNumber(1));
  }

  /** The nanoseconds after which the next attempt starts. */
  get delay(): bigint {
    load(this);
    core.hedge_delay();
    return memory().readNumber(1);
  }

  /** How many records there were. */
  get records(): number {
    load(this);
    return core.hedge_records() >>> 0;
  }
}

/** A pause of all calls for as long as a server asks one of them to stay away. */
export class Pause extends PlainGuard {
  constructor(fields: Duration | "none" | bigint | Fields.PauseFields, options?: GuardOptions) {
    super(7, fields, options);
  }
}

/** The guards of a set. */
export abstract class GuardSet {
  declare readonly budget: Budget | undefined;
  declare readonly breaker: Breaker | undefined;
  declare readonly limiter: Limiter | undefined;
  declare readonly bulkhead: Bulkhead | undefined;
  declare readonly adaptive: Adaptive | undefined;
  declare readonly stretch: Stretch | undefined;
  declare readonly hedge: Hedge | undefined;
  declare readonly pause: Pause | undefined;
}

/** The classes in the order of their bits. */
const CLASSES: readonly { readonly prototype: Guard }[] = [
  Budget,
  Breaker,
  Limiter,
  Bulkhead,
  Adaptive,
  Stretch,
  Hedge,
  Pause,
];
export default CLASSES;
