/** Reads policies, and makes objects and errors, for the wasm module of tools. */

import { CALL, stateOf as keptState, RETRY } from "../core.js";
import { ConfigError, NOT_JSON, problem, shown, WRONG_TYPE } from "../errors.js";
import type { Rules } from "../failure.js";
import { maker, type SharedStates } from "../guards/maker.js";
import { Call, Retry, type Step, stepOf } from "../machine.js";
import { Policy, policyOf as policyFrom } from "../policy.js";
import type { Time } from "../times.js";
import { type FieldValue, isFields as isObjectOfFields, NUMBER } from "../values.js";
import type { Ended, InTime, Level, StopReason } from "../words.js";
import { ReplayError } from "./replay_error.js";
import type {
  AnyPolicy,
  Event,
  Explanation,
  FromForm,
  GateState,
  LayeredState,
  Lint,
  PeriodicState,
  PeriodicStep,
  Recorded,
  Row,
  WaitBackoffState,
} from "./types.js";

export { shown };

/** True for an object of fields; a getter of the program's own never throws here. */
export function isFields(value: unknown): boolean {
  try {
    return isObjectOfFields(value);
  } catch {
    return false;
  }
}

export const entriesOf = (value: object): [name: string, value: unknown][] => Object.entries(value);

export const itemsOf = (iterable: Iterable<unknown>): unknown[] => Array.from(iterable);

/** True for a log's bytes, also those of another realm, which `instanceof` does not know. */
export const isBytes = (log: unknown): log is Uint8Array =>
  ArrayBuffer.isView(log) && "BYTES_PER_ELEMENT" in log && log.BYTES_PER_ELEMENT === 1;

export const configError = (
  code: number,
  word: string,
  path: string,
  value: unknown,
  unit: string,
  rule: string,
  nearest?: string,
): ConfigError =>
  new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}${unit}`, rule, nearest);

export const policyOf = (value: AnyPolicy): Policy => (value instanceof Policy ? value : new Policy(value));

/** Throws unless it is a policy. */
export function checkPolicy(policy: unknown): Policy {
  if (!(policy instanceof Policy)) throw problem(WRONG_TYPE, "policy", policy);
  return policy;
}

/** The nanoseconds in one where a field is a number: of milliseconds in code; a document has no times without a unit. */
export const unitOf = ({ kind }: FieldValue): number => (kind === NUMBER ? 1e6 : Number.NaN);

export function makePolicy(
  words: Uint32Array,
  limit: number,
  ruleWords: Uint32Array | undefined,
  patterns: string[],
  guardFields: Uint32Array | undefined,
): Policy {
  const rules: Rules | undefined = ruleWords && { words: ruleWords, patterns: [patterns, []] };
  return policyFrom({ words, limit, rules, ...(guardFields && { guardFields }) });
}

export const makeFromForm = (policy: Policy, errorTypes: readonly string[]): FromForm => ({ policy, errorTypes });

export const makeExplanation = (rows: readonly Row[], lints: readonly Lint[], text: string): Explanation => ({
  rows,
  lints,
  toString: () => text,
});

export const makeLint = (
  code: number,
  word: string,
  text: string,
  found: number | undefined,
  limit: number | undefined,
): Lint => ({ code, word, text, found, limit });

export function makeRow(retry: number, inTime: InTime, spans: ArrayLike<number>): Row {
  const [min, typical, max, minTotal, typicalTotal, maxTotal] = Array.from(spans) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { retry, min, typical, max, minTotal, typicalTotal, maxTotal, inTime };
}

/** JSON whose whole numbers keep all their bits: Go writes its longest time as 2^63-1. Other values stay what they are. */
export function parseDocument(document: unknown): unknown {
  if (typeof document !== "string") return document;
  const long = new Map<string, bigint>();
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = document.replace(token, (part) => {
    if (!/^\d{16,19}$/.test(part)) return part;
    const mark = `\u0000${part}`;
    long.set(mark, BigInt(part));
    return JSON.stringify(mark);
  });
  try {
    return JSON.parse(marked, (_, value) => (typeof value === "string" ? (long.get(value) ?? value) : value));
  } catch (cause) {
    throw problem(NOT_JSON, "", document, cause);
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problem(NOT_JSON, "", text, cause);
  }
}

/** Throws unless it is an object of fields. */
export function checkFields(value: unknown): unknown {
  if (!isFields(value)) throw problem(WRONG_TYPE, "", value);
  return value;
}

/** A machine as words: its policy and its state. */
export function stateOf(machine: unknown): { policy: Uint32Array; words: Uint32Array } {
  if (machine instanceof Call) return { policy: machine["policy"], words: keptState(CALL, machine["keeper"]) };
  if (machine instanceof Retry) return { policy: machine["policy"], words: keptState(RETRY, machine["keeper"]) };
  throw problem(WRONG_TYPE, "machine", machine);
}

const machine = <M>(prototype: M, policy: Uint32Array, state: Uint32Array): M =>
  Object.assign(Object.create(prototype as object), { policy, keeper: { state } });

export const makeCall = (policy: Uint32Array, words: Uint32Array): Call => machine(Call.prototype, policy, words);

export const makeRetry = (policy: Uint32Array, words: Uint32Array): Retry => machine(Retry.prototype, policy, words);

export const makeStep = (codes: number, attempt: number, at: Time, wakeAt: Time): Step<Time> =>
  stepOf(codes, attempt, (first) => (first ? at : wakeAt));

export function makeGateState(failures: number, delay: Time, release: Time, is: ArrayLike<number>): GateState<Time> {
  const [isOpen, isDiscardable, covers, coversSince, draws] = Array.from(is, Boolean) as [
    boolean,
    boolean,
    boolean,
    boolean,
    boolean,
  ];
  return { failures, delay, release, isOpen, isDiscardable, covers, coversSince, draws };
}

export const makeWaitBackoffState = (
  duration: bigint,
  steps: bigint,
  cap: bigint,
  draws: boolean,
): WaitBackoffState => ({ duration, steps, cap, draws });

export function makePeriodicStep(
  kind: PeriodicStep["kind"],
  run: number,
  until: Time,
  ended: Ended,
): PeriodicStep<Time> {
  switch (kind) {
    case "run":
      return { kind, run };
    case "sleep":
      return { kind, until };
    case "wait":
      return { kind };
    default:
      return { kind, ended };
  }
}

export const makePeriodicState = (
  runs: number,
  intervals: number,
  interval: bigint,
  deadline: bigint,
): PeriodicState => ({ runs, intervals, interval, deadline });

export const makeLayeredState = (
  attempt: number,
  outerAttempt: number,
  innerAttempt: number,
  stoppedBy: Level | undefined,
  innerReason: StopReason | undefined,
): LayeredState => ({ attempt, outerAttempt, innerAttempt, stoppedBy, innerReason });

/** The states of a set of guards, which only the entry `holdoff/guards` makes. */
export function checkGuards(guards: unknown): SharedStates {
  const shared = maker?.states(guards);
  if (shared === undefined) throw problem(WRONG_TYPE, "guards", guards);
  return shared;
}

export function makeEvent(json: string): Event {
  const event = JSON.parse(json) as Event;
  if (event.payload) Object.freeze(event.payload);
  return Object.freeze(event);
}

export const makeRecorded = (step: Step<Time>, events: readonly Event[]): Recorded<Time> => ({ step, events });

export function parseEvent(json: string, sequence: number): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    const [word, rule] = ["not_json", "must be JSON"];
    throw new ReplayError(`${numbered(sequence)}: ${rule}`, { code: NOT_JSON, word, rule, sequence, cause });
  }
}

const numbered = (sequence: number): string => (sequence > 0 ? `event ${sequence}` : "event");

/** The error about a field of an event; `value` is the text between path and rule. */
export function replayError(
  code: number,
  word: string,
  sequence: number,
  path: string,
  value: string,
  rule: string,
  nearest?: string,
): ReplayError {
  const field = path ? `, ${path}${value}` : "";
  const meant = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  return new ReplayError(`${numbered(sequence)}${field}: ${rule}${meant}`, {
    code,
    word,
    sequence,
    path,
    rule,
    nearest,
  });
}

export const differenceError = (
  code: number,
  word: string,
  sequence: number,
  rule: string,
  message: string,
  recorded: Event | undefined,
  computed: Event | undefined,
): ReplayError => new ReplayError(message, { code, word, sequence, rule, recorded, computed });

/** The error about an argument that is no object of its class. */
export const notA = (name: string, value: unknown): ConfigError => problem(WRONG_TYPE, name, value);

/** An error of wasm-bindgen's own, about an object that is no more or in use. */
export const thrown = (message: string): Error =>
  new Error(message.startsWith("null pointer") ? "this object of holdoff/tools was freed" : message);
