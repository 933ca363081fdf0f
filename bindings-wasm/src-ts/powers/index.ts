/**
 * Adds `polynomial` and `decorrelated_v2` backoff to `holdoff`. Import it once, anywhere: `import "holdoff/powers"`.
 */
import { bring } from "../hot.js";
import { make, makeLater } from "../powers_wasm.js";

bring({ make, makeLater, powers: true });
