/** How policies come to guards, which only the entry `holdoff/guards` makes. */
import type { Guarding } from "../host.js";
import type { GuardFields } from "../values.js";

interface Maker {
  check(guardFields: GuardFields): void;
  make(guardFields: GuardFields): Guarding;
}

export let maker: Maker | undefined;

/** Sets the maker of guards: the entry `holdoff/guards` has one. */
export function makeGuardsWith(by: Maker): void {
  maker = by;
}
