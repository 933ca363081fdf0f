/** From options to a policy. The rules are the core's; here are the names, and the refusal of what only `holdoff` has. */
import { bytes, wasm } from "./core.js";
import { ConfigError } from "./errors.js";
import { FIELDS, RULES } from "./rules.js";

/** A policy as the core reads it. */
export interface Policy {
  /** The state of a call that has not begun, with the policy behind it. */
  readonly state: Uint8Array;
  /** The first attempt's limit in nanoseconds. */
  readonly limit: number;
}

/** The error with that number. */
export const broken = (code: number, path: string, value: unknown, rule?: string): ConfigError =>
  new ConfigError(code, RULES[code - 103] ?? (rule ? "not_supported" : "unknown_failure_kind"), path, value, rule);

/** The options of the host. */
const HOST = ["seed", "signal", "clock", "when", "onRetry"];

/** True for a whole number of 64 bits that its type holds exactly. */
const isSeed = (value: unknown): boolean =>
  (typeof value === "bigint" || Number.isSafeInteger(value)) && (value as number) >= 0 && (value as bigint) < 1n << 64n;

/** Paths and values by turns, those of objects in it included. */
function collect(given: unknown[], path: string, value: unknown): void {
  if (value == null) return;
  if ({}.toString.call(value) !== "[object Object]") {
    given.push(path, value);
    return;
  }
  for (const name in value) {
    const inner = value[name as keyof typeof value] as unknown;
    if (path || !HOST.includes(name)) collect(given, path ? `${path}.${name}` : name, inner);
    else if (name === "seed" && inner != null && !isSeed(inner)) throw broken(113, name, inner);
  }
}

/** Puts a field in its place, as a number, and its value and its path beside it. */
function set(numbers: number[], values: unknown[], path: string, value: unknown): void {
  const name = path.replace(".delay", ".initial");
  const number = FIELDS.findIndex(([known]) => known === name || known === `${name}.kind`);
  const [, ...words] = FIELDS[number] ?? [];
  const word = words.indexOf(value as string);
  if (number < 0 || (word < 0 && (words[1] || typeof value !== "number"))) {
    throw broken(147, path, value, "is not in holdoff/lite, perhaps in holdoff");
  }
  // One word alone says that there is no limit.
  numbers[number] = words[1] ? word : word ? (Number.isFinite(value) ? (value as number) : -1) : Infinity;
  values[number] = value;
}

let latest: Policy;
let latestOptions: unknown[] = [];

/** The policy that the options describe; checked again when they say something else than the latest ones. */
export function policyOf(options: unknown): Policy {
  const given: unknown[] = [];
  collect(given, "", options);
  // Nothing else here is a number, so that a longer list differs from a shorter one.
  given.push(0);
  if (given.some((part, at) => part !== latestOptions[at])) {
    const core = wasm();
    const numbers = FIELDS.map(() => NaN);
    const values: unknown[] = [];
    for (let at = 1; at < given.length; at += 2) set(numbers, values, given[at - 1] as string, given[at]);
    const limit = core.policy(...numbers);
    const field = (-limit & 255) - 1;
    if (limit < 0) throw broken(-limit >> 8, FIELDS[field]?.[0] as string, values[field]);
    latest = { state: bytes.slice(), limit };
    latestOptions = given;
  }
  return latest;
}
