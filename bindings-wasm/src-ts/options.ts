/**
 * From options to a policy: every field is read and checked here, and its numbers are handed to the core.
 *
 * A field is a row of core/src/fields.rs, which `cargo xtask generate` prints into `table.ts` with its number, its default and the
 * values that it takes; {@link numberOf} reads them. A rule of the backoff stands in `stage`, a rule between fields in `check`, and
 * what is handed over in `written`. A policy with any other field is built in the core: `policies/index.ts`.
 */
import * as Rule from "./codes.js";
import { bounded, ConfigError, durationOf, needs, ruleOf, shown } from "./errors.js";
import { type Given, isReal } from "./hot.js";
import * as Field from "./table.js";
import { FIELDS, LONGEST, OTHERS, PEERS, type Row, RULE_OF, SECTIONS } from "./table.js";
import type { Nanos } from "./values.js";
import { camel, EMPTY, type FieldValue, FLAG, NO_ITEMS, NOTHING, NUMBER, nearest, TEXT, UNITLESS } from "./values.js";

const ONE_MORE = "; attempts count the first one: give one more than the retries";
const FOREVER = 2 ** 32 - 1;

/** A limit from here on is none, and below Infinity the clock is read before the first attempt all the same. */
export const NO_LIMIT = 2 ** 64;

/** What a policy needs of its module. */
const NEEDS_POWERS = 1;
export const NEEDS_RULES = 2;

/** What is known of a policy without the core: times in nanoseconds, Infinity for no limit. */
export interface Limits {
  readonly deadline: number;
  readonly minAttempt: number;
  readonly timeout: number;
  /** How long the first attempt may take. */
  readonly limit: number;
  /** 0, {@link NEEDS_POWERS} or {@link NEEDS_RULES}. */
  readonly needs: number;
}

/** A policy that is read. */
export interface ReadPolicy {
  /** The numbers to give to the core at its first decision, or the words of a policy that the core has built. */
  readonly numbers: readonly Given[] | Uint32Array;
  readonly limits: Limits;
  readonly rules: Rules | undefined;
}

/** A backoff: kind, first delay, step, longest delay. */
type Stage = readonly [number, Nanos, Nanos, Nanos];

/** A code, name or pattern of a rule: the number of its alternative, its list (1 codes, 2 types, 3 patterns), and itself. */
export type RuleText = readonly [alternative: number, list: number, text: string];

/** The rules of a policy: the core's words, and the texts that it leaves to its host. */
export interface Rules {
  readonly words: Uint32Array;
  readonly texts: readonly RuleText[];
}

/** True for a field of a rule, which `holdoff/rules` reads. */
export const isOfRules = (name: string, kind: number): boolean =>
  /^(rules|retry_on|backoff(\[\d+\])?\.on)\b/.test(name) &&
  !(name === "rules" && (kind === NOTHING || kind === NO_ITEMS));

/** True for a field that `holdoff/policies` reads, or the schedule of a rule. */
export function isRare(name: string, { kind, value }: FieldValue): boolean {
  if (
    value === "list" ||
    /^rules\[\d+\]\.(attempts|backoff|jitter|cap|hint)\b|^backoff(\[|\.(jitter|cap|hint)\b)/.test(name)
  )
    return true;
  const row = names().get(withoutIndex(name));
  return kind !== NOTHING && (row === null || /^(whole|spans|preset)/.test(row?.[4] ?? ""));
}

/** Values by the numbers of their fields. */
export type Values = Nanos[];

let rows: Map<string, Row | null> | undefined;
export const byNumber: Row[] = Object.create(null);

/** The fields by their names; null for a field that `holdoff/policies` reads. */
export function names(): Map<string, Row | null> {
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
export const isGuard = (name: string): boolean => SECTIONS.split(" ").includes(name.split(/[.[]/, 1)[0] as string);

/** The name of a field in a stage or in a list: `backoff.delays` for `backoff[1].delays[3]`. */
const withoutIndex = (name: string): string => name.replace(/\[\d+\]/g, "");

/** The list that a field is an item of, for an error about it. */
export const listOf = (field: FieldValue): FieldValue => ({ ...field, value: [] });

/** The fields of one policy, as they are read one after the other. */
export class Options {
  /** True for the names of a document; in code they have capitals. */
  private readonly isDocument: boolean;
  protected readonly numbers: Values = Object.create(null);
  /** The values as they were given, by the paths of their fields, so that an error can show one. */
  private readonly given = new Map<string, unknown>();
  /** The rules that are given. */
  rules: Rules | undefined = undefined;

  constructor(isDocument: boolean) {
    this.isDocument = isDocument;
  }

  /** Throws the error about a field, or about the name of none. */
  protected fail(code: number, number: number, field?: FieldValue, suggestion?: string, otherwise?: string): never {
    const row = byNumber[number];
    const path = row ? this.path(row) : "";
    const original = this.given.get(path) ?? field?.value;
    const value = original !== undefined ? shown(original) : otherwise;
    const name = field?.path ?? "";
    const isSnake = this.isDocument || code !== Rule.UNKNOWN_FIELD || name.includes("_");
    const near = isSnake ? suggestion : suggestion ? camel(suggestion) : optionFor(name);
    const [word, rule] = this.rule(code, row);
    const isOfField = code === Rule.WRONG_TYPE || code === Rule.UNKNOWN_WORD || code === Rule.COUNT_RANGE;
    const wanted = row && isOfField ? this.wants(row) : rule;
    // Other libraries count the attempts after the first one.
    const more = !row && /^(max|num)?_?retries$/i.test(name) ? ONE_MORE : "";
    throw new ConfigError(code, word, path || name, value === undefined ? "" : ` = ${value}`, wanted + more, near);
  }

  /** The path of a field. */
  protected path([, names]: Row): string {
    return names.split(" ", 1)[0] as string;
  }

  protected rule(code: number, _row?: Row): [word: string, rule: string] {
    return ruleOf(code);
  }

  /** The values that a field takes. */
  protected takes([, , , , takes]: Row): string {
    return takes;
  }

  /** The rule of a field, in words. */
  private wants(row: Row): string {
    const [kind, first, ...words] = this.takes(row).split(" ");
    if (kind === "word") return `must be one of ${words.join(", ")}`;
    if (kind === "whole") return `must be a whole number from ${first} to ${words[0]}`;
    if (kind === "flag") return "must be true or false";
    return this.rule(RULE_OF[row[0]] ?? (kind === "attempts" ? Rule.ATTEMPTS_RANGE : Rule.NOT_A_DURATION))[1];
  }

  /** Sets the field that is called `name` in a document. */
  set(name: string, field: FieldValue): void {
    const base = withoutIndex(name);
    const row = names().get(base);
    if (row === undefined) this.fail(Rule.UNKNOWN_FIELD, 0, field, near(name));
    if (!row) return;
    if (base !== name) this.fail(Rule.WRONG_TYPE, row[0], listOf(field));
    if (!isNone(name, field)) this.numbers[row[0]] = this.read(row, field);
  }

  protected read(row: Row, field: FieldValue, wrongType = Rule.WRONG_TYPE): Nanos {
    const wrong = (code: number, near?: string): never => this.fail(code, row[0], field, near);
    this.given.set(this.path(row), field.value);
    return numberOf(this.takes(row), field, wrong, this.range(row), wrongType);
  }

  /** The number of the error about a number out of range. */
  protected range([number]: Row): number {
    return number === Field.ATTEMPTS
      ? Rule.ATTEMPTS_RANGE
      : number === Field.BACKOFF_TIMES
        ? Rule.TIMES_RANGE
        : Rule.COUNT_RANGE;
  }

  /** The policy. Throws the first rule that is broken. */
  build(): ReadPolicy {
    names();
    const { numbers } = this;
    const fields: Values = [];
    for (const [number, , , start] of FIELDS) fields[number] = start;
    if (numbers[Field.JITTER_KIND] !== undefined) fields[Field.JITTER_FACTOR] = fields[Field.JITTER_BOUND] = 0;
    for (const number in numbers) fields[number] = numbers[number] as Nanos;
    const stage = this.stage(fields[Field.CAP] === Field.CLIP_CAP);
    // spec 3.7: a deadline that is given ends the attempts
    if (numbers[Field.ATTEMPTS] === undefined && (numbers[Field.DEADLINE] ?? Infinity) !== Infinity)
      fields[Field.ATTEMPTS] = FOREVER;
    if (stage[0] >= Field.DECORRELATED_BACKOFF) {
      if (numbers[Field.JITTER_KIND]) this.fail(Rule.NOT_FOR_KIND, Field.JITTER_KIND);
      fields[Field.JITTER_KIND] = Field.NONE_JITTER;
    }
    this.check(fields);
    return this.written(stage, fields);
  }

  /** The backoff: kind, first delay, step, longest delay. */
  private stage(clips: boolean): Stage {
    const { numbers } = this;
    const or = (number: number): Nanos => numbers[number] ?? byNumber[number]?.[3] ?? 0;
    const kind = or(Field.BACKOFF_KIND) as number;
    for (const [number, names, kinds] of FIELDS) {
      const value = numbers[number];
      if (value !== undefined && isStages(names) && ((kinds >> kind) & 1) === 0) this.fail(Rule.NOT_FOR_KIND, number);
    }
    if (kind === Field.LIST_BACKOFF) throw needs("backoff.kind", "policies");
    const by = STEPS[kind] ?? 0;
    const isRandom = kind === Field.DECORRELATED_BACKOFF;
    let step = or(by);
    if (numbers[by] === undefined) {
      if (by === Field.BACKOFF_INCREMENT) step = or(Field.BACKOFF_INITIAL);
      if (isRandom) step = 3;
    }
    const bounded = kind !== Field.CONSTANT_BACKOFF;
    const max = bounded ? (numbers[Field.BACKOFF_MAX] ?? widest(numbers, or(Field.BACKOFF_MAX))) : LONGEST;
    if (isReal(by) && !(step >= (isRandom ? 1 : 0) && step < Infinity))
      this.fail(by === Field.BACKOFF_EXPONENT ? Rule.EXPONENT_RANGE : Rule.FACTOR_RANGE, by);
    if (bounded && (!clips || isRandom) && max < or(Field.BACKOFF_INITIAL))
      this.fail(Rule.MAX_BELOW_INITIAL, Field.BACKOFF_MAX, undefined, undefined, showNanos(max));
    return [kind, or(Field.BACKOFF_INITIAL), step, max];
  }

  /** What is handed to the core. */
  private written([kind, initial, step, max]: Stage, fields: Values): ReadPolicy {
    const of = (number: number) => fields[number] as Nanos;
    const jitter = of(Field.JITTER_KIND) as number;
    const by = STEPS[kind];
    const given: Given[] = [
      [Field.BACKOFF_KIND, kind],
      [Field.BACKOFF_INITIAL, initial],
      [Field.BACKOFF_MAX, max],
    ];
    if (by !== undefined) given.push([by, step]);
    for (const [number, names, , usual] of FIELDS) {
      const isOther =
        (number === Field.JITTER_FACTOR && !hasFactor(jitter)) ||
        (number === Field.JITTER_BOUND && jitter !== Field.BOUNDED_JITTER);
      if (!isStages(names) && !isOther && of(number) !== undefined && of(number) !== usual)
        given.push([number, of(number)]);
    }
    const [deadline, timeout] = [of(Field.DEADLINE), of(Field.ATTEMPT_TIMEOUT)];
    const isSimple = kind !== Field.POLYNOMIAL_BACKOFF && kind !== Field.DECORRELATED_V2_BACKOFF;
    const limits = {
      deadline: Number(deadline),
      minAttempt: Number(of(Field.MIN_ATTEMPT)),
      timeout: Number(timeout),
      limit: Number(deadline < timeout ? deadline : timeout),
      needs: isSimple ? 0 : NEEDS_POWERS,
    };
    return { numbers: given, limits, rules: this.rules };
  }

  /** The rules between the fields that are no stage's. */
  private check(fields: Values): void {
    const { numbers } = this;
    const [jitter, factor, minAttempt, deadline] = [
      Field.JITTER_KIND,
      Field.JITTER_FACTOR,
      Field.MIN_ATTEMPT,
      Field.DEADLINE,
    ].map((number) => fields[number]) as [number, number, Nanos, Nanos];
    const factored = hasFactor(jitter);
    const own = numbers[Field.JITTER_KIND] !== undefined || numbers[Field.PRESET] === undefined;
    const has = (number: number) => numbers[number] !== undefined;
    const hold = (isBroken: boolean, code: number, number: number) => isBroken && this.fail(code, number);
    hold(has(Field.JITTER_BOUND) && jitter !== Field.BOUNDED_JITTER, Rule.NOT_FOR_KIND, Field.JITTER_BOUND);
    hold(has(Field.JITTER_FACTOR) && !factored, Rule.NOT_FOR_KIND, Field.JITTER_FACTOR);
    hold(own && factored && !has(Field.JITTER_FACTOR), Rule.JITTER_FACTOR_MISSING, Field.JITTER_FACTOR);
    hold(
      own && jitter === Field.BOUNDED_JITTER && !has(Field.JITTER_BOUND),
      Rule.JITTER_BOUND_MISSING,
      Field.JITTER_BOUND,
    );
    hold(
      factored && !(factor >= 0 && factor < Infinity && (factor <= 1 || jitter === Field.ADDITIVE_JITTER)),
      Rule.JITTER_FACTOR_RANGE,
      Field.JITTER_FACTOR,
    );
    hold(!deadline, Rule.ZERO_LIMIT, Field.DEADLINE);
    hold(!fields[Field.ATTEMPT_TIMEOUT], Rule.ZERO_LIMIT, Field.ATTEMPT_TIMEOUT);
    hold(minAttempt >= deadline, Rule.MIN_ATTEMPT_RANGE, Field.MIN_ATTEMPT);
    hold(
      fields[Field.ON_DEADLINE] === Field.CLIP_ON_DEADLINE && !minAttempt,
      Rule.CLIP_NEEDS_MIN_ATTEMPT,
      Field.ON_DEADLINE,
    );
  }
}

/** The reader of policies with any fields, and the presets by their names with the numbers of their guards. */
interface Policies {
  readonly Reader: typeof Options;
  readonly presets: Readonly<Record<string, Readonly<Record<number, number>>>>;
}

/** Undefined unless `holdoff/policies` was imported. */
export let policies: Policies | undefined;

/** Brings the additions of `holdoff/policies`. */
export function usePolicies(added: Policies): void {
  policies = added;
}

/** The longest delay where none is given: `usual`, or ten times a first delay that is given (spec 3.8). */
function widest(numbers: Values, usual: Nanos): Nanos {
  const initial = numbers[Field.BACKOFF_INITIAL];
  if (initial === undefined || initial <= Number(usual) / 10) return usual;
  return bounded(BigInt(initial) * 10n);
}

/** True for a field that each stage of the backoff has for itself. */
export const isStages = (names: string): boolean => names.startsWith("backoff");

const hasFactor = (jitter: number): boolean => jitter >= Field.ADDITIVE_JITTER && jitter !== Field.BOUNDED_JITTER;

/** The field that is the step of each kind. */
const STEPS: Readonly<Record<number, number>> = {
  [Field.LINEAR_BACKOFF]: Field.BACKOFF_INCREMENT,
  [Field.EXPONENTIAL_BACKOFF]: Field.BACKOFF_FACTOR,
  [Field.POLYNOMIAL_BACKOFF]: Field.BACKOFF_EXPONENT,
  [Field.DECORRELATED_BACKOFF]: Field.BACKOFF_FACTOR,
};

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
      return number === undefined ? wrong(Rule.WRONG_TYPE) : whole(1, FOREVER - 1, range);
    case "flag":
      return kind === FLAG ? Number(value) : wrong(Rule.NOT_A_FLAG);
    case "version":
      return whole(1, 1, Rule.DOCUMENT_VERSION);
    default: {
      if (text === "none" && what === "limit") return Infinity;
      if (text === "none" && what === "longest") return LONGEST;
      if (text === undefined && number === undefined) return wrong(wrongType);
      return (kind === UNITLESS ? undefined : durationOf(value)) ?? wrong(Rule.NOT_A_DURATION);
    }
  }
}

/** True for a field without a value, and for an empty object with a name that other fields begin with. */
export const isNone = (name: string, { kind }: FieldValue): boolean =>
  kind === NOTHING || (kind === EMPTY && [...names().keys()].some((known) => known.startsWith(`${name}.`)));

/** The option of a call that a name of another library stands for. */
const optionFor = (name: string): string | undefined =>
  name === "shouldRetry" ? "when" : name === "onFailedAttempt" ? "onRetry" : undefined;

/** The valid name nearest to an unknown one, or to a field of one of several stages. */
export function near(name: string, isStages = false): string | undefined {
  const known = [...names().keys()];
  const sections = SECTIONS.split(" ");
  const [, group = "", theirs = name] = /^(backoff\.)(.*)$/s.exec(name) ?? [];
  const peer = theirs.replace(/_/g, "").toLowerCase();
  const meant = PEERS.split(",").find((row) => row.startsWith(group) && row.split(" ").indexOf(peer) > 0);
  if (meant !== undefined) return meant.split(" ", 1)[0];
  if (isStages) {
    const inner = known.filter((one) => one.startsWith("backoff.")).map((one) => one.slice(8));
    const found = nearest(theirs, inner);
    return found && `backoff.${found}`;
  }
  const found = nearest(name, [...known, "rules", ...sections]);
  if (found !== undefined) return found;
  const dot = name.indexOf(".");
  // A misspelled field of a section, or a field without its section.
  if (dot >= 0) return nearest(name.slice(0, dot), sections);
  return known.find((one) => one.slice(one.indexOf(".") + 1) === name && one.includes("."));
}

export const showNanos = (nanos: Nanos): string =>
  Number(nanos) % 1e9 === 0 ? `${Number(nanos) / 1e9}s` : `${Number(nanos) / 1e6}ms`;

/** A name and the index behind it, `delays[3]`. */
function indexed(name: string): [name: string, index: number | undefined] {
  const found = /^(.*)\[(0|[1-9]\d{0,2})\]$/s.exec(name);
  const index = Number(found?.[2]);
  return index < 256 ? [found?.[1] as string, index] : [name, undefined];
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
