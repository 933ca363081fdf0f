/** How policies come to guards, which only the entry `holdoff/guards` makes. */
import type { Guarding } from "./host.js";
import type { GuardFields } from "./values.js";

/** The guards of a set, whose states a recorded call changes. */
export interface SharedStates {
  /** The guards, their states read back from wasm memory. */
  take(): readonly object[];
  /** Wakes the calls that wait for a place in the bulkhead or the breaker. */
  notify(): void;
}

interface Maker {
  check(guardFields: GuardFields): void;
  make(guardFields: GuardFields): Guarding;
  /** The states of a set of guards; undefined for any other value. */
  states(guards: unknown): SharedStates | undefined;
}

export let maker: Maker | undefined;

/** Sets the maker of guards: the entry `holdoff/guards` has one. */
export function makeGuardsWith(by: Maker): void {
  maker = by;
}
