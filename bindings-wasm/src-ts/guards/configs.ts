/** From fields to the configurations of guards: every field is read and checked here, and each configuration written as the core's words. */
import * as Rule from "../codes.js";
import { ConfigError, ruleOf, shown } from "../errors.js";
import { writeLong } from "../hot.js";
import { isGuard, near, numberOf, partsOf } from "../options.js";
import { LONGEST, SECTIONS } from "../table.js";
import type { Nanos } from "../values.js";
import { EMPTY, type GuardField, NO_ITEMS, NOTHING, NUMBER, nearest, UNITLESS } from "../values.js";
import { GUARD_RULES, NOT_ZERO, OPEN_FULL, OPEN_MAX, ROWS, type Row } from "./table.js";

/** The defaults of kinds that differ from those of the others. */
const OF_KIND: Readonly<Record<string, number>> = {
  "throttle capacity": 10,
  "default capacity": 20,
  "throttle reward": 0.1,
  "share ratio": 0.2,
  "requests window": 120e9,
  "aimd beta": 0.5,
};

/** The number of the kind of budget that loops bring. */
const OF_LOOPS = 7;
const MOST = 2 ** 32 - 1;
const MOST_LOGGED = 1_000_000;
const MOST_OPEN = 8;
/** The smallest number that is not subnormal. */
const LEAST = 2 ** -1022;

/** The behaviour of a policy inside another retry, or around one. */
export interface Nesting {
  readonly mode: number;
  readonly cap: number;
}

/** Configurations, checked: the words of each guard there is, and how many words of 64 bits it borrows beside its state. */
export interface Configs {
  readonly words: readonly (Uint32Array | undefined)[];
  readonly storage: readonly number[];
  readonly nesting: Nesting | undefined;
  /** True if a field of the budget was given, be it "none". */
  readonly namesBudget: boolean;
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
  return ruleOf(
    what !== "number" ? Rule.NOT_A_DURATION : first === "share" ? Rule.SHARE_RANGE : Rule.RATE_RANGE,
    GUARD_RULES,
  )[1];
}

/** The errors whose rule is that of the field. */
const OF_FIELD = [Rule.WRONG_TYPE, Rule.UNKNOWN_WORD, Rule.COUNT_RANGE, Rule.RATE_RANGE, Rule.FACTOR_RANGE];

/** Throws the error with that number about a field, or about a name that no field has. */
function fail(code: number, row: Row | undefined, path: string, value: unknown, meant?: string): never {
  const [word, rule] = ruleOf(code, GUARD_RULES);
  let wanted = rule;
  if (row !== undefined) {
    if (OF_FIELD.includes(code)) wanted = ruleOfField(row);
    else if (code === Rule.MAX_BELOW_INITIAL) wanted = OPEN_MAX;
    else if (code === Rule.TOO_MANY_STAGES) wanted = OPEN_FULL;
    else if (code === Rule.ZERO_LIMIT) wanted = NOT_ZERO;
  }
  throw new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}`, wanted, meant);
}

const isGroup = (name: string): boolean => [...byName.keys()].some((known) => known.startsWith(`${name}.`));

/** The fields of guards that were given, and those of a preset, by their numbers. */
interface Input {
  readonly numbers: (Nanos | undefined)[];
  /** The values as they were given. */
  readonly values: unknown[];
  /** The open times that a breaker lists, none without a list. */
  readonly listed: Nanos[];
  readonly preset: Readonly<Record<number, number>>;
}

/** Reads the fields of guards. Throws a ConfigError about the first one that is wrong. */
function read(guardFields: readonly GuardField[]): Input {
  const numbers: Input["numbers"] = [];
  const values: unknown[] = [];
  const listed: Nanos[] = [];
  let preset: Input["preset"] = {};
  for (const field of guardFields) {
    const { path, value, kind } = field;
    if (field.numbers) {
      preset = field.numbers;
      continue;
    }
    const [base, , , item] = partsOf(path);
    const row = byName.get(base);
    if (row === undefined) {
      const meant = isGuard(path) ? nearest(base, [...byName.keys()]) : near(path);
      fail(Rule.UNKNOWN_FIELD, row, path, value, meant);
    }
    const at = (path: string) => (code: number, meant?: string) => fail(code, row, path, value, meant);
    const wrong = at(pathOf(row));
    if (row[4].startsWith("span list") && (item !== undefined || kind === NO_ITEMS)) {
      if (kind === NO_ITEMS) fail(Rule.DELAYS_MISSING, row, pathOf(row), undefined);
      if (item !== listed.length) wrong(Rule.WRONG_TYPE);
      const wrongItem = at(`${pathOf(row)}[${item}]`);
      const time = numberOf(row[4], field, wrongItem, Rule.COUNT_RANGE, Rule.NOT_A_DURATION);
      if (item === MOST_OPEN) fail(Rule.TOO_MANY_STAGES, row, `${pathOf(row)}[${item}]`, value);
      listed.push(time);
      if (item === 0) numbers[row[0]] = time;
      continue;
    }
    if (item !== undefined) wrong(Rule.WRONG_TYPE);
    if (kind === NOTHING || (kind === EMPTY && isGroup(base))) continue;
    const [number] = row;
    if (path === "budget" && (kind === NUMBER || kind === UNITLESS)) {
      // The capacity of the budget of loops.
      const capacity = byName.get("budget.capacity") as Row;
      const wrongCapacity = (code: number) => fail(code, capacity, pathOf(capacity), value);
      numbers[number] = OF_LOOPS;
      numbers[capacity[0]] = numberOf(capacity[4], field, wrongCapacity, Rule.COUNT_RANGE);
      values[capacity[0]] = value;
      continue;
    }
    numbers[number] = numberOf(row[4], field, wrong, Rule.COUNT_RANGE);
    values[number] = value;
  }
  return { numbers, values, listed, preset };
}

/** The fields of one guard, each given or its default, checked. */
class Section {
  /** The rows by the names of their fields. */
  private readonly rows: ReadonlyMap<string, Row>;
  private readonly first: number;
  private readonly input: Input;
  /** True if one of its fields was given. */
  readonly isSet: boolean;
  /** The number and the word of the kind; a guard without kinds has kind 1 and no word. */
  readonly kind: number;
  readonly word: string;

  constructor(name: string, input: Input) {
    const own = ROWS.filter(([, names]) => names.startsWith(`${name}.`));
    this.rows = new Map(own.map((row) => [pathOf(row).slice(name.length + 1), row]));
    const [first, , , start, takes] = own[0] as Row;
    const [what, , ...words] = takes.split(" ");
    this.first = first;
    this.input = input;
    this.isSet = own.some((row) => this.numberOf(row) !== undefined);
    this.kind = what === "word" ? Number(input.numbers[first] ?? input.preset[first] ?? start) : 1;
    this.word = what === "word" ? (words[this.kind] as string) : "";
    if (this.isSet) this.check();
  }

  /** True if there is such a guard. */
  get exists(): boolean {
    return this.isSet && this.word !== "none";
  }

  /** The layout of a configuration that has the numbers of all fields. */
  get layout(): string {
    return [...this.rows].map(([name, row]) => `${row[4].startsWith("number") ? "d" : "l"} ${name}`).join(", ");
  }

  private row(name: string): Row {
    return this.rows.get(name) as Row;
  }

  /** The number that was given: a preset's counts where the guard's kind, or first field, was not given. */
  private numberOf([field]: Row): Nanos | undefined {
    const { numbers, preset } = this.input;
    return numbers[field] ?? (numbers[this.first] === undefined ? preset[field] : undefined);
  }

  number(name: string): Nanos | undefined {
    return this.numberOf(this.row(name));
  }

  /** The number of a field, or its default. */
  of(name: string): Nanos {
    const row = this.row(name);
    const own = this.numberOf(row) ?? OF_KIND[`${this.word} ${name}`];
    if (own !== undefined) return own;
    const number = row[3] ?? 0;
    const real = Number(number);
    switch (name) {
      case "timeout_cost":
      case "throttled_cost":
        return this.of("cost");
      case "min_calls":
        return this.word === "count" ? Math.min(real, this.real("size")) : number;
      case "open_for.increment":
        return this.of("open_for");
      case "burst":
        return Math.min(Math.max(Math.trunc(this.real("limit")), 1), MOST);
      // The lowest and the highest rate give way to each other where one is not set, the initial one to both.
      case "min_rate": {
        const most = Number(this.number("max_rate") ?? 0);
        return most > 0 ? Math.min(most, real) : real;
      }
      case "max_rate":
        return Math.max(real, this.real("min_rate"));
      case "initial_rate":
        return Math.max(Math.min(real, this.real("max_rate")), this.real("min_rate"));
      default:
        return number;
    }
  }

  real(name: string): number {
    return Number(this.of(name));
  }

  /** The open times that are listed. */
  get listed(): readonly Nanos[] {
    return this.input.listed;
  }

  private fail(code: number, name: string): never {
    const row = this.row(name);
    return fail(code, row, pathOf(row), code === Rule.FIELD_MISSING ? undefined : this.input.values[row[0]]);
  }

  private check(): void {
    const { kind } = this;
    const [first, ...others] = this.rows.keys();
    const isOpen = (name: string) => name.startsWith("open_for");
    const fits = (name: string, kind: number) => ((this.row(name)[2] >> kind) & 1) === 1;
    const refuse = (names: string[]) => {
      for (const name of names) if (this.number(name) !== undefined) this.fail(Rule.NOT_FOR_KIND, name);
    };
    refuse(others.filter((name) => (isOpen(name) ? kind === 0 : !fits(name, kind))));
    const own = [first as string, ...others].filter((name) =>
      fits(name, isOpen(name) ? this.real("open_for.kind") : kind),
    );
    for (const name of own) {
      if (this.row(name)[3] === null && this.number(name) === undefined) this.fail(Rule.FIELD_MISSING, name);
    }
    if (!this.exists) return;
    refuse(others.filter((name) => isOpen(name) && name !== "open_for.kind" && !own.includes(name)));
    for (const name of own) this.checkNumber(name);
  }

  /** Holds one number against its range, and against the numbers before it. */
  private checkNumber(name: string): void {
    const row = this.row(name);
    const [, , , start, takes] = row;
    if (start === undefined && this.number(name) === undefined) return;
    const number = this.of(name);
    const [what, least] = takes.split(" ");
    const { word } = this;
    const hold = (isRight: boolean, code: number, wrong = name) => isRight || this.fail(code, wrong);
    const isIn = (from: Nanos, to: Nanos) => number >= from && number <= to;
    const inRange =
      least === "share"
        ? number > 0 && number <= 1
        : isIn(least === "above" ? LEAST : Number(least ?? 0), Number.MAX_VALUE);
    switch (pathOf(row)) {
      case "budget.capacity":
        hold(word !== "throttle" || number > 0, Rule.COUNT_RANGE);
        break;
      case "breaker.slow_rate":
        hold(inRange, Rule.SHARE_RANGE);
        hold(this.of("slow_after") !== LONGEST, Rule.FIELD_MISSING, "slow_after");
        break;
      case "breaker.min_calls":
        hold(word !== "count" || number <= this.of("size"), Rule.COUNT_RANGE);
        break;
      case "breaker.open_for":
        hold(this.listed.length === 0 || this.of("open_for.kind") === 1, Rule.NOT_FOR_KIND);
        break;
      case "breaker.probe_failures":
        hold(number === 0 || this.of("reopen") === 0, Rule.NOT_FOR_KIND);
        break;
      case "breaker.open_for.factor":
      case "stretch.factor":
        hold(inRange, Rule.FACTOR_RANGE);
        break;
      case "breaker.open_for.exponent":
        hold(inRange, Rule.EXPONENT_RANGE);
        break;
      case "breaker.open_for.max":
        hold(number >= this.of("open_for"), Rule.MAX_BELOW_INITIAL);
        break;
      case "limiter.limit":
        if (word === "bucket") hold(inRange, Rule.RATE_RANGE);
        else hold(Number.isInteger(number) && isIn(1, word === "log" ? MOST_LOGGED : MOST), Rule.COUNT_RANGE);
        break;
      case "limiter.per":
        hold(word === "log" || number > 0, Rule.ZERO_LIMIT);
        break;
      case "adaptive.max_rate":
        hold(isIn(this.of("min_rate"), Number.MAX_VALUE), Rule.RATE_RANGE);
        break;
      case "adaptive.initial_rate":
        hold(isIn(this.of("min_rate"), this.of("max_rate")), Rule.RATE_RANGE);
        break;
      default:
        if (what === "number") hold(inRange, least === "share" ? Rule.SHARE_RANGE : Rule.RATE_RANGE);
        else if (least === "above") hold(number > 0, Rule.ZERO_LIMIT);
    }
  }
}

/**
 * A configuration as words: types and names of fields, `w` a number of 32 bits, `l` one of 64, `d` a double. A value that is not
 * among `own` is the field's, and a name that is missing stands for 0.
 */
function packed(of: Section, layout: string, own: Readonly<Record<string, Nanos>> = {}): Uint32Array {
  const parts = layout.split(", ").map((part) => part.split(" "));
  const words = new Uint32Array(parts.reduce((length, [type]) => length + (type === "w" ? 1 : 2), 0));
  const doubles = new Float64Array(words.buffer);
  let at = 0;
  for (const [type, name] of parts) {
    const value = name === undefined ? 0 : Object.hasOwn(own, name) ? (own[name] as Nanos) : of.of(name);
    if (type === "d") doubles[at / 2] = value as number;
    else if (type === "l") writeLong(words, at, value);
    else words[at] = value as number;
    at += type === "w" ? 1 : 2;
  }
  return words;
}

/** A double as the core makes a whole number of it: at most the longest time. */
const truncated = (number: number): Nanos => (number >= 2 ** 63 ? LONGEST : Math.trunc(number));

/** A number in that many parts of one: the most that are not above it. */
function cut(number: number, parts: number): Nanos {
  const near = truncated(number * parts + 0.5);
  return Number(near) / parts <= number ? near : BigInt(near) - 1n;
}

const atLeastOne = (nanos: bigint): bigint => (nanos > 0n ? nanos : 1n);

function budget(of: Section): Uint32Array {
  const slot = (slots: bigint) => atLeastOne(BigInt(of.of("window")) / slots);
  const ratio = of.real("ratio");
  const hinted = of.number("hinted_cost");
  const purse = { capacity: of.real("capacity") * 1000, reward: cut(of.real("reward"), 1000) };
  const costs = ["cost", "timeout_cost", "throttled_cost"].map((name) => [name, of.real(name) * 1000]);
  const withdrawal = 1e6;
  const least = of.real("min_per_second") * (of.real("window") / 1e9);
  const amounts: Readonly<Record<string, Readonly<Record<string, Nanos>>>> = {
    token: {
      ...purse,
      ...Object.fromEntries(costs),
      // The most words are "the cost after its failure".
      withdrawal: hinted === undefined ? 2n ** 64n - 1n : Number(hinted) * 1000,
      reserve: of.of("returns"),
      rate: of.real("refill") * 1000,
      slot: of.of("grace"),
    },
    default: {
      cost: 1000,
      timeout_cost: 1e4,
      throttled_cost: 1e4,
      capacity: purse.capacity,
      reward: 1000,
      reserve: 1,
      rate: 30,
      slot: 1e9,
      kind: 1,
    },
    throttle: purse,
    ratio: {
      reward: cut(ratio, withdrawal),
      withdrawal,
      reserve: truncated(least * withdrawal),
      slot: slot(10n),
    },
    share: { capacity: of.of("min_concurrency"), rate: ratio },
    requests: { rate: of.of("k"), slot: slot(10n) },
    window: { capacity: of.of("limit"), slot: slot(1n) },
  };
  const none = { cost: 0, timeout_cost: 0, throttled_cost: 0, capacity: 0, reward: 0 };
  const layout =
    "w kind, w cost, w timeout_cost, w throttled_cost, l capacity, l reward, l withdrawal, l reserve, d rate, l slot";
  return packed(of, layout, {
    ...none,
    withdrawal: 0,
    reserve: 0,
    rate: 0,
    slot: 0,
    kind: of.kind,
    ...amounts[of.word],
  });
}

/** The fields of the steps in which open times grow, by the numbers of their kinds. */
const STEPS: Readonly<Record<number, string>> = {
  2: "l open_for.increment",
  3: "d open_for.factor",
  4: "d open_for.exponent",
};

function breaker(of: Section): Uint32Array {
  const inRow = of.word === "consecutive";
  const size = inRow ? 1 : of.real(of.word === "count" ? "size" : "slots");
  const rate = inRow ? 1 : of.real("failure_rate");
  const window = inRow ? 0n : BigInt(of.of("window"));
  let failures = inRow ? of.real("failures") : 1;
  while (!inRow && failures < size && failures / size < rate) failures++;
  const own: Record<string, Nanos> = {
    failure_rate: rate,
    slow_rate: of.number("slow_rate") ?? Infinity,
    slow_after: inRow || of.of("slow_after") === LONGEST ? Infinity : of.of("slow_after"),
    window,
    slot: atLeastOne((window + BigInt(size - 1)) / BigInt(size)),
    failures,
    size,
    refusal: of.real("refusal") | (of.real("ramp") << 8),
    modes: (of.kind - 1) | (of.real("reopen") << 8) | (of.real("mode") << 16) | (of.real("hint") << 24),
  };
  if (inRow) own["min_calls"] = 1;
  own["times"] = of.listed.length;
  for (let at = 1; at < MOST_OPEN; at++) own[`open_${at}`] = of.listed[at] ?? 0;
  const stage = `l open_for, ${STEPS[of.real("open_for.kind")] ?? "l"}, l open_for.max, w times, w open_for.kind`;
  const more = "l open_1, l open_2, l open_3, l open_4, l open_5, l open_6, l open_7";
  const counts = `w failures, w size, w min_calls, w probes, w successes, w modes, w refusal, w probe_failures, ${more}`;
  return packed(of, `${stage}, d failure_rate, d slow_rate, d jitter, l slow_after, l window, l slot, ${counts}`, own);
}

/** The kind, as the core numbers it, and the behaviour of a refused call. */
const choices = (of: Section): Nanos => (of.kind - 1) | (of.real("refusal") << 8);

function limiter(of: Section): Uint32Array {
  const isBucket = of.word === "bucket";
  const [per, limit] = [BigInt(of.of("per")), isBucket ? 0 : of.real("limit")];
  const burst = isBucket || of.word === "gcra" ? of.real("burst") : 0;
  const interval = (count: number): [nanos: Nanos, rest: Nanos] => {
    const [product, by] = [BigInt(count) * per, BigInt(limit)];
    if (by === 0n) return [0, 0];
    return product / by < 1n << 64n ? [product / by, Number(product % by)] : [Infinity, 0];
  };
  const [[one, oneRest], [all, allRest]] = [interval(1), interval(burst)];
  const own = { rate: isBucket ? of.of("limit") : 0, one, oneRest, all, allRest, limit, burst, choices: choices(of) };
  return packed(of, "d rate, l per, l one, l all, w oneRest, w allRest, w limit, w burst, w choices, w", own);
}

function adaptive(of: Section): Uint32Array {
  const own = of.word === "aimd" ? {} : { increase: 0, max_rate: Infinity, initial_rate: 0 };
  const layout = "d beta, d scale, d smooth, d increase, d min_rate, d max_rate, d initial_rate, w choices, w";
  return packed(of, layout, { ...own, choices: choices(of) });
}

/** The words of the first guards, in the order of their sections; those of any other guard are its fields, 64 bits each. */
const CONFIGS: readonly ((of: Section) => Uint32Array)[] = [
  budget,
  breaker,
  limiter,
  (of) => packed(of, "l max_wait, w limit, w queue"),
  adaptive,
  (of) => packed(of, "d factor, l window, w min_calls, w"),
  (of) => packed(of, "l delay, d percentile, w attempts, w"),
];

/** The configurations that fields say. Throws a ConfigError. */
export function configsOf(guardFields: readonly GuardField[]): Configs {
  const input = read(guardFields);
  const sections = SECTIONS.split(" ").map((name) => new Section(name, input));
  const [budget, , limiter, bulkhead] = sections as [Section, Section, Section, Section];
  const queue = bulkhead.exists ? bulkhead.real("queue") : 0;
  const nested = sections.at(-1) as Section;
  return {
    words: sections.slice(0, -1).map((section, index) => {
      const config = CONFIGS[index] ?? ((of: Section) => packed(of, of.layout));
      return section.exists ? config(section) : undefined;
    }),
    // A log has a word for each time; a queue above 64 has a bit for each place.
    storage: [
      0,
      0,
      limiter.exists && limiter.word === "log" ? limiter.real("limit") : 0,
      queue > 64 ? Math.ceil(queue / 64) : 0,
    ],
    nesting: nested.isSet ? { mode: nested.kind, cap: nested.real("cap") } : undefined,
    namesBudget: budget.isSet,
  };
}
