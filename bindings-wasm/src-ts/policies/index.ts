/** Lists of delays, backoffs of several stages, and the policies that presets begin with: what few options have. */

import powers from "../../dist/powers.wasm";
import * as Rule from "../codes.js";
import { needs, ruleOf } from "../errors.js";
import { bring } from "../hot.js";
import { once } from "../memory.js";
import {
  type Base,
  givenStage,
  isNone,
  isStages,
  presets as knownPresets,
  listOf,
  NEEDS_POWERS,
  NEEDS_RULES,
  names,
  near,
  nearInStage,
  Options,
  partsOf,
  readOptionsBy,
  STEPS,
  type Stage,
  type Values,
  type Written,
  widest,
} from "../options.js";
import { RULES_WORDS } from "../places.js";
import * as Field from "../table.js";
import { FIELDS, LONGEST, type Row, STAGE_RULES } from "../table.js";
import type { Nanos } from "../values.js";
import { type FieldValue, NO_ITEMS, NOTHING } from "../values.js";
import { PRESETS } from "./presets.js";

const MOST_STAGES = 16;
const MOST_DELAYS = 64;
/** The most delays that are counted. */
const COUNTED = 2 ** 28 - 1;

const DEFAULT: readonly Stage[] = [[Field.EXPONENTIAL_BACKOFF, 1e8, 2, 5e9, 0]];

/** Has options read with stages, lists and, if they are given, presets. */
function readStages(known?: Readonly<Record<string, Base>>): void {
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
    if (knownPresets === undefined) throw needs("preset", "policies");
    return `word 1 ${Object.keys(knownPresets).join(" ")}`;
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

  override build(): Written {
    const preset = this.numbers[Field.PRESET] as number | undefined;
    // The first one is the default policy.
    if (preset !== undefined && preset !== 1) this.base = Object.values(knownPresets ?? {})[preset - 1];
    if (this.base && this.rules) this.base = { stages: this.base.stages, fields: this.base.fields };
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

  protected override written(stages: readonly Stage[], fields: Values): Written {
    const { numbers, limits } = super.written(stages, fields);
    const [rules, conditions] = this.base?.rules ?? [];
    if (!rules || !conditions) return { numbers, limits };
    this.rules = { words: Uint32Array.from({ length: RULES_WORDS }, (_, at) => conditions[at] ?? 0), texts: [] };
    const more = rules.flatMap(([kinds, ...own], at) => [
      [at + 1, 0, kinds] as const,
      ...own.flatMap((stage) => givenStage(at + 1, stage)),
    ]);
    const count = rules.reduce((sum, [, ...own]) => sum + own.length, stages.length);
    if (count > MOST_STAGES) this.fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND);
    return { numbers: [...numbers, ...more], limits: { ...limits, needs: NEEDS_RULES } };
  }
}

bring(once(powers), NEEDS_POWERS);
readStages(PRESETS);

/** The names of the presets. */
export const presets: readonly string[] = Object.keys(PRESETS);
