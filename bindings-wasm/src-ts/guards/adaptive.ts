/** An adaptive rate by itself. */

import { exact, like } from "../memory.js";
import type { Same, Time } from "../values.js";
import type { AdaptiveFields } from "./fields.js";
import { Guard, type GuardOptions } from "./guard.js";
import { memory } from "./memory.js";

/** The numbers of an adaptive rate that has been at work. */
export interface AdaptiveStart {
  /** Attempts per second: allowed, measured, and allowed when it was throttled last. */
  readonly rate: number;
  readonly measured: number;
  readonly lastMaxRate: number;
  readonly tokens: number;
  /** When that was, in nanoseconds. */
  readonly throttledAt: Time;
  /** True once it limits. */
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
    for (const [at, number] of [rate, tokens, measured, lastMaxRate].entries()) memory().writeDouble(at + 1, number);
    memory().longs[5] = throttled;
    memory().core.adaptive_start(limits ? 1 : 0);
  }

  /** Takes as much; undefined, or when it can be taken. */
  take<T extends Time = number>(cost = 1, now?: T): Same<T> | undefined {
    const sample = this.at(now) as T;
    memory().writeDouble(2, cost);
    return memory().core.adaptive_take() !== 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** As much that was taken was not used. */
  giveBack(cost = 1, now?: Time): void {
    this.at(now);
    memory().writeDouble(2, cost);
    memory().core.adaptive_give_back();
  }

  /** An answer came, and was throttled or not. */
  update(throttled: boolean, now?: Time): void {
    this.at(now);
    memory().core.adaptive_update(throttled ? 1 : 0);
  }

  /** Attempts per second. */
  get rate(): number {
    return this.look(0);
  }

  /** The rate that was measured. */
  get measured(): number {
    return this.look(1);
  }

  /** True once it limits. */
  get limits(): boolean {
    return this.look(2) !== 0;
  }

  /** The tokens that there are. */
  tokens(now?: Time): number {
    return this.look(3, now);
  }

  private look(what: number, now: Time | undefined = 0): number {
    this.at(now);
    return memory().core.adaptive_look(what);
  }
}
