/**
 * Adds `polynomial` and `decorrelated_v2` backoff to `holdoff`. Import it once, anywhere: `import "holdoff/powers"`.
 */
import powers from "../../dist/powers.wasm";
import { bring } from "../hot.js";
import { once } from "../module.js";

bring({ ...once(powers), powers: true });
