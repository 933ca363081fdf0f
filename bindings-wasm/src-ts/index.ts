/** Retries decided by one tested core. */
import hot from "../dist/hot.wasm";
import { bring } from "./hot.js";
import { once } from "./module.js";

export * from "./main.js";

bring(once(hot));
