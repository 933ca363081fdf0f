/**
 * Adds the presets to `holdoff`: policies that other systems have by default, by name. Import it once, anywhere:
 * `import "holdoff/presets"`. Presets of several stages need `holdoff/stages`, too.
 */
import { readStages } from "../stages.js";
import { PRESETS } from "./table.js";

readStages(PRESETS);

/** The names of the presets. */
export const presets: readonly string[] = Object.keys(PRESETS);
