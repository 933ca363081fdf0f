/** The words for the core's numbers that a plain policy needs. */
import type { Cause, FailureKind, StopReason } from "../words.js";

export const KINDS: FailureKind[] = ["transient", "throttled", "timeout", "permanent"];
export const CAUSES: Cause[] = ["backoff", "hint", "clip"];
/** The only other reason is a hint: those between are guards'. */
export const REASONS: StopReason[] = ["permanent", "attempts", "deadline"];
