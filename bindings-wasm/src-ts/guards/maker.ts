/** How policies come to guards, which only the entry `holdoff/guards` makes. */
import type { Guarding } from "../host.js";
import type { Kept } from "../values.js";

interface Maker {
  check(kept: Kept): void;
  make(kept: Kept): Guarding;
}

export let maker: Maker | undefined;

/** What turns fields into guards, from the entry that knows them. */
export function makeGuardsWith(by: Maker): void {
  maker = by;
}
