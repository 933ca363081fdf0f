/**
 * Adds `polynomial` and `decorrelated_v2` backoff to `holdoff`. Import it once, anywhere: `import "holdoff/powers"`.
 */
import { bring } from "../hot.js";
import { checkWasm, make, makeLater } from "../powers_wasm.js";

bring({ make, makeLater, checkWasm, powers: true });
