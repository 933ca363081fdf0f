/**
 * From options to a policy: every field is read and checked here, and the policy written down as the core's words.
 *
 * A field is a row of core/src/fields.rs, which `cargo xtask generate` prints into `table.ts` with its number, its default and the
 * values that it takes; {@link numberOf} reads them. A rule of one stage stands in `stage`, a rule between fields in `check`, and the
 * field's place in the policy in {@link words}.
 */
import * as Rule from "./codes.js";
import { ConfigError, ruleOf, shown } from "./errors.js";
import { nearest } from "./nearest.js";
import * as Field from "./table.js";
import { FIELDS, LONGEST, OTHERS, type Row, RULE_OF, SECTIONS } from "./table.js";
import { type Nanos, spanOf, spanOfNumber } from "./times.js";
import { EMPTY, type FieldValue, NO_ITEMS, NOTHING, NUMBER, snake, TEXT, UNITLESS } from "./values.js";

const MOST_STAGES = 16;
const MOST_DELAYS = 64;
const POOL = 40;
const COUNTED = 2 ** 28 - 1;
const FOREVER = 2 ** 32 - 1;
/** A doubling delay below this has a short way to its jitter. */
const SMALL = 2 ** 40;

// Where times are in a policy's words.
const DEADLINE = 10;
export const MIN_ATTEMPT = 12;
const ATTEMPT_TIMEOUT = 14;
export const FIRST_LIMIT = 28;
// The bits of its path: it is decided by rules; an attempt may be aborted.
const RULED = 4;
const LIMITED = 16;

/** A limit from here on is none, and below Infinity the clock is read before the first attempt all the same. */
export const NO_LIMIT = 2 ** 64;

/** True if rules decide under a policy, or other fields that `holdoff/classify` brings. */
export const isRuled = (words: Uint32Array): boolean => (((words[26] as number) >> 16) & RULED) !== 0;

/** Writes the deadline of a policy and what follows from it. Returns the limit of the first attempt. */
export function writeDeadline(words: Uint32Array, deadline: Nanos): number {
  writeLong(words, DEADLINE, deadline);
  const longs = new BigUint64Array(words.buffer);
  const [total, timeout] = [longs[DEADLINE / 2] as bigint, longs[ATTEMPT_TIMEOUT / 2] as bigint];
  longs[FIRST_LIMIT / 2] = total < timeout ? total : timeout;
  const limit = readLong(words, FIRST_LIMIT);
  if (limit < Infinity) words[26] = (words[26] as number) | (LIMITED << 16);
  return limit;
}

/** A stage: kind, first delay, step, longest delay, number of delays, and the delays of a list. */
export type Stage = readonly [number, Nanos, Nanos, Nanos, number, (readonly Nanos[])?];

/** The policy that the fields start from, when it is not the default one. */
export interface Base {
  readonly stages: readonly Stage[];
  readonly fields: Readonly<Record<number, Nanos>>;
  /** Its rules, the records that they have in the pool and their conditions, as the core's words. */
  readonly rules?: readonly [rules: readonly number[], pool: readonly number[], Readonly<Record<number, number>>];
}

/** True for a field that is read here, false for a field that the core reads; undefined for an unknown name. */
export function isReadHere(name: string, kind: number): boolean | undefined {
  if (name === "rules" && (kind === NOTHING || kind === NO_ITEMS)) return true;
  const [base, behind] = partsOf(name);
  const row = names().get(base + behind);
  if (row === undefined)
    return /^(rules|retry_on)\b|^backoff(\[\d+\])?\.(on|jitter|cap|hint)\b/.test(name) ? false : undefined;
  return row !== null || kind === NOTHING;
}

/** Values by the numbers of their fields. */
type Values = Nanos[];

let rows: Map<string, Row | null> | undefined;
const byNumber: Row[] = [];

/** The fields by their names; null for a field that the core reads. */
function names(): Map<string, Row | null> {
  if (rows === undefined) {
    rows = new Map(OTHERS.split(" ").map((name) => [name, null]));
    for (const row of FIELDS) {
      byNumber[row[0]] = row;
      for (const name of row[1].split(" ")) rows.set(name, row);
    }
  }
  return rows;
}

/** True if a name belongs to a guard: it begins with the name of a section. */
export const isGuard = (name: string): boolean =>
  SECTIONS.split(" ").some(
    (section) => name.startsWith(section) && ["", ".", "["].includes(name.charAt(section.length)),
  );

/** A name and the index behind it, `delays[3]`. */
function indexed(name: string): [name: string, index: number | undefined] {
  const found = /^(.*)\[(0|[1-9]\d{0,2})\]$/s.exec(name);
  const index = Number(found?.[2]);
  return index < 256 ? [found?.[1] as string, index] : [name, undefined];
}

/** Where an error is: in a stage, or in a list. */
interface Position {
  readonly stage?: number | undefined;
  readonly item?: number | undefined;
}

/** The fields of one policy, as they are read one after the other. */
export class Options {
  private readonly values: readonly FieldValue[];
  private readonly numbers: Values = [];
  /** The values of each stage, and the delays that it lists. */
  private readonly stages: { numbers: Values; delays: Nanos[] }[] = [{ numbers: [], delays: [] }];
  private chained = false;
  private listed = 0;

  /** `values` are all of them, so that an error can show a value. */
  constructor(values: readonly FieldValue[]) {
    this.values = values;
  }

  /** Throws the error about a field, or about the name of none. */
  private fail(
    code: number,
    number: number | undefined,
    { stage, item }: Position = {},
    field?: FieldValue,
    otherwise?: Nanos,
    near?: string,
  ): never {
    const row = byNumber[number ?? 0];
    let path = row === undefined ? "" : (row[1].split(" ", 1)[0] as string);
    if (stage !== undefined) path = path.replace(/^backoff/, `backoff[${stage}]`);
    if (item !== undefined) path += `[${item}]`;
    const original = valueAt(this.values, path) ?? field?.value;
    const value = original !== undefined ? shown(original) : otherwise === undefined ? undefined : showNanos(otherwise);
    const name = field?.path ?? "";
    const camel = /[A-Z]/.test(name);
    const meant = camel ? near?.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : near;
    const [word, rule] = ruleOf(code);
    const wanted = row !== undefined && (code === Rule.WRONG_TYPE || code === Rule.UNKNOWN_WORD) ? wants(row) : rule;
    throw new ConfigError(code, word, path || name, value === undefined ? "" : ` = ${value}`, wanted, meant);
  }

  /** Sets the field that is called `name` in a document. */
  set(name: string, field: FieldValue): void {
    const [base, behind, stage, item] = partsOf(name);
    const row = names().get(base + behind);
    if (row === undefined) this.fail(Rule.UNKNOWN_FIELD, undefined, {}, field, undefined, near(name, behind, stage));
    if (row === null) return;
    const [number] = row;
    if (item !== undefined && number !== Field.BACKOFF_DELAYS) this.fail(Rule.WRONG_TYPE, number, { stage }, field);
    const place = { stage, item };
    if (stage !== undefined) {
      if (stage >= MOST_STAGES) this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND, place, field);
      this.chained = true;
      while (this.stages.length <= stage) this.stages.push({ numbers: [], delays: [] });
    }
    const { kind } = field;
    if (item === undefined && (kind === NOTHING || (kind === EMPTY && behind === "" && isGroup(base)))) return;
    const into = this.stages[stage ?? 0] as (typeof this.stages)[number];
    if (number === Field.BACKOFF_DELAYS) {
      if (kind === NO_ITEMS) this.fail(Rule.DELAYS_MISSING, number, place, field);
      if (item !== into.delays.length) this.fail(Rule.WRONG_TYPE, number, place, field);
      const delay = this.read(row, field, place, Rule.NOT_A_DURATION);
      if (this.listed++ >= MOST_DELAYS) this.fail(Rule.TOO_MANY_STAGES, number, place, field);
      into.delays.push(delay);
      into.numbers[Field.BACKOFF_DELAYS] = 0;
    } else if (isStages(number)) {
      into.numbers[number] = this.read(row, field, place);
    } else {
      this.numbers[number] = this.read(row, field, {});
    }
  }

  private read(row: Row, field: FieldValue, place: Position, wrongType = Rule.WRONG_TYPE): Nanos {
    const wrong = (code: number, near?: string): never => this.fail(code, row[0], place, field, undefined, near);
    return numberOf(row[4], field, wrong, Rule.TIMES_RANGE, wrongType);
  }

  /** The number of the preset; undefined if none was given. */
  get preset(): number | undefined {
    return this.numbers[Field.PRESET] as number | undefined;
  }

  /** The policy's words, over those of the preset. Throws the first rule that is broken. */
  build(base?: Base): Uint32Array {
    names();
    const { numbers } = this;
    const fields: Values = [];
    for (const [number, , , start] of FIELDS) fields[number] = base?.fields[number] ?? start ?? 0;
    if (numbers[Field.JITTER_KIND] !== undefined) fields[Field.JITTER_FACTOR] = fields[Field.JITTER_BOUND] = 0;
    for (const number in numbers) fields[number] = numbers[number] as Nanos;
    const { stages, delays } = this.allStages(base, fields[Field.CAP] === Field.CLIP_CAP);
    if (numbers[Field.ATTEMPTS] === undefined) {
      // spec 3.7: the end of a backoff, or else a deadline that is given, ends the attempts
      if (delays !== undefined) fields[Field.ATTEMPTS] = Math.min(delays, COUNTED) + 1;
      else if ((numbers[Field.DEADLINE] ?? Infinity) !== Infinity) fields[Field.ATTEMPTS] = FOREVER;
    }
    if (stages.every(isRandom) && base?.rules === undefined) {
      if (numbers[Field.JITTER_KIND] !== undefined && fields[Field.JITTER_KIND] !== Field.NONE_JITTER)
        this.fail(Rule.NOT_FOR_KIND, Field.JITTER_KIND);
      fields[Field.JITTER_KIND] = Field.NONE_JITTER;
    }
    this.check(fields);
    return this.words(stages, fields, base?.rules);
  }

  /** The stages, and how many delays they have in all if they were given and end. */
  private allStages(base: Base | undefined, clips: boolean): { stages: readonly Stage[]; delays?: number | undefined } {
    const [first] = this.stages as [(typeof this.stages)[number]];
    const known = base?.stages ?? DEFAULT;
    // Without a backoff of its own the policy has the preset's.
    if (!this.chained && first.numbers.length === 0) return { stages: known };
    const complete =
      first.numbers[Field.BACKOFF_KIND] !== undefined || first.numbers[Field.BACKOFF_DELAYS] !== undefined;
    if (!this.chained && !complete && this.preset !== undefined) {
      if (known.length !== 1) this.fail(Rule.PRESET_STAGES, Field.BACKOFF_KIND);
      const [kind, initial, step, max] = known[0] as Stage;
      const { numbers } = first;
      const by = stepOf(kind);
      numbers[Field.BACKOFF_KIND] = kind;
      if (kind !== Field.CONSTANT_BACKOFF) numbers[Field.BACKOFF_MAX] ??= widest(numbers, max);
      numbers[Field.BACKOFF_INITIAL] ??= initial;
      if (by !== undefined) numbers[by] ??= step;
    }
    const all: Stage[] = [];
    for (const [index, { numbers, delays }] of this.stages.entries()) {
      const place = this.chained ? { stage: index } : {};
      const stage = this.stage(numbers, place, clips);
      const [kind, , , , times] = stage;
      if (times === 0 && kind !== Field.LIST_BACKOFF && index + 1 < this.stages.length) {
        this.fail(Rule.TIMES_MISSING, Field.BACKOFF_TIMES, place);
      }
      all.push(kind === Field.LIST_BACKOFF ? [Field.LIST_BACKOFF, 0, 0, LONGEST, delays.length, delays] : stage);
    }
    const ends = all.every(([, , , , times]) => times > 0);
    return { stages: all, delays: ends ? all.reduce((sum, [, , , , times]) => sum + times, 0) : undefined };
  }

  /** One stage, without the delays of a list. */
  private stage(numbers: Values, place: Position, clips: boolean): Stage {
    const or = (number: number): Nanos => numbers[number] ?? (byNumber[number] as Row)[3] ?? 0;
    const kind = (
      numbers[Field.BACKOFF_DELAYS] !== undefined && numbers[Field.BACKOFF_KIND] === undefined
        ? Field.LIST_BACKOFF
        : or(Field.BACKOFF_KIND)
    ) as number;
    for (const [number, , kinds] of FIELDS) {
      const value = numbers[number];
      if (value !== undefined && isStages(number) && ((kinds >> kind) & 1) === 0) {
        this.fail(Rule.NOT_FOR_KIND, number, place, undefined, value);
      }
    }
    const by = stepOf(kind);
    let step = by === undefined ? 0 : or(by);
    if (by === Field.BACKOFF_INCREMENT && numbers[by] === undefined) step = or(Field.BACKOFF_INITIAL);
    if (kind === Field.DECORRELATED_BACKOFF && numbers[Field.BACKOFF_FACTOR] === undefined) step = 3;
    const max =
      kind === Field.CONSTANT_BACKOFF || kind === Field.LIST_BACKOFF
        ? LONGEST
        : (numbers[Field.BACKOFF_MAX] ?? widest(numbers, or(Field.BACKOFF_MAX)));
    const ranged = by === Field.BACKOFF_FACTOR || by === Field.BACKOFF_EXPONENT;
    if (ranged && !(step >= (kind === Field.DECORRELATED_BACKOFF ? 1 : 0) && step < Infinity)) {
      this.fail(by === Field.BACKOFF_EXPONENT ? Rule.EXPONENT_RANGE : Rule.FACTOR_RANGE, by, place);
    }
    const bounded =
      kind !== Field.CONSTANT_BACKOFF && kind !== Field.LIST_BACKOFF && (!clips || kind === Field.DECORRELATED_BACKOFF);
    if (bounded && max < or(Field.BACKOFF_INITIAL))
      this.fail(Rule.MAX_BELOW_INITIAL, Field.BACKOFF_MAX, place, undefined, max);
    if (kind === Field.LIST_BACKOFF && numbers[Field.BACKOFF_DELAYS] === undefined)
      this.fail(Rule.DELAYS_MISSING, Field.BACKOFF_DELAYS, place);
    return [kind, or(Field.BACKOFF_INITIAL), step, max, or(Field.BACKOFF_TIMES) as number];
  }

  /** A policy's words, as `Policy` in core/src/decide/policy.rs has them. */
  private words(stages: readonly Stage[], fields: Values, ruled: Base["rules"]): Uint32Array {
    const words = new Uint32Array(128);
    const doubles = new Float64Array(words.buffer);
    const pool: bigint[] = [];
    const [kind, initial, step, max, times] = stages[0] as Stage;
    const simple = stages.length === 1 && times === 0 && kind !== Field.LIST_BACKOFF;
    if (simple) {
      const by = stepOf(kind);
      writeLong(words, 0, initial);
      if (by === Field.BACKOFF_FACTOR || by === Field.BACKOFF_EXPONENT) doubles[1] = step as number;
      else writeLong(words, 2, step);
      writeLong(words, 4, max);
      words[7] = kind;
    } else {
      for (const [index, stage] of stages.entries()) {
        pool.push(...record(stage));
        if (pool.length > POOL)
          this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND, this.chained ? { stage: index } : {});
      }
    }
    const of = (number: number) => fields[number] as number;
    const jitter = of(Field.JITTER_KIND);
    if (hasFactor(jitter)) doubles[4] = of(Field.JITTER_FACTOR);
    else writeLong(words, 8, jitter === Field.BOUNDED_JITTER ? of(Field.JITTER_BOUND) : 0);
    const longs = [Field.MIN_ATTEMPT, Field.ATTEMPT_TIMEOUT, Field.HINT_MAX, Field.HINT_REACH];
    for (const [index, number] of longs.entries()) writeLong(words, MIN_ATTEMPT + index * 2, fields[number] as Nanos);
    writeLong(words, 20, Infinity);
    const attempts = (words[22] = of(Field.ATTEMPTS));
    const [rules, records] = ruled ?? [[], []];
    words[23] = simple && ruled === undefined ? Math.min(attempts - 1, COUNTED) : 0;
    words[24] = FOREVER;
    words[25] = (simple ? 0 : stages.length) | (jitter << 8) | (of(Field.CAP) << 16) | (of(Field.ON_DEADLINE) << 24);
    const doubling =
      simple &&
      kind === Field.EXPONENTIAL_BACKOFF &&
      step === 2 &&
      max < SMALL &&
      jitter === Field.FULL_JITTER &&
      of(Field.CAP) === 0;
    const draws = jitter !== Field.NONE_JITTER || (simple && kind >= Field.DECORRELATED_BACKOFF);
    const path = (draws ? 1 : 0) | (doubling ? 2 : 0) | (ruled === undefined ? 0 : RULED | LIMITED);
    words[26] = of(Field.HINT_MODE) | (of(Field.HINT_OVER) << 8) | (path << 16);
    // Attempts are aborted at the deadline.
    words[27] = 1 << 24;
    writeDeadline(words, fields[Field.DEADLINE] as Nanos);
    const longWords = new BigUint64Array(words.buffer, 192);
    longWords.set(pool);
    if (pool.length + records.length / 2 > POOL) this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND);
    words.set(records, 48 + pool.length * 2);
    // The rules' records lie behind the policy's own, and their stages are numbered behind its.
    for (let at = 0; at < rules.length; at += 2) {
      words[32 + at] = (rules[at] as number) + (pool.length << 24);
      words[33 + at] = (rules[at + 1] as number) + ((simple ? 0 : stages.length - 1) << 8);
    }
    return words;
  }

  /** The rules between the fields that are no stage's. */
  private check(fields: Values): void {
    const { numbers } = this;
    const jitter = fields[Field.JITTER_KIND] as number;
    const factor = fields[Field.JITTER_FACTOR] as number;
    const factored = hasFactor(jitter);
    const own = numbers[Field.JITTER_KIND] !== undefined || this.preset === undefined;
    if (numbers[Field.JITTER_BOUND] !== undefined && jitter !== Field.BOUNDED_JITTER)
      this.fail(Rule.NOT_FOR_KIND, Field.JITTER_BOUND);
    if (numbers[Field.JITTER_FACTOR] !== undefined && !factored) this.fail(Rule.NOT_FOR_KIND, Field.JITTER_FACTOR);
    if (own && factored && numbers[Field.JITTER_FACTOR] === undefined)
      this.fail(Rule.JITTER_FACTOR_MISSING, Field.JITTER_FACTOR);
    if (own && jitter === Field.BOUNDED_JITTER && numbers[Field.JITTER_BOUND] === undefined)
      this.fail(Rule.JITTER_BOUND_MISSING, Field.JITTER_BOUND);
    if (factored && !(factor >= 0 && factor < Infinity && (factor <= 1 || jitter === Field.ADDITIVE_JITTER))) {
      this.fail(Rule.JITTER_FACTOR_RANGE, Field.JITTER_FACTOR);
    }
    const minAttempt = fields[Field.MIN_ATTEMPT] as Nanos;
    if (!fields[Field.DEADLINE]) this.fail(Rule.ZERO_LIMIT, Field.DEADLINE);
    if (!fields[Field.ATTEMPT_TIMEOUT]) this.fail(Rule.ZERO_LIMIT, Field.ATTEMPT_TIMEOUT);
    if (minAttempt >= (fields[Field.DEADLINE] as Nanos)) this.fail(Rule.MIN_ATTEMPT_RANGE, Field.MIN_ATTEMPT);
    if (fields[Field.ON_DEADLINE] === Field.CLIP_ON_DEADLINE && !minAttempt)
      this.fail(Rule.CLIP_NEEDS_MIN_ATTEMPT, Field.ON_DEADLINE);
  }
}

const DEFAULT: readonly Stage[] = [[Field.EXPONENTIAL_BACKOFF, 1e8, 2, 5e9, 0]];

/** The longest delay where none is given: `usual`, or ten times a first delay that is given (spec 3.8). */
function widest(numbers: Values, usual: Nanos): Nanos {
  const initial = numbers[Field.BACKOFF_INITIAL];
  if (initial === undefined || initial <= Number(usual) / 10) return usual;
  const wide = BigInt(initial) * 10n;
  return wide > (LONGEST as bigint) ? LONGEST : wide > BigInt(Number.MAX_SAFE_INTEGER) ? wide : Number(wide);
}

/** True for a field that each stage of the backoff has for itself. */
const isStages = (number: number): boolean =>
  number <= Field.BACKOFF_MAX ||
  number === Field.BACKOFF_EXPONENT ||
  number === Field.BACKOFF_TIMES ||
  number === Field.BACKOFF_DELAYS;

const isRandom = ([kind]: Stage): boolean => kind >= Field.DECORRELATED_BACKOFF;

const hasFactor = (jitter: number): boolean => jitter >= Field.ADDITIVE_JITTER && jitter !== Field.BOUNDED_JITTER;

/** The field that a kind's step is, where it has one. */
const stepOf = (kind: number): number | undefined =>
  kind === Field.LINEAR_BACKOFF
    ? Field.BACKOFF_INCREMENT
    : kind === Field.EXPONENTIAL_BACKOFF || kind === Field.DECORRELATED_BACKOFF
      ? Field.BACKOFF_FACTOR
      : kind === Field.POLYNOMIAL_BACKOFF
        ? Field.BACKOFF_EXPONENT
        : undefined;

/**
 * The number that stands for a value of a field that takes that. `wrong` throws the error about it; `range` is that of a number out
 * of range, `wrongType` that of a value of the wrong type where a time is needed.
 */
export function numberOf(
  takes: string,
  { value, kind }: FieldValue,
  wrong: (code: number, near?: string) => never,
  range: number,
  wrongType = Rule.WRONG_TYPE,
): Nanos {
  const text = kind === TEXT ? (value as string) : undefined;
  const number = kind === NUMBER || kind === UNITLESS ? (value as number) : undefined;
  const [what, first, ...words] = takes.split(" ") as [string, ...string[]];
  const whole = (from: number, to: number, code: number): number =>
    number !== undefined && Number.isInteger(number) && number >= from && number <= to ? number : wrong(code);
  switch (what) {
    case "word": {
      if (text === undefined) return wrong(Rule.WRONG_TYPE);
      const at = words.indexOf(text);
      return at < 0 ? wrong(Rule.UNKNOWN_WORD, nearest(text, words)) : at + Number(first);
    }
    case "number":
      return number ?? wrong(Rule.WRONG_TYPE);
    case "whole":
      return number === undefined ? wrong(Rule.WRONG_TYPE) : whole(Number(first), Number(words[0]), range);
    case "attempts":
      if (text === "forever") return FOREVER;
      if (text !== undefined) return wrong(Rule.UNKNOWN_WORD, nearest(text, ["forever"]));
      return number === undefined ? wrong(Rule.WRONG_TYPE) : whole(1, FOREVER - 1, Rule.ATTEMPTS_RANGE);
    case "version":
      return whole(1, 1, Rule.DOCUMENT_VERSION);
    default: {
      if (text === "none" && what === "limit") return Infinity;
      if (text === "none" && what === "longest") return LONGEST;
      if (text === undefined && number === undefined) return wrong(wrongType);
      const nanos = text === undefined ? spanOfNumber(kind === NUMBER ? (number as number) : NaN) : spanOf(text);
      return nanos ?? wrong(Rule.NOT_A_DURATION);
    }
  }
}

/** Parts of a name: before and behind the index of a stage, that index, and the index in a list. */
export function partsOf(
  full: string,
): [base: string, behind: string, stage: number | undefined, item: number | undefined] {
  if (!full.includes("[")) return [full, "", undefined, undefined];
  const [name, item] = indexed(full);
  if (item !== undefined && name === "backoff") return [name, "", item, undefined];
  const dot = name.indexOf(".");
  const [before, stage] = indexed(name.slice(0, Math.max(dot, 0)));
  if (before === "backoff" && stage !== undefined) return [before, name.slice(dot), stage, item];
  return [name, "", undefined, item];
}

const isGroup = (name: string): boolean => [...names().keys()].some((known) => known.startsWith(`${name}.`));

/** The valid name nearest to an unknown one. */
export function near(name: string, behind: string, stage: number | undefined): string | undefined {
  const known = [...names().keys()];
  if (stage !== undefined) {
    const inner = known.filter((one) => one.startsWith("backoff.")).map((one) => one.slice(8));
    const found = nearest(behind.replace(/^\.+/, ""), inner);
    return found && `backoff.${found}`;
  }
  const sections = SECTIONS.split(" ");
  const found = nearest(name, [...known, "rules", ...sections]);
  if (found !== undefined) return found;
  const dot = name.indexOf(".");
  // A misspelled field of a section, or a field without its section.
  if (dot >= 0) return nearest(name.slice(0, dot), sections);
  return known.find((one) => one.slice(one.indexOf(".") + 1) === name && one.includes("."));
}

/** The rule of a field that takes words. */
function wordsRule(takes: string): string | undefined {
  const [kind, , ...words] = takes.split(" ");
  return kind === "word" ? `must be one of ${words.join(", ")}` : undefined;
}

/** The rule of a field, in words. */
function wants([number, , , , takes]: Row): string {
  return wordsRule(takes) ?? ruleOf(RULE_OF[number] ?? Rule.NOT_A_DURATION)[1];
}

const showNanos = (nanos: Nanos): string =>
  Number(nanos) % 1e9 === 0 ? `${Number(nanos) / 1e9}s` : `${Number(nanos) / 1e6}ms`;

/** The value of the field with this path, under any of its names. */
export function valueAt(values: readonly FieldValue[], path: string): unknown {
  const at = (wanted: string): unknown => values.filter(({ path }) => snake(path) === wanted).at(-1)?.value;
  return at(path) ?? at(path.replace(/\.(kind|mode)$/, "")) ?? at(path.replace(/^(backoff.*)\.initial$/, "$1.delay"));
}

/** Writes 64 bits as two words. */
export function writeLong(words: Uint32Array, at: number, value: Nanos): void {
  if (typeof value === "bigint") {
    words[at] = Number(BigInt.asUintN(32, value));
    words[at + 1] = Number(value >> 32n);
  } else {
    // Infinity stands for the highest number there is.
    words[at] = value === Infinity ? FOREVER : value;
    words[at + 1] = value === Infinity ? FOREVER : value / 2 ** 32;
  }
}

/** Two words as a number; 2^64-1 is Infinity. Above 2^53 it is the nearest double. */
export function readLong(words: Uint32Array, at: number): number {
  const low = words[at] as number;
  const high = words[at + 1] as number;
  return low === FOREVER && high === FOREVER ? Infinity : high * 2 ** 32 + low;
}

/** The units of a list's delays, in nanoseconds: delays that are whole multiples below 2^32 take half a word each. */
const UNITS = [1n, 1_000n, 1_000_000n, 1_000_000_000n];

/** A stage as the core has it in its pool: a header that says which numbers follow, and those. */
function record([kind, initial, step, max, times, delays = []]: Stage): bigint[] {
  const long = (value: Nanos): bigint => BigInt(value);
  const by = stepOf(kind);
  const steps = by === Field.BACKOFF_FACTOR || by === Field.BACKOFF_EXPONENT ? bitsOf(step as number) : long(step);
  const numbers = [long(initial), steps, long(max)];
  const usual = [0n, 0n, LONGEST as bigint];
  const has = numbers.reduce((bits, number, at) => bits | (number === usual[at] ? 0n : 1n << BigInt(at)), 0n);
  const spans = delays.map(long);
  const found = UNITS.findIndex((unit) => spans.every((span) => span % unit === 0n && span / unit < 1n << 32n));
  const unit = found < 0 ? UNITS.length : found;
  const header = BigInt(kind) | (BigInt(delays.length ? unit : 0) << 17n) | (has << 22n) | (BigInt(times) << 32n);
  const words = [header, ...numbers.filter((number, at) => number !== usual[at])];
  const nanos = UNITS[unit];
  if (nanos === undefined) return [...words, ...spans];
  for (let at = 0; at < spans.length; at += 2) {
    words.push(((spans[at] as bigint) / nanos) | (((spans[at + 1] ?? 0n) / nanos) << 32n));
  }
  return words;
}

/** The bits of a double. */
const bitsOf = (number: number): bigint => new BigUint64Array(new Float64Array([number]).buffer)[0] as bigint;
