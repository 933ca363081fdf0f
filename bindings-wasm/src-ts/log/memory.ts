/** The fifth wasm module: the fourth with logs and saved states. It replaces the fourth. */
import hex from "../../dist/log.wasm";
import { bring, FIELDS, memory as guardsMemory } from "../guards/memory.js";
import type { ModuleMemory } from "../memory.js";

type Name =
  | "event_bytes"
  | "event_check"
  | "event_look"
  | "event_read"
  | "event_set"
  | "event_show"
  | "event_start"
  | "policy_attempts"
  | "recorder_abandon"
  | "recorder_begin"
  | "recorder_cancel"
  | "recorder_fail"
  | "recorder_look"
  | "recorder_resume"
  | "recorder_succeed"
  | "recorder_tick"
  | "replay_apply"
  | "replay_finish"
  | "replay_start";

const MORE = ["recorder", "recorded", "event", "reason", "bytes"] as const;

bring(hex, [...FIELDS, ...MORE]);

/** The memory of the module; guards know a part of it. */
export const memory = guardsMemory as unknown as () => ModuleMemory<
  Name,
  (typeof FIELDS)[number] | (typeof MORE)[number]
>;
