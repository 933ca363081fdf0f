/** The second wasm module: the machines that a plain retry does without. */
import hex from "../../dist/machines.wasm";
import { FIELDS, ModuleMemory } from "../memory.js";

type Name =
  | "bucket"
  | "bucket_reserve"
  | "bucket_tokens"
  | "gate"
  | "gate_failure"
  | "gate_forget"
  | "gate_look"
  | "gate_preset"
  | "gate_release_at"
  | "gate_success"
  | "jitter"
  | "jitter_drawn"
  | "layered_begin"
  | "layered_cancel"
  | "layered_fail"
  | "layered_look"
  | "layered_succeed"
  | "layered_tick"
  | "layered_underway"
  | "layered_would_give_up"
  | "layers"
  | "layers_attempts"
  | "layers_go_on"
  | "loop_backoff"
  | "loop_backoff_exponential"
  | "loop_backoff_jittered"
  | "loop_backoff_look"
  | "loop_backoff_next"
  | "periodic"
  | "periodic_cancel"
  | "periodic_finish"
  | "periodic_look"
  | "periodic_tick"
  | "resume_call"
  | "resume_retry"
  | "save_call"
  | "save_retry"
  | "saved_bytes"
  | "saved_change"
  | "saved_json"
  | "saved_read"
  | "saved_set"
  | "saved_start"
  | "wait_backoff"
  | "wait_backoff_jitter"
  | "wait_backoff_kubernetes"
  | "wait_backoff_look"
  | "wait_backoff_step";

let made: ModuleMemory<Name> | undefined;

/** Its memory, compiled on first use. */
export const memory = (): ModuleMemory<Name> => (made ??= new ModuleMemory(hex, FIELDS));
