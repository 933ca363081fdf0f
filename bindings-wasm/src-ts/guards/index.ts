/** Guards that many calls share, so that a fleet stays alive when a dependency is ill. Importing it lets policies have guards. */
import hex from "../../dist/guards.wasm";
import { letPoliciesHaveGuards } from "./guards.js";
import { bring } from "./memory.js";

export * from "./names.js";

bring(hex);
letPoliciesHaveGuards();
