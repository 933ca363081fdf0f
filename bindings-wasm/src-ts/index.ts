/** Retries decided by one tested core. */
import { bring } from "./hot.js";
import { checkWasm, make, makeLater } from "./hot_wasm.js";

export { Call, type Decision, Retry, Schedule } from "./machine.js";
export * from "./main.js";
export type { Step } from "./steps.js";

bring({ make, makeLater, checkWasm });
