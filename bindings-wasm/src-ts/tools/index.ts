/** Everything that a plain retry does without, loaded only if imported. */

import "../classify/index.js";
import "../presets/index.js";

export type { Length } from "../memory.js";
export type { FormName } from "../words.js";
export {
  applyDrawn,
  applyJitter,
  Bucket,
  explain,
  fromForm,
  GateConfig,
  Gates,
  Layered,
  Layers,
  LoopBackoff,
  lintNested,
  lints,
  Periodic,
  presets,
  resumeCall,
  resumeRetry,
  save,
  saveJson,
  toForm,
  toJson,
  totalWait,
  totalWaitNanos,
  WaitBackoff,
} from "./core.js";
export type {
  AnyPolicy,
  BucketOptions,
  ChromiumPolicy,
  ExplainOptions,
  Explanation,
  ExponentialOptions,
  FlowcontrolOptions,
  FromForm,
  GateOptions,
  GateState,
  GatesOptions,
  KubernetesBackoff,
  LayeredState,
  LayersOptions,
  Lint,
  LintOptions,
  LoopBackoffReset,
  PeriodicOptions,
  PeriodicState,
  PeriodicStep,
  ResumeOptions,
  Row,
  Saved,
  WaitBackoffOptions,
  WaitBackoffState,
} from "./types.js";
