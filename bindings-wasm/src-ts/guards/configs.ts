/** From fields to the configurations of guards: every field is read and checked here, and each configuration written as the core's words. */
import * as Rule from "../codes.js";
import { ConfigError, ruleOf, shown } from "../errors.js";
import { writeLong } from "../hot.js";
import { isGuard, near, numberOf, partsOf } from "../options.js";
import { LONGEST, SECTIONS } from "../table.js";
import type { Nanos } from "../values.js";
import { bareCopy, EMPTY, type GuardField, NO_ITEMS, NOTHING, NUMBER, nearest, UNITLESS } from "../values.js";
import { GUARD_RULES, LAYOUTS, NOT_ZERO, OPEN_FULL, OPEN_MAX, ROWS, type Row } from "./table.js";

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

  private row(name: string): Row {
    return this.rows.get(name) as Row;
  }

  /** True for the name of a field that the kind has a use for. */
  uses(name: string, kind = this.kind): boolean {
    return (((this.rows.get(name)?.[2] ?? 0) >> kind) & 1) === 1;
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
    const refuse = (names: string[]) => {
      for (const name of names) if (this.number(name) !== undefined) this.fail(Rule.NOT_FOR_KIND, name);
    };
    refuse(others.filter((name) => (isOpen(name) ? kind === 0 : !this.uses(name))));
    const own = [first as string, ...others].filter((name) =>
      this.uses(name, isOpen(name) ? this.real("open_for.kind") : kind),
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
    for (const [path, code, holds] of BETWEEN) {
      if (path === pathOf(row) && !holds(this, number)) this.fail(code, name);
    }
    const from = least === "share" || least === "above" ? LEAST : Number(least ?? 0);
    if (what === "number" && !(number >= from && number <= (least === "share" ? 1 : Number.MAX_VALUE))) {
      if (least === "share") this.fail(Rule.SHARE_RANGE, name);
      if (name.endsWith("factor")) this.fail(Rule.FACTOR_RANGE, name);
      this.fail(name.endsWith("exponent") ? Rule.EXPONENT_RANGE : Rule.RATE_RANGE, name);
    }
    // spec 24.8: a log may be for no time.
    if (what === "span" && least === "above" && number <= 0 && this.word !== "log") this.fail(Rule.ZERO_LIMIT, name);
    if (name === "slow_rate" && this.of("slow_after") === LONGEST) this.fail(Rule.FIELD_MISSING, "slow_after");
  }
}

/** The rules between fields, each with the error about the field. */
const BETWEEN: readonly (readonly [path: string, code: number, holds: (of: Section, number: Nanos) => boolean])[] = [
  ["budget.capacity", Rule.COUNT_RANGE, (of, capacity) => of.word !== "throttle" || capacity > 0],
  ["breaker.min_calls", Rule.COUNT_RANGE, (of, calls) => of.word !== "count" || calls <= of.of("size")],
  ["breaker.open_for", Rule.NOT_FOR_KIND, (of) => of.listed.length === 0 || of.of("open_for.kind") === 1],
  ["breaker.open_for.max", Rule.MAX_BELOW_INITIAL, (of, max) => max >= of.of("open_for")],
  ["breaker.probe_failures", Rule.NOT_FOR_KIND, (of, failures) => failures === 0 || of.of("reopen") === 0],
  ["limiter.limit", Rule.COUNT_RANGE, (of, limit) => of.word === "bucket" || isLimit(limit, of.word)],
  ["adaptive.max_rate", Rule.RATE_RANGE, (of, rate) => rate >= of.of("min_rate")],
  ["adaptive.initial_rate", Rule.RATE_RANGE, (of, rate) => rate >= of.of("min_rate") && rate <= of.of("max_rate")],
];

const isLimit = (limit: Nanos, kind: string): boolean =>
  Number.isInteger(limit) && limit >= 1 && limit <= (kind === "log" ? MOST_LOGGED : MOST);

/** How many bytes a number has: a double, or a whole number of 64, 32 or 8 bits. */
const SIZES: Readonly<Record<string, number>> = { d: 8, l: 8, w: 4, b: 1 };

/** The words of the configuration with that layout: its numbers are among `own`, those of the fields that the kind uses, or 0. */
function packed(of: Section, layout: string, own: Readonly<Record<string, Nanos>>): Uint32Array {
  const parts = layout.split(", ").map((part) => part.split(" "));
  const sizes = parts.map(([type]) => SIZES[type as string] as number);
  const words = new Uint32Array(sizes.reduce((length, size) => length + size) / 4);
  const view = new DataView(words.buffer);
  let at = 0;
  for (const [index, [type, name]] of parts.entries()) {
    const value = name === undefined ? 0 : (own[name] ?? (of.uses(name) ? of.of(name) : 0));
    if (type === "l") writeLong(words, at / 4, value);
    else if (type === "d") view.setFloat64(at, value as number, true);
    else if (type === "w") view.setUint32(at, value as number, true);
    else view.setUint8(at, value as number);
    at += sizes[index] as number;
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

type Numbers = Readonly<Record<string, Nanos>>;

/** The numbers of a budget of each kind. */
const BUDGETS: Readonly<Record<string, (of: Section, slot: (slots: bigint) => bigint) => Numbers>> = {
  token(of) {
    const hinted = of.number("hinted_cost");
    return {
      ...throttle(of),
      cost: of.real("cost") * 1000,
      timeout_cost: of.real("timeout_cost") * 1000,
      throttled_cost: of.real("throttled_cost") * 1000,
      // Infinity stands for "the cost after its failure".
      withdrawal: hinted === undefined ? Infinity : Number(hinted) * 1000,
      reserve: of.of("returns"),
      rate: of.real("refill") * 1000,
      slot: of.of("grace"),
    };
  },
  default: (of) => ({
    kind: 1,
    cost: 1000,
    timeout_cost: 1e4,
    throttled_cost: 1e4,
    capacity: of.real("capacity") * 1000,
    reward: 1000,
    reserve: 1,
    rate: 30,
    slot: 1e9,
  }),
  throttle,
  ratio: (of, slot) => ({
    reward: cut(of.real("ratio"), 1e6),
    withdrawal: 1e6,
    reserve: truncated(of.real("min_per_second") * (of.real("window") / 1e9) * 1e6),
    slot: slot(10n),
  }),
  share: (of) => ({ capacity: of.of("min_concurrency"), rate: of.of("ratio") }),
  requests: (of, slot) => ({ rate: of.of("k"), slot: slot(10n) }),
  window: (of, slot) => ({ capacity: of.of("limit"), slot: slot(1n) }),
};

function throttle(of: Section): Numbers {
  return { capacity: of.real("capacity") * 1000, reward: cut(of.real("reward"), 1000) };
}

/** The numbers of configurations that are not those of the fields with their names. */
const DERIVED: Readonly<Record<string, (of: Section) => Numbers>> = bareCopy({
  budget: (of) => ({
    kind: of.kind,
    ...BUDGETS[of.word]?.(of, (slots) => atLeastOne(BigInt(of.of("window")) / slots)),
  }),
  breaker(of) {
    const inRow = of.word === "consecutive";
    const size = inRow ? 1 : of.real(of.word === "count" ? "size" : "slots");
    const window = inRow ? 0n : BigInt(of.of("window"));
    return {
      "open.initial": of.of("open_for"),
      "open.step": stepOf(of, of.real("open_for.kind")),
      "open.max": of.of("open_for.max"),
      "open.times": of.listed.length,
      "open.kind": of.of("open_for.kind"),
      failure_rate: inRow ? 1 : of.of("failure_rate"),
      slow_rate: of.number("slow_rate") ?? Infinity,
      slow_after: inRow || of.of("slow_after") === LONGEST ? Infinity : of.of("slow_after"),
      window,
      slot_length: atLeastOne((window + BigInt(size - 1)) / BigInt(size)),
      failures: inRow ? of.of("failures") : 5,
      size,
      kind: of.kind - 1,
      min_calls: inRow ? 1 : of.of("min_calls"),
      ...Object.fromEntries(of.listed.slice(1).map((time, index) => [`more_open.${index}`, time])),
    };
  },
  limiter(of) {
    const isBucket = of.word === "bucket";
    const [per, limit] = [BigInt(of.of("per")), isBucket ? 0 : of.real("limit")];
    const burst = isBucket || of.word === "gcra" ? of.real("burst") : 0;
    const interval = (count: number): [nanos: Nanos, rest: Nanos] => {
      const [product, by] = [BigInt(count) * per, BigInt(limit)];
      if (by === 0n) return [0, 0];
      return product / by < 1n << 64n ? [product / by, Number(product % by)] : [Infinity, 0];
    };
    const [[one, interval_rest], [capacity, capacity_rest]] = [interval(1), interval(burst)];
    const rate = isBucket ? of.of("limit") : 0;
    return { rate, interval: one, capacity, interval_rest, capacity_rest, limit, burst, kind: of.kind - 1 };
  },
  adaptive: (of) => ({
    scale: of.of("scale"),
    smooth: of.of("smooth"),
    max_rate: of.word === "aimd" ? of.of("max_rate") : Infinity,
    kind: of.kind - 1,
  }),
});

/** The step in which open times grow: of the kind linear a time, else the bits of a double. */
function stepOf(of: Section, kind: number): Nanos {
  if (kind === 2) return of.of("open_for.increment");
  if (kind < 2 || kind > 4) return 0;
  const step = of.real(kind === 3 ? "open_for.factor" : "open_for.exponent");
  return new BigUint64Array(Float64Array.of(step).buffer)[0] as bigint;
}

/** The configurations that fields say. Throws a ConfigError. */
export function configsOf(guardFields: readonly GuardField[]): Configs {
  const input = read(guardFields);
  const sections = SECTIONS.split(" ").map((name) => new Section(name, input));
  const [budget, , limiter, bulkhead] = sections as [Section, Section, Section, Section];
  const queue = bulkhead.exists ? bulkhead.real("queue") : 0;
  const nested = sections.at(-1) as Section;
  return {
    words: Object.entries(LAYOUTS).map(([name, layout], index) => {
      const section = sections[index] as Section;
      return section.exists ? packed(section, layout, bareCopy(DERIVED[name]?.(section) ?? {})) : undefined;
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
