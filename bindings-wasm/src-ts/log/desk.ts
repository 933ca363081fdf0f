/** The fifth wasm module: the fourth, and what calls leave behind to be gone on with. It takes the fourth one's place. */
import hex from "../../dist/log.wasm";
import type { Desk } from "../border.js";
import { bring, FIELDS, desk as guardsDesk } from "../guards/desk.js";

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

/** Its desk, of which guards know a part. */
export const desk = guardsDesk as unknown as () => Desk<Name, (typeof FIELDS)[number] | (typeof MORE)[number]>;
