/**
 * Adds to `holdoff`: rules of a policy's `retryOn`, gRPC statuses and pushbacks, and the hints of quotas (`RateLimit`,
 * `x-ratelimit-reset` and their like). Import it once, anywhere: `import "holdoff/classify"`.
 */
import text from "../../dist/classify.wasm";
import { ConfigError, shown } from "../errors.js";
import { type Classifier, type Rules, useClassifier } from "../failure.js";
import { encode, ModuleMemory } from "../memory.js";
import { instance } from "../module.js";
import { type FieldValue, LIST, NUMBER, TEXT, UNITLESS } from "../values.js";

export { type Facts, grpcFailure } from "../failure.js";

const FIELDS = ["args", "problem", "rules", "reader", "name", "text"] as const;
type Name = "grpc" | "header" | "headers" | "hint" | "is_failure" | "judge" | "patterns" | "rules_set" | "rules_start";

let made: ModuleMemory<Name, (typeof FIELDS)[number]> | undefined;
const memory = () => (made ??= new ModuleMemory<Name, (typeof FIELDS)[number]>(instance(text), FIELDS));

// The bits of a text that is kept here; anything else is the length of a problem.
const HOST_KEEPS = 0x80000000;
const NON_IDEMPOTENT = 1;
const BEGINS = 2;
const PATTERN = 4;

const UNKNOWN = (1n << 64n) - 1n;
const LEAST_INEXACT = BigInt(Number.MAX_SAFE_INTEGER);

function writeName(text: string): number {
  const { name } = memory().words;
  return encode(text, new Uint8Array(name.buffer, name.byteOffset, name.byteLength));
}

/** Throws the error about an entry that `length` bytes of text describe; 0 is none. */
function check(length: number, path: string, value: unknown): void {
  if (length === 0) return;
  const [word, field, rule, nearest] = memory().readText(length).split("\n") as [string, string, string, string];
  const [code] = memory().words.problem as unknown as [number];
  const given = value === undefined ? "" : ` = ${shown(value)}`;
  throw new ConfigError(code, word, field || path, given, rule, nearest || undefined);
}

const classifier: Classifier = {
  rules(values: readonly FieldValue[], name): Rules | undefined {
    const patterns: [string[], string[]] = [[], []];
    const { core } = memory();
    core.rules_start();
    for (const { path, value, kind } of values) {
      if (kind === LIST) continue;
      if (kind === NUMBER || kind === UNITLESS) memory().writeDouble(0, value);
      const size = kind === TEXT ? memory().writeText(value as string) : 0;
      const answer = core.rules_set(writeName(name(path)), kind, size) >>> 0;
      if (answer < HOST_KEEPS) check(answer, path, value);
      const list = patterns[answer & NON_IDEMPOTENT] as string[];
      if (answer >= HOST_KEEPS && answer & BEGINS) list.length = 0;
      if (answer >= HOST_KEEPS && answer & PATTERN) list.push(value as string);
    }
    const words = memory().copy("rules");
    return words.some(Boolean) ? { words, patterns } : undefined;
  },

  hint(lines, status, wall) {
    const { core } = memory();
    memory().writeNumbers(wall ?? UNKNOWN);
    core.headers();
    for (const [name, value] of lines) core.header(writeName(name), memory().writeText(value));
    core.hint(status);
    const hint = memory().readNumber();
    return hint === UNKNOWN ? Infinity : hint > LEAST_INEXACT ? hint : Number(hint);
  },

  grpc: (code) => memory().core.grpc(code),

  matches(rules, message, idempotent) {
    memory().write("rules", rules.words);
    const list = rules.patterns[memory().core.patterns(idempotent ? 1 : 0) - 1];
    if (list === undefined) return false;
    const text = message();
    return list.some((pattern) => text.includes(pattern));
  },

  judge(rules, kind, status, grpc, matched, idempotent) {
    memory().write("rules", rules.words);
    return memory().core.judge(kind, status, grpc, matched ? 1 : 0, idempotent ? 1 : 0);
  },

  isFailure(rules, status, idempotent) {
    memory().write("rules", rules.words);
    return memory().core.is_failure(status, idempotent ? 1 : 0) !== 0;
  },
};

useClassifier(classifier);
