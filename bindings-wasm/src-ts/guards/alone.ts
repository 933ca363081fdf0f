/**
 * The guards one by one, for programs with a loop of their own, by their names. Times are nanoseconds: `now` as a number or a
 * bigint, and by the host's clock when it is left out. What goes in as a bigint comes out as one.
 */
import { Adaptive } from "./adaptive.js";
import { Breaker } from "./breaker.js";
import { Budget } from "./budget.js";
import { Bulkhead } from "./bulkhead.js";
import type { GuardFields } from "./fields.js";
import { type Configs, type Guard, laidOf, type Origin } from "./guard.js";
import { Hedge } from "./hedge.js";
import { Limiter } from "./limiter.js";
import { Stretch } from "./stretch.js";

/** The classes in the order of {@link NAMES}. */
const CLASSES: readonly { readonly prototype: Guard }[] = [
  Budget,
  Breaker,
  Limiter,
  Bulkhead,
  Adaptive,
  Stretch,
  Hedge,
];

/** The guards of configurations, new. Those that are not there are undefined. */
export const madeOf = (configs: Configs, origin: Origin): (Guard | undefined)[] =>
  laidOf(configs, origin).map(
    (laid) => laid && Object.assign(Object.create(CLASSES[laid.index]?.prototype as Guard), laid),
  );

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
