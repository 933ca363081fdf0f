/** A breaker by itself. */
import type { LoopBudgets } from "../budgets.js";
import type { Clock } from "../clock.js";
import { wrongType } from "../errors.js";
import type { ChangeHook } from "../hooks.js";
import { exact, type Length, like, nanos } from "../memory.js";
import type { Same, Time } from "../values.js";
import { BREAKER_STATES, type BreakerState } from "../words.js";
import type { BreakerFields } from "./fields.js";
import { Guard, type GuardOptions, watched } from "./guard.js";
import { memory, readArgument, writeArgument } from "./memory.js";

export type { BreakerState } from "../words.js";

/** The answer of a breaker to a call. */
export type Acquired<T extends Time = number> =
  | { readonly permit: number; readonly retryAt?: never }
  | { readonly permit?: never; readonly retryAt: T };

/** Records a success under a permit, and beside a budget of a loop. */
export interface Success {
  readonly permit: number;
  readonly clock: Clock;
  readonly budgets: LoopBudgets | undefined;
  readonly key: string;
  then<V>(value: V): V;
}

/** A breaker: it stops calls to a server that keeps failing. */
export class Breaker extends Guard {
  /** @internal */
  declare readonly asksTook: boolean;
  /** @internal */
  declare readonly asksWhen: boolean;
  /**
   * Records the success of a call while the breaker is closed.
   * @internal
   */
  declare success: Success | undefined;
  /** @internal */
  declare readonly name: string;
  /** @internal */
  declare readonly key: string | undefined;
  /** @internal */
  declare readonly onChange: ChangeHook["onChange"];
  /** @internal */
  declare seen: BreakerState | undefined;

  constructor(fields?: BreakerFields["kind"] | BreakerFields, options?: GuardOptions) {
    super(1, fields ?? "consecutive", options);
  }

  /** May a call run? Its permit, or when to ask again. */
  acquire<T extends Time = number>(now?: T): Acquired<Same<T>> {
    const sample = this.at(now) as T;
    const permit = watched(this, () => memory().core.breaker_acquire());
    return permit < 0 ? { retryAt: like(sample, memory().readNumber(1)) } : { permit };
  }

  /** A call with that permit ended; `took` is in nanoseconds, of use to a breaker that minds slow calls. */
  record(permit: number, verdict: "success" | "failure", took: Time = 0, now?: Time): void {
    const span = Number.isSafeInteger(took) && (took as number) >= 0 ? took : exact(took, "took");
    if (verdict !== "success" && verdict !== "failure") throw wrongType("verdict", verdict, '"success" or "failure"');
    this.at(now);
    if (typeof span === "number") writeArgument(1, span);
    else memory().longs[1] = span;
    this.change(() => memory().core.breaker_record(permit, verdict === "failure" ? 1 : 0));
  }

  /** Nothing will be known of a call with that permit: its place comes back. */
  abandon(permit: number, now?: Time): void {
    this.at(now);
    this.change(() => memory().core.breaker_abandon(permit));
  }

  /** The server said not to come before that is over, a number in milliseconds. */
  hint(span: Length, now?: Time): void {
    const long = nanos(span, "hint");
    this.at(now);
    memory().longs[1] = long;
    watched(this, () => memory().core.breaker_hint());
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
    this.change(() => memory().core.breaker_move(what));
  }

  private change(transition: () => void): void {
    watched(this, transition);
    this.notifyWaiters();
  }

  /** How it stands. */
  state(now?: Time): BreakerState {
    this.at(now);
    return BREAKER_STATES[memory().core.breaker_look()] as BreakerState;
  }

  /** The end of the open time, in nanoseconds. */
  get retryAt(): number {
    this.look();
    return readArgument(1);
  }

  /** The calls that count now, and how many of them failed and were slow. */
  rates(now?: Time): { readonly calls: number; readonly failed: number; readonly slow: number } {
    this.at(now);
    memory().core.breaker_look();
    return { calls: readArgument(2), failed: readArgument(3), slow: readArgument(4) };
  }

  /** How often it has opened. */
  get openings(): number {
    this.look();
    return readArgument(5);
  }

  private look(): void {
    this.at(0);
    memory().core.breaker_look();
  }
}
