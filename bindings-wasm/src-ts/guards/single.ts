/**
 * Single guards by name, for programs with a loop of their own. Times are nanoseconds: `now` is a number or a bigint, the host's
 * time if left out. A time that goes in as a bigint comes out as a bigint.
 */
import { Adaptive } from "./adaptive.js";
import { Breaker } from "./breaker.js";
import { Budget } from "./budget.js";
import { Bulkhead } from "./bulkhead.js";
import type { Configs } from "./configs.js";
import type { GuardFields } from "./fields.js";
import { type Guard, type Origin, storedGuards } from "./guard.js";
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

/** New guards of configurations; undefined where a set has no such guard. */
export const madeOf = (configs: Configs, origin: Origin): (Guard | undefined)[] =>
  storedGuards(configs, origin).map(
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
