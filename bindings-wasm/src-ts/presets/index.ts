/**
 * Adds the presets to `holdoff`: policies that other systems have by default, by name. Import it once, anywhere:
 * `import "holdoff/presets"`.
 */
import { usePresets } from "../policy.js";
import { PRESETS } from "./table.js";

usePresets(PRESETS);

/** The names of the presets. */
export const presets: readonly string[] = Object.keys(PRESETS);
