/**
 * Adds to `holdoff`: policies with `rules`, and with the other fields that plain retries do without, gRPC statuses and pushbacks, and the hints of quotas (`RateLimit`,
 * `x-ratelimit-reset` and their like). Import it once, anywhere: `import "holdoff/classify"`.
 */
import source from "../../dist/classify.wasm";
import { ConfigError, shown, UNKNOWN_FIELD } from "../errors.js";
import {
  type Classifier,
  checkedFailure,
  type ErrorFacts,
  type ErrorLike,
  integer,
  judgedByRules,
  type Names,
  NO_FACTS,
  publicFailure,
  type ReadPolicy,
  useClassifier,
} from "../failure.js";
import type { Rules, RuleText } from "../hooks.js";
import { bring, readLong } from "../hot.js";
import { encode, ModuleMemory, once } from "../memory.js";
import { optionFor } from "../options.js";
import { CLASSIFY_FIELDS, type ClassifyExports } from "../places.js";
import { camel, type FieldValue, FLAG, LIST, NUMBER, snake, TEXT, UNITLESS } from "../values.js";

const { make, makeLater, checkWasm } = once(source);

let made: ModuleMemory<ClassifyExports, (typeof CLASSIFY_FIELDS)[number]> | undefined;
const memory = () => (made ??= new ModuleMemory(make() as ClassifyExports, CLASSIFY_FIELDS));

// The bits of a text that is kept here; anything else is the length of a problem.
const HOST_KEEPS = 0x80000000;
const BEGINS = 1;
const KEEPS_TEXT = 2;

function writeName(text: string): number {
  const { name } = memory().words;
  return encode(text, new Uint8Array(name.buffer, name.byteOffset, name.byteLength));
}

/** Throws the error that `length` bytes of text describe; 0 is none. `values` are all of them, so that it can show a value. */
function check(length: number, values: readonly FieldValue[], isCode: boolean, field?: FieldValue): void {
  if (length === 0) return;
  const [word, known, rule, near, number] = memory().readText(length).split("\n") as [
    string,
    string,
    string,
    string,
    string,
  ];
  const [code] = memory().words.problem as unknown as [number];
  const path = known || (field?.path ?? "");
  const original = valueAt(values, path) ?? field?.value;
  const given = original === undefined ? number : shown(original);
  const nearest =
    isCode && code === UNKNOWN_FIELD && !field?.path.includes("_") ? camel(near) || optionFor(path) : near;
  throw new ConfigError(code, word, path, given && ` = ${given}`, rule, nearest || undefined);
}

/** The value of the field with this path, under any of its names. */
function valueAt(values: readonly FieldValue[], path: string): unknown {
  const at = (wanted: string): unknown => values.filter(({ path }) => snake(path) === wanted).at(-1)?.value;
  return at(path) ?? at(path.replace(/\.(kind|mode)$/, "")) ?? at(path.replace(/^(backoff.*)\.initial$/, "$1.delay"));
}

/** An error and the errors that caused it. */
function causesOf(error: unknown): ErrorLike[] {
  const causes: ErrorLike[] = [];
  let inner = error;
  while (typeof inner === "object" && inner !== null && causes.length < 5) {
    causes.push(inner);
    inner = (inner as ErrorLike).cause;
  }
  return causes;
}

function namesOf(error: unknown): Names {
  try {
    const types: unknown[] = [(error as ErrorLike | null)?.name];
    for (let of = error; typeof of === "object" && of !== null; of = Object.getPrototypeOf(of)) {
      types.push((of as object).constructor?.name);
    }
    return { codes: causesOf(error).flatMap(({ code, sqlState }) => [code, sqlState]), types };
  } catch {
    return { codes: [], types: [] };
  }
}

/** One bit for each alternative of the rules that has a text in that list for which the function is true. */
const bitsOf = ({ texts }: Rules, wanted: number, has: (text: string) => boolean): number =>
  texts.reduce(
    (bits, [alternative, list, text]) => (list === wanted && has(text) ? bits | (1 << alternative) : bits),
    0,
  );

const CODES = 1;
const TYPES = 2;
const PATTERNS = 3;

function messageOf(error: unknown): string {
  try {
    const { message } = (typeof error === "object" && error !== null ? error : { message: error }) as ErrorLike;
    return typeof message === "symbol" ? "" : String(message ?? "");
  } catch {
    return "";
  }
}

const NO_CODE = 0xffffffff;

const classifier: Classifier = {
  policy(values, name): ReadPolicy {
    let texts: RuleText[] = [];
    const { core } = memory();
    core.options_start();
    for (const field of values) {
      const { path, value, kind } = field;
      if (kind === LIST) continue;
      if (kind === NUMBER || kind === UNITLESS) memory().writeDouble(0, value);
      const size = kind === TEXT ? memory().writeText(value as string) : kind === FLAG && value ? 1 : 0;
      const answer = core.options_set(writeName(name(path)), kind, size) >>> 0;
      if (answer < HOST_KEEPS) {
        check(answer, values, name === snake, field);
        continue;
      }
      const list = (answer >> 2) & 3;
      const alternative = (answer >> 4) & 255;
      if (answer & BEGINS) texts = texts.filter((text) => text[0] !== alternative || text[1] !== list);
      if (answer & KEEPS_TEXT) texts.push([alternative, list, value as string]);
    }
    check(core.options_build(), values, name === snake);
    // By their places in the policy, whatever the order of its fields.
    texts.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const rules = memory().copy("rules");
    const { limits: of } = memory().words;
    const [deadline, minAttempt, timeout, limit] = [0, 2, 4, 6].map((at) => readLong(of, at)) as [
      number,
      number,
      number,
      number,
    ];
    const limits = { deadline, minAttempt, timeout, limit, needs: core.needs() };
    return {
      numbers: memory().copy("policy"),
      limits,
      rules: rules.some(Boolean) ? { words: rules, texts } : undefined,
    };
  },

  judge(rules, seen, idempotent, kind, error, names) {
    // The user's code comes first: a getter may run other operations, and the core's memory is shared.
    const { codes, types } = names ?? namesOf(error);
    const message = rules.texts.some(([, list]) => list === PATTERNS) ? messageOf(error) : "";
    const coded = bitsOf(rules, CODES, (text) => codes.includes(text));
    const typed = bitsOf(rules, TYPES, (text) => types.includes(text));
    const patterns = bitsOf(rules, PATTERNS, (text) => message.includes(text));
    const { statuses, programError, unsent, shouldRetry } = seen;
    // A code that is none of the table reads as UNKNOWN.
    const grpc = seen.grpc === undefined ? NO_CODE : Math.min(integer(seen.grpc, 2), 254);
    const flags = (idempotent ? 1 : 0) | (unsent ? 2 : 0) | (programError ? 4 : 0) | (shouldRetry << 3);
    memory().write("rules", rules.words);
    return memory().core.judge(kind, statuses[0] ?? 0, grpc, coded | (typed << 16), patterns | (flags << 16));
  },

  failure(rules, failure, facts) {
    const { status, grpc, codes, types, message, idempotent, unsent, programFault, shouldRetry } = facts;
    const seen: ErrorFacts = {
      ...NO_FACTS,
      statuses: [integer(status)],
      grpc: grpc ?? undefined,
      programError: programFault === true,
      unsent: unsent === true,
      shouldRetry: shouldRetry === true ? 1 : shouldRetry === false ? 2 : 0,
    };
    const names = { codes: codes ?? [], types: types ?? [] };
    const error = { message: message ?? "" };
    return publicFailure(judgedByRules(rules, seen, idempotent ?? true, checkedFailure(failure), error, names));
  },

  isFailure(rules, status, idempotent) {
    memory().write("rules", rules.words);
    return memory().core.is_failure(status, idempotent ? 1 : 0) !== 0;
  },
};

useClassifier(classifier);
bring({ make, makeLater, checkWasm, powers: true, rules: true });
