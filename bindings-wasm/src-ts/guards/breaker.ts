/** The parts of a breaker that are not the core's: its hooks, and its answers. */
import type { ChangeHook } from "../hooks.js";
import { like } from "../memory.js";
import type { Same, Time } from "../values.js";
import type { BreakerState } from "../words.js";
import { Guard, watched } from "./guard.js";
import { memory } from "./memory.js";

export type { BreakerState } from "../words.js";

/** The answer of a breaker to a call. */
export type Acquired<T extends Time = number> =
  | { readonly permit: number; readonly retryAt?: never }
  | { readonly permit?: never; readonly retryAt: T };

export const acquired = <T extends Time>(permit: number, sample: T): Acquired<Same<T>> =>
  permit < 0 ? { retryAt: like(sample, memory().readNumber(1)) } : { permit };

/** A guard that hooks are told of. */
export abstract class WatchedGuard extends Guard {
  /** @internal */
  declare readonly name: string;
  /** @internal */
  declare readonly key: string | undefined;
  /** @internal */
  declare readonly onChange: ChangeHook["onChange"];
  /** @internal */
  declare seen: BreakerState | undefined;

  protected override watch<R>(transition: () => R): R {
    return watched(this, transition);
  }
}
