/** Retries decided by one tested core. */
import hot from "../dist/hot.wasm";
import { bring } from "./hot.js";
import { once } from "./module.js";

export { Call, type Decision, Retry, Schedule } from "./machine.js";
export * from "./main.js";
export type { Step } from "./steps.js";

bring(once(hot));
