/** The other machines, saved states, and what explains a policy to people: loaded by those who import it. */
export type { Length } from "./border.js";
export { applyJitter, type Explanation, explain, type Lint, lints, type Row } from "./explain.js";
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
  Pace,
  type PaceReset,
  Periodic,
  type PeriodicOptions,
  type PeriodicStep,
  Stepped,
  type SteppedOptions,
  type SteppedState,
} from "./periodic.js";
export { type ResumeOptions, resumeCall, resumeRetry, type Saved, save, saveJson } from "./save.js";
