/** The machines that a plain retry does without, and saved states: loaded only if imported. */
export type { Length } from "../memory.js";
export { applyDrawn, applyJitter } from "./jitter.js";
export {
  Bucket,
  type BucketOptions,
  type ChromiumPolicy,
  GateConfig,
  type GateOptions,
  type GateState,
  Gates,
  type GatesOptions,
} from "./keyed.js";
export { Layered, Layers, type LayersOptions } from "./layered.js";
export {
  LoopBackoff,
  type LoopBackoffReset,
  Periodic,
  type PeriodicOptions,
  type PeriodicStep,
  WaitBackoff,
  type WaitBackoffOptions,
  type WaitBackoffState,
} from "./periodic.js";
export { type ResumeOptions, resumeCall, resumeRetry, type Saved, save, saveJson } from "./save.js";
