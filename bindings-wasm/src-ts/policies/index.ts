/**
 * Adds to `holdoff`: presets, lists of delays, backoffs of several stages, and `polynomial` and `decorrelated_v2` backoff. Import it once,
 * anywhere: `import "holdoff/policies"`.
 */
import powers from "../../dist/powers.wasm";
import { bring } from "../hot.js";
import { once } from "../module.js";
import { readStages } from "../stages.js";
import { PRESETS } from "./presets.js";

bring({ ...once(powers), powers: true });
readStages(PRESETS);

/** The names of the presets. */
export const presets: readonly string[] = Object.keys(PRESETS);
