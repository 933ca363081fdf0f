/** Reads policies, and makes objects and errors, for the wasm module of tools. */
import source from "../../dist/tools.wasm";
import { ConfigError, NOT_JSON, problem as problemOf, shown, WRONG_TYPE, wrongType } from "../errors.js";
import { maker, type SharedStates } from "../host.js";
import { compile } from "../memory.js";
import { Policy, type Step, stepOf } from "../policy.js";
import { TIME_RULES } from "../table.js";
import type { Time } from "../values.js";
import { collect, type FieldValue, isFields as isObjectOfFields, LIST, LONGEST_NAME, NUMBER } from "../values.js";
import { type Event, ReplayError, type ReplayParts } from "./events.js";
import type { AnyPolicy, Explanation, Lint, Row } from "./types.js";

export { shown };

/** True for an object of fields; a getter of the program's own never throws here. */
export function isFields(value: unknown): boolean {
  try {
    return isObjectOfFields(value);
  } catch {
    return false;
  }
}

export const entriesOf = (value?: object | null): [name: string, value: unknown][] => Object.entries(value ?? {});

/** True for a log's bytes, also those of another realm, which `instanceof` does not know. */
export const isBytes = (log: unknown): log is Uint8Array =>
  ArrayBuffer.isView(log) && "BYTES_PER_ELEMENT" in log && log.BYTES_PER_ELEMENT === 1;

/** An error of the core's; a value that it did not say is undefined. */
export const configError = (
  { code, word, path, rule, nearest }: ConfigError,
  value: unknown,
  unit: string,
): ConfigError =>
  new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}${unit}`, rule, nearest);

export const policyOf = (value: AnyPolicy): Policy => (value instanceof Policy ? value : new Policy(value));

/** The error with that number; errors about times have texts of their own. */
export const problem = (code: number, path: string, value: unknown, cause?: unknown): ConfigError =>
  problemOf(code, path, value, cause, TIME_RULES);

/** Throws unless it is a policy. */
export function checkPolicy(policy: unknown): Policy {
  if (!(policy instanceof Policy)) throw wrongType("policy", policy, "a Policy");
  return policy;
}

export const readPolicy = (document: string): Policy => Policy.fromJson(document);

export const makeExplanation = (rows: readonly Row[], lints: readonly Lint[], text: string): Explanation => ({
  rows,
  lints,
  toString: () => text,
});

/** The fields of a document, but for lists with items, whose items come one by one. */
export function documentFields(document: unknown): FieldValue[] {
  const values: FieldValue[] = [];
  collect(values, "", parseDocument(document), NUMBER, LONGEST_NAME);
  return values.filter(({ kind }) => kind !== LIST);
}

/** JSON whose whole numbers keep all their bits: Go writes its longest time as 2^63-1. Other values stay what they are. */
function parseDocument(document: unknown): unknown {
  if (typeof document !== "string") return document;
  const long = new Map<string, bigint>();
  // One short token after the other, so that a long text takes neither more time nor more stack.
  const token = /\\[\s\S]?|"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let isText = false;
  const marked = document.replace(token, (part) => {
    if (part === '"') isText = !isText;
    if (isText || !/^\d{16,19}$/.test(part)) return part;
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

export const makeStep = (codes: number, attempt: number, at: Time, wakeAt: Time): Step<Time> =>
  stepOf(codes, attempt, (first) => (first ? at : wakeAt));

/** The states of a set of guards, which only the entry `holdoff/guards` makes. */
export function checkGuards(guards: unknown): SharedStates {
  const shared = maker?.states(guards);
  if (shared === undefined) throw wrongType("guards", guards, 'Guards of "holdoff/guards"');
  return shared;
}

export function makeEvent(json: string): Event {
  const event = JSON.parse(json) as Event;
  if (event.payload) Object.freeze(event.payload);
  return Object.freeze(event);
}

export const replayError = (message: string, parts: ReplayParts): ReplayError => new ReplayError(message, parts);

/** The error about an argument that is no object of its class. */
export const notA = (name: string, value: unknown): ConfigError => problem(WRONG_TYPE, name, value);

/** An error of wasm-bindgen's own, about an object that is no more or in use. */
export const thrown = (message: string): Error =>
  new Error(message.startsWith("null pointer") ? "this object of holdoff/tools was freed" : message);

/** Stands for the exports of the module until one of them is read, and then makes it. */
export const atFirstUse = <T extends object>(init: (parts: { module: WebAssembly.Module }) => T): T =>
  new Proxy({} as T, { get: (_, name) => init({ module: compile(source) })[name as keyof T] });
