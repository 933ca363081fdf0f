/** The way back from a log: the call as it was when its latest event was written, whatever has become of the process. */
import { problem, WRONG_TYPE } from "../errors.js";
import { loadPolicy } from "../guards/memory.js";
import { wordsOf } from "../machine.js";
import type { Policy } from "../policy.js";
import { REPLAY_MODES, type ReplayMode } from "../words.js";
import { wrong } from "./error.js";
import {
  type Event,
  type EventValues,
  isBytes,
  type Notes,
  readEach,
  shownEvent,
  valuesOf,
  writeEvent,
} from "./event.js";
import { memory } from "./memory.js";
import { checkOptions, Recorder, type RecorderOptions } from "./recorder.js";

/** How to read a log. */
export interface ReplayOptions extends RecorderOptions {
  /**
   * Which decision counts where the log has one and the policy makes another: the log's (`"follow"`, unless values), or none:
   * the first difference is an error (`"verify"`).
   */
  mode?: ReplayMode | null | undefined;
  /** The log may have been written under another policy. */
  anyPolicy?: boolean | null | undefined;
}

/** A log: its bytes, or its events, each as an object or as its JSON. */
export type Log = Uint8Array | Iterable<Event | object | string>;

/**
 * The recorder that wrote a log, which goes on with {@link Recorder.resume}. Throws a {@link ReplayError} about the first event
 * that is damaged, missing, impossible, or not what the policy decides.
 */
export function replay(policy: Policy, log: Log, options: ReplayOptions = {}): Recorder {
  const words = wordsOf(policy);
  const { mode, anyPolicy, task, guards } = options;
  const which = REPLAY_MODES.indexOf(mode ?? "follow");
  if (which < 1) throw problem(WRONG_TYPE, "mode", mode);
  checkOptions(options);
  if (typeof log !== "object" || log === null) throw problem(WRONG_TYPE, "log", log);
  // A program's iterable comes first: it may do anything, and the core's memory is shared.
  const values = isBytes(log) ? log : Array.from(log, valuesAndTask);
  loadPolicy(words);
  memory().core.replay_start(which, anyPolicy ? 1 : 0);
  let name: string | undefined;
  if (isBytes(values)) {
    readEach(values, (reason) => apply({ reason }));
  } else {
    for (const [at, [event, taskOf]] of values.entries()) {
      apply({ task: taskOf, ...writeEvent(event, at + 1) });
      name ??= taskOf;
    }
  }
  const length = memory().core.replay_finish();
  if (length !== 0) throw wrong(length, {});
  return Recorder.fromMemory(words, { guards, task: task ?? name });
}

function valuesAndTask(event: unknown, at: number): [values: EventValues, task: string | undefined] {
  const values = valuesOf(event, at + 1);
  if (values instanceof Uint32Array) return [values, (event as Event).payload?.taskId];
  const task = values.find(([name]) => name === "payload.taskId")?.[1];
  return [values, typeof task === "string" ? task : undefined];
}

/** The offset of the flag that the policy expects another event. */
const COMPUTED = 14;

/** Applies the event in the module's memory. */
function apply(notes: Notes): void {
  const { core } = memory();
  const words = memory().copy("event");
  const length = core.replay_apply();
  if (length === 0) return;
  const computed = memory().readNumber(COMPUTED) === 0n ? undefined : looked({});
  memory().write("event", words);
  throw wrong(length, { recorded: looked(notes), computed });
}

function looked(notes: Notes): Event {
  memory().core.event_look();
  return shownEvent(notes);
}
