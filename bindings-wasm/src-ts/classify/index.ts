/**
 * Adds to `holdoff/rules`, which comes with it: rules that have delays or attempts of their own, and the fields that plain retries do
 * without. Import it once, anywhere: `import "holdoff/classify"`.
 */
import source from "../../dist/classify.wasm";
import { ConfigError, shown, UNKNOWN_FIELD } from "../errors.js";
import { classifierFor, type ReadPolicy } from "../failure.js";
import { bring, readLong } from "../hot.js";
import "../rules/index.js";
import { encode, ModuleMemory, once } from "../memory.js";
import { NEEDS_RULES, optionFor, type RuleText } from "../options.js";
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

classifierFor("classify").policy = (values, name): ReadPolicy => {
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
};

bring({ make, makeLater, checkWasm }, NEEDS_RULES);
