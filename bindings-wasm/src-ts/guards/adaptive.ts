/** An adaptive rate in the middle of its life. */
import { exact } from "../memory.js";
import type { Time } from "../values.js";
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

/** Options of an adaptive rate; it begins with the numbers of `start`, if they are given. */
export type AdaptiveOptions = GuardOptions & { start?: AdaptiveStart | undefined };

/** A guard that may begin with numbers of another one. */
export abstract class StartedGuard extends Guard {
  /** @internal */
  constructor(index: number, fields: unknown, options?: AdaptiveOptions) {
    super(index, fields, options);
    if (!options?.start) return;
    const { rate, measured, lastMaxRate, tokens, throttledAt, limits } = options.start;
    const throttled = exact(throttledAt, "throttledAt");
    this.at(options.now);
    for (const [at, number] of [rate, tokens, measured, lastMaxRate].entries()) memory().writeDouble(at + 1, number);
    memory().longs[5] = throttled;
    memory().core.adaptive_start(limits ? 1 : 0);
  }
}
