/** From fields to the configurations of guards: each is read and checked here, and what belongs together by the module. */
import {
  COUNT_RANGE,
  ConfigError,
  FACTOR_RANGE,
  GUARD_CONFIG,
  GUARD_LENGTH,
  MAX_BELOW_INITIAL,
  NOT_A_DURATION,
  NOT_A_GUARD,
  RATE_RANGE,
  ruleOf,
  STATE_VERSION,
  shown,
  UNKNOWN_FIELD,
  UNKNOWN_WORD,
  WRONG_TYPE,
  ZERO_LIMIT,
} from "../errors.js";
import { nearest } from "../nearest.js";
import { isGuard, near, numberOf, PRESET, partsOf, wordsRule, writeLong } from "../options.js";
import { FIELDS } from "../table.js";
import { EMPTY, type GuardFields, NOTHING } from "../values.js";
import { memory, readArgument } from "./memory.js";
import { FIELD_RULES, GUARD_RULES, NOT_ZERO, OPEN_MAX, ROWS, type Row } from "./table.js";

/** The fields of guards by their names. */
const byName = new Map(ROWS.flatMap((row) => row[1].split(" ").map((name) => [name, row] as const)));
const [LAST] = ROWS.at(-1) as Row;

/** The error with that number about a field. `shownValue` is what stands between path and rule. */
function errorOf(code: number, row: Row | undefined, path: string, shownValue: string, meant?: string): ConfigError {
  const known = GUARD_RULES[code];
  const end = known?.indexOf(" ") ?? 0;
  const [word, rule] = known === undefined ? ruleOf(code) : [known.slice(0, end), known.slice(end + 1)];
  const wanted = row === undefined ? rule : (ruleAbout(code, row) ?? rule);
  return new ConfigError(code, word, path, shownValue, wanted, meant);
}

/** The rule of the error with that number where the field has one of its own. */
function ruleAbout(code: number, [number, names, takes]: Row): string | undefined {
  switch (code) {
    case WRONG_TYPE:
    case UNKNOWN_WORD:
      return wordsRule(takes) ?? FIELD_RULES[number] ?? ruleOf(NOT_A_DURATION)[1];
    case COUNT_RANGE:
    case RATE_RANGE:
      return FIELD_RULES[number];
    case FACTOR_RANGE:
      return names === "breaker.open_for.factor" || names.startsWith("stretch.factor")
        ? FIELD_RULES[number]
        : undefined;
    case MAX_BELOW_INITIAL:
      return OPEN_MAX;
    case ZERO_LIMIT:
      return NOT_ZERO;
    default:
      return undefined;
  }
}

const pathOf = (row: Row): string => row[1].split(" ", 1)[0] as string;

/** Writes the fields of guards into the module's builder. Throws a ConfigError about the first one that is wrong. */
export function writeGuardFields(guardFields: GuardFields): void {
  const { builder } = memory().words;
  if (guardFields instanceof Uint32Array) {
    builder.set(guardFields);
    return;
  }
  builder.fill(0);
  for (const field of guardFields) {
    const { path, value, kind } = field;
    const [base, behind, stage, item] = partsOf(path);
    const row = path === "preset" ? presetRow() : byName.get(base);
    const given = value === undefined ? "" : ` = ${shown(value)}`;
    if (row === undefined) {
      const meant = isGuard(path) ? nearest(base, [...byName.keys()]) : near(path, behind, stage);
      throw errorOf(UNKNOWN_FIELD, row, path, given, meant);
    }
    const wrong = (code: number, meant?: string): never => {
      throw errorOf(code, row, pathOf(row), given, meant);
    };
    if (item !== undefined) wrong(WRONG_TYPE);
    if (kind === NOTHING || (kind === EMPTY && isGroup(base))) continue;
    const [number, , takes] = row;
    const read = numberOf(takes, field, wrong, COUNT_RANGE);
    if (takes === "number") new Float64Array(builder.buffer, builder.byteOffset)[number] = read as number;
    else writeLong(builder, number * 2, read);
    const set = (LAST + 1) * 2 + (number >> 5);
    builder[set] = (builder[set] as number) | (1 << (number & 31));
  }
}

/** The row of the preset, whose guards stand where none are given. */
function presetRow(): Row {
  const [number, names, , , takes] = FIELDS.find(([number]) => number === PRESET) as (typeof FIELDS)[number];
  return [number, names, takes];
}

const isGroup = (name: string): boolean => [...byName.keys()].some((known) => known.startsWith(`${name}.`));

/** The fields of a saved state that errors are about. */
const STATE_FIELDS: Readonly<Record<number, string>> = {
  [STATE_VERSION]: "layout",
  [NOT_A_GUARD]: "kind",
  [GUARD_CONFIG]: "kind",
  [GUARD_LENGTH]: "length",
};

/** Throws the error with that number, which the module has just found; 0 is none. */
export function check(code: number): void {
  if (code === 0) return;
  const [kind, number] = [readArgument(0), readArgument(3)];
  const row = ROWS.find(([known]) => known === number);
  const value = kind === 2 ? ` = ${memory().readDouble(2)}` : kind === 1 ? ` = ${readArgument(1) / 1e6}ms` : "";
  throw errorOf(code, row, row === undefined ? (STATE_FIELDS[code] ?? "") : pathOf(row), value);
}
