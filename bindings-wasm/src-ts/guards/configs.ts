/** From fields to the configurations of guards: every field is read and checked here, and each configuration written as the core's words. */
import {
  COUNT_RANGE,
  ConfigError,
  EXPONENT_RANGE,
  FACTOR_RANGE,
  FIELD_MISSING,
  MAX_BELOW_INITIAL,
  NOT_A_DURATION,
  NOT_FOR_KIND,
  RATE_RANGE,
  ruleOf,
  SHARE_RANGE,
  shown,
  UNKNOWN_FIELD,
  UNKNOWN_WORD,
  WRONG_TYPE,
  ZERO_LIMIT,
} from "../errors.js";
import { nearest } from "../nearest.js";
import { isGuard, near, numberOf, partsOf, writeLong } from "../options.js";
import { LONGEST, SECTIONS } from "../table.js";
import type { Nanos } from "../times.js";
import { EMPTY, type GuardField, type GuardFields, NOTHING } from "../values.js";
import type { Nesting } from "./nested.js";
import { GUARD_RULES, NOT_ZERO, OPEN_MAX, ROWS, type Row } from "./table.js";

/** The numbers of the fields that rules are about. */
const CAPACITY = 26;
const COST = 27;
const TIMEOUT_COST = 28;
const THROTTLED_COST = 29;
const REWARD = 30;
const REFILL = 31;
const RATIO = 32;
const BUDGET_WINDOW = 33;
const MIN_PER_SECOND = 34;
const MIN_CONCURRENCY = 35;
const K = 36;
const BUDGET_LIMIT = 37;
const FAILURES = 39;
const SIZE = 40;
const BREAKER_WINDOW = 41;
const SLOTS = 42;
const FAILURE_RATE = 43;
const SLOW_AFTER = 44;
const SLOW_RATE = 45;
const MIN_CALLS = 46;
const OPEN_KIND = 47;
const OPEN_FOR = 48;
const OPEN_FACTOR = 49;
const OPEN_INCREMENT = 50;
const OPEN_EXPONENT = 51;
const OPEN_LONGEST = 52;
const JITTER = 53;
const PROBES = 54;
const SUCCESSES = 55;
const REOPEN = 56;
const MODE = 57;
const HINT = 58;
const BREAKER_REFUSAL = 59;
const LIMIT = 61;
const PER = 62;
const BURST = 63;
const LIMITER_REFUSAL = 64;
const PLACES = 65;
const QUEUE = 66;
const MAX_WAIT = 67;
const BETA = 69;
const SCALE = 70;
const SMOOTH = 71;
const INCREASE = 72;
const MIN_RATE = 73;
const MAX_RATE = 74;
const INITIAL_RATE = 75;
const ADAPTIVE_REFUSAL = 76;
const STRETCH_FACTOR = 77;
const STRETCH_WINDOW = 78;
const STRETCH_CALLS = 79;
const DELAY = 80;
const PERCENTILE = 81;
const ATTEMPTS = 82;
const NESTED = 83;
const NESTED_CAP = 84;

/** The numbers of the kinds that rules are about. */
const TOKEN = 1;
const THROTTLE = 2;
const BY_RATIO = 3;
const SHARE = 4;
const REQUESTS = 5;
const CONSECUTIVE = 1;
const COUNT = 2;
const LINEAR = 2;
const GCRA = 1;
const BUCKET = 2;
const LOG = 4;
const AIMD = 2;

const MOST = 2 ** 32 - 1;
const MOST_LOGGED = 1_000_000;
/** The smallest number that is not subnormal. */
const LEAST = 2 ** -1022;

/** The defaults of one kind that differ from those of the others: the field, the kind and the default. */
const OF_KIND: readonly (readonly [field: number, kind: number, number: number])[] = [
  [CAPACITY, THROTTLE, 10],
  [REWARD, THROTTLE, 0.1],
  [RATIO, SHARE, 0.2],
  [BUDGET_WINDOW, REQUESTS, 120e9],
  [BETA, AIMD, 0.5],
];

/** Configurations, checked: the words of each guard there is, and how long a limiter's log is. */
export interface Configs {
  readonly words: readonly (Uint32Array | undefined)[];
  readonly log: number;
  readonly nesting: Nesting | undefined;
  /** True if the breaker asks how long an attempt took, and if it asks when an attempt succeeded. */
  readonly asksTook: boolean;
  readonly asksWhen: boolean;
}

/** The fields of guards by their names. */
const byName = new Map(ROWS.flatMap((row) => row[1].split(" ").map((name) => [name, row] as const)));

const pathOf = (row: Row): string => row[1].split(" ", 1)[0] as string;

/** The rule of a field, in words. */
function ruleOfField([, , , , takes, rule]: Row): string {
  const [what, first, ...words] = takes.split(" ");
  if (what === "word") return `must be one of ${words.join(", ")}`;
  if (rule !== undefined) return rule;
  if (what === "whole") return `must be a whole number from ${first} to ${words[0]}`;
  return ruleOf(what !== "number" ? NOT_A_DURATION : first === "share" ? SHARE_RANGE : RATE_RANGE, GUARD_RULES)[1];
}

/** The errors whose rule is that of the field. */
const OF_FIELD = [WRONG_TYPE, UNKNOWN_WORD, COUNT_RANGE, RATE_RANGE];

/** Throws the error with that number about a field, or about a name that no field has. */
function fail(code: number, row: Row | undefined, path: string, value: unknown, meant?: string): never {
  const [word, rule] = ruleOf(code, GUARD_RULES);
  let wanted = rule;
  if (row !== undefined) {
    const [number] = row;
    const ofField = OF_FIELD.includes(code) || (code === FACTOR_RANGE && number !== OPEN_EXPONENT);
    if (ofField) wanted = ruleOfField(row);
    else if (code === MAX_BELOW_INITIAL) wanted = OPEN_MAX;
    else if (code === ZERO_LIMIT) wanted = NOT_ZERO;
  }
  throw new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}`, wanted, meant);
}

const isGroup = (name: string): boolean => [...byName.keys()].some((known) => known.startsWith(`${name}.`));

/** The fields of guards that were given, and those of a preset, by their numbers. */
interface Input {
  readonly numbers: (Nanos | undefined)[];
  /** The values as they were given. */
  readonly values: unknown[];
  readonly preset: Readonly<Record<number, number>>;
}

/** Reads the fields of guards. Throws a ConfigError about the first one that is wrong. */
function read(guardFields: readonly GuardField[]): Input {
  const numbers: Input["numbers"] = [];
  const values: unknown[] = [];
  let preset: Input["preset"] = {};
  for (const field of guardFields) {
    const { path, value, kind } = field;
    if (field.numbers) {
      preset = field.numbers;
      continue;
    }
    const [base, behind, stage, item] = partsOf(path);
    const row = byName.get(base);
    if (row === undefined) {
      const meant = isGuard(path) ? nearest(base, [...byName.keys()]) : near(path, behind, stage);
      fail(UNKNOWN_FIELD, row, path, value, meant);
    }
    const wrong = (code: number, meant?: string): never => fail(code, row, pathOf(row), value, meant);
    if (item !== undefined) wrong(WRONG_TYPE);
    if (kind === NOTHING || (kind === EMPTY && isGroup(base))) continue;
    const [number] = row;
    numbers[number] = numberOf(row[4], field, wrong, COUNT_RANGE);
    values[number] = value;
  }
  return { numbers, values, preset };
}

/** The same from the core's options as words: the values by their numbers, then a bit for each that is set. */
function readWords(words: Uint32Array): Input {
  const numbers: Input["numbers"] = [];
  const [last] = ROWS.at(-1) as Row;
  const view = new DataView(words.buffer, words.byteOffset);
  for (const [number, , , , takes] of ROWS) {
    if ((((words[(last + 1) * 2 + (number >> 5)] as number) >> (number & 31)) & 1) === 0) continue;
    const long = view.getBigUint64(number * 8, true);
    const exact = long > Number.MAX_SAFE_INTEGER ? long : Number(long);
    numbers[number] = takes.startsWith("number") ? view.getFloat64(number * 8, true) : exact;
  }
  return { numbers, values: [], preset: {} };
}

/** The fields of one guard, each given or its default, checked. */
class Section {
  private readonly rows: readonly Row[];
  private readonly first: number;
  private readonly input: Input;
  /** True if one of its fields was given. */
  readonly isSet: boolean;
  /** The number of the kind; 0 for none. A guard without kinds has kind 1. */
  readonly kind: number;

  constructor(name: string, input: Input) {
    this.rows = ROWS.filter(([, names]) => names.startsWith(`${name}.`));
    const [first, , , , takes] = this.rows[0] as Row;
    this.first = first;
    this.input = input;
    this.isSet = this.rows.some(([number]) => this.number(number) !== undefined);
    this.kind = !this.isSet ? 0 : takes.startsWith("word") ? this.real(first) : 1;
    if (this.isSet) this.check();
  }

  /** The number that was given: a preset's counts where the guard's kind, or first field, was not given. */
  number(field: number): Nanos | undefined {
    const { numbers, preset } = this.input;
    return numbers[field] ?? (numbers[this.first] === undefined ? preset[field] : undefined);
  }

  /** The number of a field, or its default. */
  of(field: number): Nanos {
    const own = this.number(field) ?? OF_KIND.find(([of, kind]) => of === field && this.kind === kind)?.[2];
    if (own !== undefined) return own;
    const number = ROWS.find(([known]) => known === field)?.[3] ?? 0;
    const real = Number(number);
    switch (field) {
      case TIMEOUT_COST:
      case THROTTLED_COST:
        return this.of(COST);
      case MIN_CALLS:
        return this.kind === COUNT ? Math.min(real, this.real(SIZE)) : number;
      case OPEN_INCREMENT:
        return this.of(OPEN_FOR);
      case BURST:
        return Math.min(Math.max(Math.trunc(this.real(LIMIT)), 1), MOST);
      // The lowest and the highest rate give way to each other where one is not set, the initial one to both.
      case MIN_RATE: {
        const most = Number(this.number(MAX_RATE) ?? 0);
        return most > 0 ? Math.min(most, real) : real;
      }
      case MAX_RATE:
        return Math.max(real, this.real(MIN_RATE));
      case INITIAL_RATE:
        return Math.max(Math.min(real, this.real(MAX_RATE)), this.real(MIN_RATE));
      default:
        return number;
    }
  }

  real(field: number): number {
    return Number(this.of(field));
  }

  private fail(code: number, field: number): never {
    const row = ROWS.find(([known]) => known === field) as Row;
    const value = code === FIELD_MISSING ? undefined : this.input.values[field];
    return fail(code, row, pathOf(row), value);
  }

  private check(): void {
    const { kind, rows } = this;
    const isOpen = ([field]: Row) => field >= OPEN_KIND && field <= OPEN_LONGEST;
    const fits = (row: Row, kind: number) => ((row[2] >> kind) & 1) === 1;
    const refuse = (row: Row) => {
      if (this.number(row[0]) !== undefined) this.fail(NOT_FOR_KIND, row[0]);
    };
    for (const row of rows.slice(1)) if (isOpen(row) ? kind === 0 : !fits(row, kind)) refuse(row);
    const own = rows.filter((row) => fits(row, isOpen(row) ? this.real(OPEN_KIND) : kind));
    for (const [field, , , number] of own) {
      if (number === null && this.number(field) === undefined) this.fail(FIELD_MISSING, field);
    }
    if (kind === 0 && this.first !== NESTED) return;
    for (const row of rows) if (isOpen(row) && row[0] !== OPEN_KIND && !own.includes(row)) refuse(row);
    for (const row of own) this.checkNumber(row);
  }

  /** Holds one number against its range, and against the numbers before it. */
  private checkNumber([field, , , start, takes]: Row): void {
    if (start === undefined && this.number(field) === undefined) return;
    const number = this.of(field);
    const [what, least] = takes.split(" ");
    const { kind } = this;
    if (field === LIMIT && kind !== BUCKET) {
      const most = kind === LOG ? MOST_LOGGED : MOST;
      if (!(Number.isInteger(number) && number >= 1 && number <= most)) this.fail(COUNT_RANGE, field);
    } else if (what === "number" && field !== MAX_RATE && field !== INITIAL_RATE) {
      const from = least === "above" ? LEAST : least === "1" ? 1 : 0;
      const inRange = least === "share" ? number > 0 && number <= 1 : number >= from && number < Infinity;
      const isFactor = field === STRETCH_FACTOR || field === OPEN_FACTOR;
      const code = field === OPEN_EXPONENT ? EXPONENT_RANGE : isFactor ? FACTOR_RANGE : RATE_RANGE;
      if (!inRange) this.fail(least === "share" ? SHARE_RANGE : code, field);
    } else if (least === "above" && !number && !(field === PER && kind === LOG)) {
      this.fail(ZERO_LIMIT, field);
    }
    const isIn = (from: Nanos, to: Nanos) => number >= from && number <= to;
    if (field === CAPACITY && kind === THROTTLE && !number) this.fail(COUNT_RANGE, field);
    if (field === SLOW_RATE && this.of(SLOW_AFTER) === LONGEST) this.fail(FIELD_MISSING, SLOW_AFTER);
    if (field === MIN_CALLS && kind === COUNT && number > this.of(SIZE)) this.fail(COUNT_RANGE, field);
    if (field === OPEN_LONGEST && number < this.of(OPEN_FOR)) this.fail(MAX_BELOW_INITIAL, field);
    if (field === MAX_RATE && !isIn(this.of(MIN_RATE), Number.MAX_VALUE)) this.fail(RATE_RANGE, field);
    if (field === INITIAL_RATE && !isIn(this.of(MIN_RATE), this.of(MAX_RATE))) this.fail(RATE_RANGE, field);
  }
}

/** Words that hold values of these types one after the other: `w` a number of 32 bits, `l` one of 64, `d` a double. */
function packed(types: string, ...values: Nanos[]): Uint32Array {
  const words = new Uint32Array([...types].reduce((length, type) => length + (type === "w" ? 1 : 2), 0));
  const doubles = new Float64Array(words.buffer);
  let at = 0;
  for (const [index, value] of values.entries()) {
    const type = types[index];
    if (type === "d") doubles[at / 2] = value as number;
    else if (type === "l") writeLong(words, at, value);
    else words[at] = value as number;
    at += type === "w" ? 1 : 2;
  }
  return words;
}

/** A double as the core makes a whole number of it: at most the longest time. */
const truncated = (number: number): Nanos => (number >= 2 ** 63 ? LONGEST : Math.trunc(number));

/** The digits of a number up to the third after its point. */
function thousandths(number: number): Nanos {
  const near = truncated(number * 1000 + 0.5);
  return Number(near) / 1000 <= number ? near : Number(near) - 1;
}

const atLeastOne = (nanos: bigint): bigint => (nanos > 0n ? nanos : 1n);
const slotOf = (window: Nanos, slots: number): bigint => atLeastOne(BigInt(window) / BigInt(slots));

function budget(of: Section): Uint32Array {
  const { kind } = of;
  const isToken = kind === TOKEN;
  const costs = [COST, TIMEOUT_COST, THROTTLED_COST].map((field) => (isToken ? of.real(field) * 1000 : 0));
  const [window, ratio] = [of.of(BUDGET_WINDOW), of.real(RATIO)];
  let amounts: Nanos[] = [0, 0, 0, 0, 0, 0];
  if (isToken || kind === THROTTLE) {
    const refill = isToken ? of.real(REFILL) * 1000 : 0;
    amounts = [of.real(CAPACITY) * 1000, thousandths(of.real(REWARD)), 0, 0, refill, 0];
  } else if (kind === BY_RATIO) {
    // The amounts of Finagle's RetryBudget.
    const withdrawal = ratio > 0 ? truncated(Math.max(1000 / ratio, 1)) : 1;
    const least = of.real(MIN_PER_SECOND) * (Number(window) / 1e9);
    amounts = [0, ratio > 0 ? 1000 : 0, withdrawal, truncated(least * Number(withdrawal)), 0, slotOf(window, 10)];
  } else if (kind === SHARE) {
    amounts = [of.of(MIN_CONCURRENCY), 0, 0, 0, ratio, 0];
  } else if (kind === REQUESTS) {
    amounts = [0, 0, 0, 0, of.of(K), slotOf(window, 10)];
  } else {
    amounts = [of.of(BUDGET_LIMIT), 0, 0, 0, 0, slotOf(window, 1)];
  }
  // The capacity, the reward, the withdrawal, the reserve, the rate, and the length of a slot.
  return packed("wwwwlllldl", kind, ...costs, ...amounts);
}

function breaker(of: Section): Uint32Array {
  const open = of.real(OPEN_KIND);
  const by = [OPEN_INCREMENT, OPEN_FACTOR, OPEN_EXPONENT][open - LINEAR];
  const step = by === undefined ? 0 : of.of(by);
  const stage: Nanos[] = [of.of(OPEN_FOR), step, of.of(OPEN_LONGEST), 0, open];
  const inRow = of.kind === CONSECUTIVE;
  const size = inRow ? 1 : of.real(of.kind === COUNT ? SIZE : SLOTS);
  const rate = inRow ? 1 : of.real(FAILURE_RATE);
  const window = inRow ? 0n : BigInt(of.of(BREAKER_WINDOW));
  let failures = inRow ? of.real(FAILURES) : 1;
  while (!inRow && failures < size && failures / size < rate) failures++;
  const slowRate = of.number(SLOW_RATE) ?? Infinity;
  const slowAfter = inRow || of.of(SLOW_AFTER) === LONGEST ? Infinity : of.of(SLOW_AFTER);
  const slot = atLeastOne((window + BigInt(size - 1)) / BigInt(size));
  const times: Nanos[] = [rate, slowRate, of.of(JITTER), slowAfter, window, slot];
  const counts: Nanos[] = [failures, size, inRow ? 1 : of.of(MIN_CALLS), of.of(PROBES), of.of(SUCCESSES)];
  const modes = (of.kind - 1) | (of.real(REOPEN) << 8) | (of.real(MODE) << 16) | (of.real(HINT) << 24);
  const types = `l${by === undefined || by === OPEN_INCREMENT ? "l" : "d"}lwwdddlllwwwwwwww`;
  return packed(types, ...stage, ...times, ...counts, modes, of.of(BREAKER_REFUSAL), 0);
}

function limiter(of: Section): Uint32Array {
  const { kind } = of;
  const per = BigInt(of.of(PER));
  const limit = kind === BUCKET ? 0 : of.real(LIMIT);
  const burst = kind === GCRA || kind === BUCKET ? of.real(BURST) : 0;
  const interval = (count: number): [nanos: Nanos, rest: Nanos] => {
    const [product, by] = [BigInt(count) * per, BigInt(limit)];
    if (by === 0n) return [0, 0];
    return product / by < 1n << 64n ? [product / by, Number(product % by)] : [Infinity, 0];
  };
  const [[one, oneRest], [all, allRest]] = [interval(1), interval(burst)];
  const choices = (kind - 1) | (of.real(LIMITER_REFUSAL) << 8);
  const rate = kind === BUCKET ? of.of(LIMIT) : 0;
  return packed("dlllwwwwww", rate, per, one, all, oneRest, allRest, limit, burst, choices, 0);
}

function adaptive(of: Section): Uint32Array {
  const isAimd = of.kind === AIMD;
  const steps = isAimd ? [of.of(INCREASE), of.of(MIN_RATE), of.of(MAX_RATE), of.of(INITIAL_RATE)] : undefined;
  const choices = (of.kind - 1) | (of.real(ADAPTIVE_REFUSAL) << 8);
  const rates = steps ?? [0, of.of(MIN_RATE), Infinity, 0];
  return packed("dddddddww", of.of(BETA), of.of(SCALE), of.of(SMOOTH), ...rates, choices, 0);
}

/** The words of each guard, in the order of their sections. */
const CONFIGS: readonly ((of: Section) => Uint32Array)[] = [
  budget,
  breaker,
  limiter,
  (of) => packed("lww", of.of(MAX_WAIT), of.of(PLACES), of.of(QUEUE)),
  adaptive,
  (of) => packed("dlww", of.of(STRETCH_FACTOR), of.of(STRETCH_WINDOW), of.of(STRETCH_CALLS), 0),
  (of) => packed("ldww", of.of(DELAY), of.number(PERCENTILE) ?? 0, of.of(ATTEMPTS), 0),
];

/** The configurations that fields say. Throws a ConfigError. */
export function configsOf(guardFields: GuardFields): Configs {
  const input = guardFields instanceof Uint32Array ? readWords(guardFields) : read(guardFields);
  const sections = SECTIONS.split(" ").map((name) => new Section(name, input));
  const words = CONFIGS.map((config, index) => {
    const section = sections[index] as Section;
    return section.kind === 0 ? undefined : config(section);
  });
  const [, breaker, limiter] = sections as [Section, Section, Section];
  const nested = sections.at(-1) as Section;
  return {
    words,
    log: limiter.kind === LOG ? limiter.real(LIMIT) : 0,
    nesting: nested.isSet ? { mode: nested.kind, cap: nested.real(NESTED_CAP) } : undefined,
    asksTook: breaker.kind > CONSECUTIVE && breaker.of(SLOW_AFTER) !== LONGEST,
    asksWhen: breaker.kind > CONSECUTIVE,
  };
}
