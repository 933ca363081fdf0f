/** The classes of guards. Generated from core/src/fields.rs by `cargo xtask generate`. */
import { Adaptive } from "./adaptive.js";
import { Breaker } from "./breaker.js";
import { Budget } from "./budget.js";
import { Bulkhead } from "./bulkhead.js";
import type { GuardFields } from "./fields.js";
import { type Guard, type GuardOptions, PlainGuard } from "./guard.js";
import { Hedge } from "./hedge.js";
import { Limiter } from "./limiter.js";
import { Stretch } from "./stretch.js";

/** A pause of all calls for as long as a server asks one of them to stay away. */
export class Pause extends PlainGuard {
  constructor(fields: NonNullable<GuardFields["pause"]>, options?: GuardOptions) {
    super(7, fields, options);
  }
}

export { Adaptive, Breaker, Budget, Bulkhead, Hedge, Limiter, Stretch };

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
