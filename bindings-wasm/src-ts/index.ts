/** Retries decided by one tested core. */
import hot from "../dist/hot.wasm";
import { bring } from "./hot.js";
import { once } from "./memory.js";

export * from "./main.js";

bring(once(hot));
