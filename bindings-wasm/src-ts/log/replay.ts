/** The way back from a log: the call as it was when its latest event was written, whatever has become of the process. */
import { problem, WRONG_TYPE } from "../errors.js";
import { layPolicy } from "../guards/desk.js";
import { wordsOf } from "../machine.js";
import type { Policy } from "../policy.js";
import { REPLAY_MODES, type ReplayMode } from "../words.js";
import { desk } from "./desk.js";
import { wrong } from "./error.js";
import { type Event, type Given, givenOf, isBytes, layEvent, type Notes, readEach, shownEvent } from "./event.js";
import { checkOptions, Recorder, type RecorderOptions } from "./recorder.js";

/** How to read a log. */
export interface ReplayOptions extends RecorderOptions {
  /**
   * Which decision counts where the log has one and the policy makes another: the log's (`"follow"`, unless given), or none:
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
  // A program's iterable comes first: it may do anything, and the core has one desk.
  const given = isBytes(log) ? log : Array.from(log, givenAndTask);
  layPolicy(words);
  desk().core.replay_start(which, anyPolicy ? 1 : 0);
  let name: string | undefined;
  if (isBytes(given)) {
    readEach(given, (reason) => apply({ reason }));
  } else {
    for (const [at, [event, taskOf]] of given.entries()) {
      apply({ task: taskOf, ...layEvent(event, at + 1) });
      name ??= taskOf;
    }
  }
  const length = desk().core.replay_finish();
  if (length !== 0) throw wrong(length, {});
  return Recorder.laid(words, { guards, task: task ?? name });
}

function givenAndTask(event: unknown, at: number): [given: Given, task: string | undefined] {
  const given = givenOf(event, at + 1);
  if (given instanceof Uint32Array) return [given, (event as Event).payload?.taskId];
  const task = given.find(([name]) => name === "payload.taskId")?.[1];
  return [given, typeof task === "string" ? task : undefined];
}

/** Where the desk says whether there is an event that the policy says instead. */
const COMPUTED = 14;

/** Takes the event that lies on the desk. */
function apply(notes: Notes): void {
  const { core } = desk();
  const words = desk().taken("event");
  const length = core.replay_apply();
  if (length === 0) return;
  const computed = desk().got(COMPUTED) === 0n ? undefined : looked({});
  desk().lay("event", words);
  throw wrong(length, { recorded: looked(notes), computed });
}

function looked(notes: Notes): Event {
  desk().core.event_look();
  return shownEvent(notes);
}
