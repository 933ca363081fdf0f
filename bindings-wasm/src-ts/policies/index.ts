/** Lists of delays, backoffs of several stages, schedules of rules, presets, and what few options have: the core builds their policies. */

import source from "../../dist/policies.wasm";
import * as Rule from "../codes.js";
import { ruleOf } from "../errors.js";
import { bring, readLong, writeNumber } from "../hot.js";
import { once } from "../memory.js";
import {
  byNumber,
  isNone,
  isStages,
  listOf,
  NEEDS_RULES,
  names,
  near,
  Options,
  partsOf,
  type ReadPolicy,
  showNanos,
  usePolicies,
} from "../options.js";
import * as At from "../places.js";
import * as Field from "../table.js";
import { type Row, RULE_PARTS } from "../table.js";
import { type FieldValue, NO_ITEMS, NOTHING, nearest } from "../values.js";
import { FIELDS, PRESETS, RULES } from "./table.js";

const entry = once(source);
bring(entry, NEEDS_RULES);

const rare = new Map<string, Row>();
for (const row of FIELDS) {
  byNumber[row[0]] = row;
  rare.set(row[1], row);
}

let core: At.PoliciesExports | undefined;
let words: Uint32Array;

/** Compiles the module on first use, and finds its memory. */
function load(): At.PoliciesExports {
  if (core) return core;
  core = entry.make() as At.PoliciesExports;
  words = new Uint32Array(core.memory.buffer, core.policies(), At.BUILT_WORDS);
  return core;
}

/** The stage of a number that no stage has. */
const NO_STAGE = 255;

/** The place of a field: its rule from 1 on, its stage, its item in a list, and whether it is a jitter, cap or hint of a stage. */
interface Place {
  readonly rule: number;
  readonly stage: number | undefined;
  readonly item: number | undefined;
  readonly isInStage: boolean;
}

class PolicyReader extends Options {
  private readonly core = load();
  /** The place that an error is about. */
  private place: Place = { rule: 0, stage: undefined, item: undefined, isInStage: false };

  constructor(isDocument: boolean) {
    super(isDocument);
    this.core.options_begin();
  }

  protected override path(row: Row): string {
    const { rule, stage, item, isInStage } = this.place;
    const at = stage === undefined ? "backoff" : `backoff[${stage}]`;
    const path = isInStage ? `${at}.${super.path(row)}` : super.path(row).replace(/^backoff/, at);
    return (rule ? `rules[${rule - 1}].` : "") + path + (item === undefined ? "" : `[${item}]`);
  }

  protected override rule(code: number, row?: Row): [word: string, rule: string] {
    const [word, rule] = ruleOf(code, RULES);
    const isOther = code === Rule.ZERO_LIMIT && row?.[0] !== Field.DEADLINE && row?.[0] !== Field.ATTEMPT_TIMEOUT;
    return [word, isOther ? "must be more than 0" : rule];
  }

  protected override takes(row: Row): string {
    const takes = super.takes(row);
    return takes === "preset" ? `word 1 ${Object.keys(PRESETS).join(" ")}` : takes;
  }

  protected override range(row: Row): number {
    return row[0] === Field.ATTEMPTS && this.place.rule ? Rule.RULE_ATTEMPTS : super.range(row);
  }

  override set(full: string, field: FieldValue): void {
    const { kind } = field;
    const [, digits, name = full] = /^rules\[(\d+)\]\.(.*)$/s.exec(full) ?? [];
    const rule = digits === undefined ? 0 : Number(digits) + 1;
    const [base, behind, stage, item] = partsOf(name);
    const whole = base + behind;
    const known = names().get(whole) ?? rare.get(whole);
    const inner = whole.replace(/^backoff\./, "");
    const isInStage = !known && inner !== whole && /^(jitter|cap|hint)\b/.test(inner);
    const row = isInStage ? (names().get(inner) ?? rare.get(inner)) : known;
    this.place = { rule, stage, item, isInStage };
    if (!row) {
      const part = nearest(name.split(/[.[]/, 1)[0] as string, RULE_PARTS.split(" "));
      const suggestion = rule
        ? part
        : near(stage === undefined ? name : `backoff.${behind.replace(/^\.+/, "")}`, stage !== undefined);
      this.fail(Rule.UNKNOWN_FIELD, 0, field, suggestion);
    }
    const [number] = row;
    const isDelay = number === Field.BACKOFF_DELAYS;
    const fail = (code: number, of = number): never => this.fail(code, of, item === undefined ? field : listOf(field));
    if (item !== undefined && !isDelay) {
      this.place = { ...this.place, item: undefined };
      fail(Rule.WRONG_TYPE);
    }
    if (stage !== undefined && !this.core.options_stage(rule, stage)) fail(Rule.TOO_MANY_STAGES, Field.BACKOFF_KIND);
    if (item === undefined && (kind === NOTHING || isNone(isInStage ? inner : whole, field))) return;
    const at = isInStage || isStages(row[1]) ? (stage ?? 0) : NO_STAGE;
    if (isDelay && kind === NO_ITEMS) fail(Rule.DELAYS_MISSING);
    if (isDelay && item !== this.core.options_listed(rule, at)) fail(Rule.WRONG_TYPE);
    const value = this.read(row, field, isDelay ? Rule.NOT_A_DURATION : undefined);
    if (rule && number === Field.ATTEMPTS && value > 65535 && value !== 2 ** 32 - 1) fail(Rule.RULE_ATTEMPTS);
    writeNumber(words, At.BUILT_NUMBER, number, value);
    if (!this.core.options_give(rule, at, number)) fail(Rule.TOO_MANY_STAGES);
  }

  override build(): ReadPolicy {
    const { core, rules } = this;
    const at = (place: number, length: number) => words.subarray(place, place + length);
    at(At.BUILT_RULES, At.BUILT_RULES_WORDS).fill(0);
    if (rules) words.set(rules.words, At.BUILT_RULES);
    const code = core.options_build();
    if (code !== 0) this.failBuilt(code);
    const [deadline, minAttempt, timeout, limit] = [0, 2, 4, 6].map((place) =>
      readLong(words, At.BUILT_LIMITS + place),
    ) as [number, number, number, number];
    const built = at(At.BUILT_RULES, At.BUILT_RULES_WORDS).slice();
    return {
      numbers: at(At.BUILT_POLICY, At.BUILT_POLICY_WORDS).slice(),
      limits: { deadline, minAttempt, timeout, limit, needs: core.options_need() },
      rules: rules ?? (built.some(Boolean) ? { words: built, texts: [] } : undefined),
    };
  }

  /** Throws the error that the core has found. */
  private failBuilt(code: number): never {
    const [field, rule, stage, isInStage, kind] = words.subarray(At.BUILT_PROBLEM) as unknown as number[];
    this.place = {
      rule: rule as number,
      stage: stage ? stage - 1 : undefined,
      item: undefined,
      isInStage: !!isInStage,
    };
    const double = new Float64Array(words.slice(At.BUILT_NUMBER, At.BUILT_NUMBER + 2).buffer)[0];
    const value = kind === 1 ? showNanos(readLong(words, At.BUILT_NUMBER)) : kind === 2 ? String(double) : undefined;
    return this.fail(code, field as number, undefined, undefined, value);
  }
}

usePolicies({ Reader: PolicyReader, presets: PRESETS });

/** The names of the presets. */
export const presets: readonly string[] = Object.keys(PRESETS);
