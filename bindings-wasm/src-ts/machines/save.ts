/** States that last: as bytes or JSON, to be resumed later, elsewhere, or in another language. */

import { CALL, RETRY, stateOf } from "../core.js";
import { NOT_JSON, problem, WRONG_TYPE } from "../errors.js";
import { Call, Retry, wordsOf } from "../machine.js";
import { exact, type Length, nanos } from "../memory.js";
import type { Policy } from "../policy.js";
import type { Time } from "../times.js";
import { isFields } from "../values.js";
import { memory } from "./memory.js";

/** How to resume. */
export interface ResumeOptions {
  /** Take it although it was saved under another policy, which is known to differ harmlessly. */
  forced?: boolean | null | undefined;
  /** How long it lay, if that is to count: against the deadline, and as sleep. */
  away?: Length | null | undefined;
}

/** A saved state: bytes, JSON as text, or the object read from it. */
export type Saved = Uint8Array | string | object;

/** The state of a machine at `now` as bytes: 56 of a retry, 72 of a call. */
export function save(machine: Retry | Call, now: Time): Uint8Array {
  writeSaved(machine, now);
  const { core, text } = memory();
  return text.slice(0, core.saved_bytes());
}

/** The same as JSON. */
export function saveJson(machine: Retry | Call, now: Time): string {
  writeSaved(machine, now);
  return memory().readText(memory().core.saved_json());
}

function writeSaved(machine: Retry | Call, now: Time): void {
  if (machine instanceof Call) {
    writeMachine("call", machine["policy"], stateOf(CALL, machine["keeper"]), now);
    memory().core.save_call();
  } else if (machine instanceof Retry) {
    writeMachine("retry", machine["policy"], stateOf(RETRY, machine["keeper"]), now);
    memory().core.save_retry();
  } else {
    throw problem(WRONG_TYPE, "machine", machine);
  }
}

function writeMachine(field: "call" | "retry", policy: Uint32Array, state: Uint32Array, now: Time): void {
  memory().writeNumbers(exact(now, "now"));
  memory().write("policy", policy);
  memory().write(field, state);
}

/** The machine that was saved, on a clock that reads `now`. Throws a ConfigError about what is damaged or another's. */
export function resumeRetry(saved: Saved, policy: Policy, now: Time, options: ResumeOptions = {}): Retry {
  const words = resume(saved, policy, now, options);
  memory().check(memory().core.resume_retry());
  return Object.assign(Object.create(Retry.prototype) as Retry, {
    policy: words,
    keeper: { state: memory().copy("retry") },
  });
}

/**
 * The loop that was saved, on a clock that reads `now`; what comes next is said by its `tick`. An attempt that was in flight
 * is abandoned: it fails now, as a timeout.
 */
export function resumeCall(saved: Saved, policy: Policy, now: Time, options: ResumeOptions = {}): Call {
  const words = resume(saved, policy, now, options);
  memory().check(memory().core.resume_call());
  return Object.assign(Object.create(Call.prototype) as Call, {
    policy: words,
    keeper: { state: memory().copy("call") },
  });
}

/** Lays down what was saved, the policy and the time. */
function resume(saved: Saved, policy: Policy, now: Time, { forced, away }: ResumeOptions): Uint32Array {
  const words = wordsOf(policy);
  const time = exact(now, "now");
  const lain = nanos(away, "away", 0n);
  read(saved);
  memory().write("policy", words);
  memory().writeNumbers(lain);
  memory().core.saved_change(forced ? 1 : 0);
  memory().writeNumbers(time);
  return words;
}

function read(saved: Saved): void {
  const { core, text } = memory();
  if (saved instanceof Uint8Array) {
    // A state is short: longer bytes are not a state.
    const bytes = saved.subarray(0, text.length);
    text.set(bytes);
    memory().check(core.saved_read(bytes.length));
    return;
  }
  const fields = typeof saved === "string" ? parsed(saved) : saved;
  if (!isFields(fields)) throw problem(WRONG_TYPE, "", fields);
  // Read first: a getter may save something, too.
  const values = Object.entries(fields);
  core.saved_start();
  for (const [name, value] of values) {
    const [kind, size] = setting(value);
    memory().check(core.saved_set(memory().writeName(name), kind, size), name, value);
  }
}

const OTHER = 0;
const TEXT = 1;
const NUMBER = 2;
const NOTHING = 3;

function setting(value: unknown): [kind: number, size: number] {
  if (value === undefined || value === null) return [NOTHING, 0];
  if (typeof value === "string" || typeof value === "bigint") return [TEXT, memory().writeText(String(value))];
  if (typeof value !== "number") return [OTHER, 0];
  memory().writeDouble(0, value);
  return [NUMBER, 0];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problem(NOT_JSON, "", text, cause);
  }
}
