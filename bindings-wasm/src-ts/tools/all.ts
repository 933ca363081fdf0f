/** What needs the wasm module of tools. */

import "../classify/index.js";
import "../policies/index.js";

export type { Length } from "../memory.js";
export type { FormName } from "../words.js";
export { type ChaosOptions, chaos, withChaos } from "./chaos.js";
export {
  applyDrawn,
  applyJitter,
  attemptsOf,
  Bucket,
  Chaos,
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
  Recorder,
  replay,
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
export { Event } from "./event.js";
export { restoreGuards, saveGuards } from "./guard_states.js";
export { type Incident, incident, type RecordedAttempt, RecordedError } from "./incident.js";
export { ReplayError } from "./replay_error.js";
export type * from "./types.js";
