/** Lists of delays, backoffs of several stages, and the policies that presets begin with: what few options have. */

import * as Rule from "./codes.js";
import { needs, ruleOf } from "./errors.js";
import {
  type Base,
  isNone,
  isReal,
  isStages,
  listOf,
  names,
  near,
  Options,
  presets,
  readOptionsBy,
  STEPS,
  type Stage,
  type Values,
  widest,
} from "./options.js";
import { nearInStage, partsOf } from "./paths.js";
import { DRAWS, LIMITED, PATH, RULED } from "./places.js";
import * as Field from "./table.js";
import { FIELDS, LONGEST, type Row, STAGE_RULES } from "./table.js";
import type { Nanos } from "./times.js";
import { type FieldValue, NO_ITEMS, NOTHING } from "./values.js";

const MOST_STAGES = 16;
const MOST_DELAYS = 64;
const POOL = 40;
/** How many words the rules of a policy are. */
const RULE_WORDS = 180;
/** The most delays that are counted. */
const COUNTED = 2 ** 28 - 1;

const DEFAULT: readonly Stage[] = [[Field.EXPONENTIAL_BACKOFF, 1e8, 2, 5e9, 0]];

/** Has options read with stages, lists and, if they are given, presets. */
export function readStages(known?: Readonly<Record<string, Base>>): void {
  readOptionsBy(StagedOptions, known);
}

interface Of {
  readonly numbers: Values;
  readonly delays: Nanos[];
}

class StagedOptions extends Options {
  /** The values of each stage, and the delays that it lists. */
  private readonly all: Of[] = [{ numbers: this.numbers, delays: [] }];
  /** The stage and the item of a list that is being read, for the paths in errors. */
  private position: readonly [stage?: number | undefined, item?: number | undefined] = [];
  private chained = false;
  private listed = 0;

  protected override path(row: Row): string {
    const path = super.path(row);
    const [stage, item] = this.position;
    return (
      (stage === undefined ? path : path.replace(/^backoff/, `backoff[${stage}]`)) +
      (item === undefined ? "" : `[${item}]`)
    );
  }

  protected override rule(code: number): [word: string, rule: string] {
    return ruleOf(code, STAGE_RULES);
  }

  protected override takes(row: Row): string {
    const takes = super.takes(row);
    if (takes !== "preset") return takes;
    if (presets === undefined) throw needs("preset", "policies");
    return `word 1 ${Object.keys(presets).join(" ")}`;
  }

  override set(name: string, field: FieldValue): void {
    const [base, behind, stage, item] = partsOf(name);
    const row = names().get(base + behind);
    if (row) this.put(row, field, stage, item, behind === "" && isNone(base, field));
    else if (row === undefined)
      this.fail(Rule.UNKNOWN_FIELD, 0, field, stage === undefined ? near(name) : nearInStage(behind));
  }

  private put(
    row: Row,
    field: FieldValue,
    stage: number | undefined,
    item: number | undefined,
    isEmpty: boolean,
  ): void {
    const [number] = row;
    const { kind } = field;
    const fail = (code: number, of: number, at?: number): never => {
      this.position = [stage, at];
      return this.fail(code, of, item !== undefined && at === undefined ? listOf(field) : field);
    };
    if (item !== undefined && number !== Field.BACKOFF_DELAYS) fail(Rule.WRONG_TYPE, number);
    if (stage !== undefined) {
      if (stage >= MOST_STAGES) fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND, item);
      this.chained = true;
      while (this.all.length <= stage) this.all.push({ numbers: [], delays: [] });
    }
    if (item === undefined && (kind === NOTHING || isEmpty)) return;
    this.position = [stage, item];
    const { numbers, delays } = this.all[stage ?? 0] as Of;
    if (number === Field.BACKOFF_DELAYS) {
      if (kind === NO_ITEMS) fail(Rule.DELAYS_MISSING, number, item);
      if (item !== delays.length) fail(Rule.WRONG_TYPE, number, item);
      const delay = this.read(row, field, Rule.NOT_A_DURATION);
      if (this.listed++ >= MOST_DELAYS) fail(Rule.TOO_MANY_STAGES, number, item);
      delays.push(delay);
      numbers[number] = 0;
    } else if (isStages(row[1])) {
      numbers[number] = this.read(row, field);
    } else {
      this.numbers[number] = this.read(row, field);
    }
  }

  override build(): Uint32Array {
    const preset = this.numbers[Field.PRESET] as number | undefined;
    // The first one is the default policy.
    if (preset !== undefined && preset !== 1) this.base = Object.values(presets ?? {})[preset - 1];
    return super.build();
  }

  protected override attempts(stages: readonly Stage[], fields: Values): Nanos {
    const ends = stages !== this.base?.stages && stages !== DEFAULT && stages.every(([, , , , times]) => times > 0);
    if (!ends) return super.attempts(stages, fields);
    return (
      Math.min(
        stages.reduce((sum, [, , , , times]) => sum + times, 0),
        COUNTED,
      ) + 1
    );
  }

  protected override stages(fields: Values): readonly Stage[] {
    const { numbers, all, base, chained } = this;
    const known = base?.stages ?? DEFAULT;
    // Without a backoff of its own the policy has the preset's.
    if (!chained && !FIELDS.some(([number, names]) => isStages(names) && numbers[number] !== undefined)) return known;
    const complete = numbers[Field.BACKOFF_KIND] !== undefined || numbers[Field.BACKOFF_DELAYS] !== undefined;
    if (!chained && !complete && numbers[Field.PRESET] !== undefined) {
      if (known.length !== 1) this.fail(Rule.PRESET_STAGES, Field.BACKOFF_KIND);
      const [kind, initial, step, max] = known[0] as Stage;
      const by = STEPS[kind];
      numbers[Field.BACKOFF_KIND] = kind;
      if (kind !== Field.CONSTANT_BACKOFF) numbers[Field.BACKOFF_MAX] ??= widest(numbers, max);
      numbers[Field.BACKOFF_INITIAL] ??= initial;
      if (by !== undefined) numbers[by] ??= step;
    }
    const clips = fields[Field.CAP] === Field.CLIP_CAP;
    const read = all.map(({ numbers, delays }, index): Stage => {
      this.position = [chained ? index : undefined];
      const has = numbers[Field.BACKOFF_DELAYS] !== undefined;
      if (has) numbers[Field.BACKOFF_KIND] ??= Field.LIST_BACKOFF;
      const stage = this.stage(numbers, clips);
      const [kind, , , , times] = stage;
      if (kind === Field.LIST_BACKOFF) {
        if (!has) this.fail(Rule.DELAYS_MISSING, Field.BACKOFF_DELAYS);
        return [kind, 0, 0, LONGEST, delays.length, delays];
      }
      if (times === 0 && index + 1 < all.length) this.fail(Rule.TIMES_MISSING, Field.BACKOFF_TIMES);
      return stage;
    });
    this.position = [];
    return read;
  }

  protected override words(stages: readonly Stage[], fields: Values): Uint32Array {
    const words = super.words(stages, fields);
    const path = words[PATH] as number;
    const [kind, , , , times] = stages[0] as Stage;
    const simple = stages.length === 1 && times === 0 && kind !== Field.LIST_BACKOFF;
    const pool: bigint[] = [];
    if (!simple) {
      for (const [index, stage] of stages.entries()) {
        pool.push(...record(stage));
        this.position = [this.chained ? index : undefined];
        if (pool.length > POOL) this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND);
      }
      this.position = [];
      words.fill(0, 0, 8);
      words[25] = (words[25] as number) | stages.length;
      words[PATH] = (path & ~DRAWS) | (fields[Field.JITTER_KIND] ? DRAWS : 0);
      new BigUint64Array(words.buffer, 192).set(pool);
    }
    const [rules, records, conditions] = this.base?.rules ?? [];
    if (conditions)
      this.rules = { words: Uint32Array.from({ length: RULE_WORDS }, (_, at) => conditions[at] ?? 0), texts: [] };
    if (!simple || rules) words[23] = 0;
    if (rules && records) {
      words[PATH] = (words[PATH] as number) | RULED | LIMITED;
      if (pool.length + records.length / 2 > POOL) this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND);
      words.set(records, 48 + pool.length * 2);
      // The rules' records lie behind the policy's own, and their stages are numbered behind its.
      for (let at = 0; at < rules.length; at += 2) {
        words[32 + at] = (rules[at] as number) + (pool.length << 24);
        words[33 + at] = (rules[at + 1] as number) + ((simple ? 0 : stages.length - 1) << 8);
      }
    }
    return words;
  }
}

/** The units of a list's delays, in nanoseconds: delays that are whole multiples below 2^32 take half a word each. */
const UNITS = [1n, 1_000n, 1_000_000n, 1_000_000_000n];

/** A stage as the core has it in its pool: a header that says which numbers follow, and those. */
function record([kind, initial, step, max, times, delays = []]: Stage): bigint[] {
  const long = (value: Nanos): bigint => BigInt(value);
  const steps = isReal(STEPS[kind]) ? bitsOf(step as number) : long(step);
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
