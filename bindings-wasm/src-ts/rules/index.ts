/** Adds `rules` to `holdoff`: which failures are retried. Import it once, anywhere: `import "holdoff/rules"`. */
import source from "../../dist/rules.wasm";
import * as Rule from "../codes.js";
import { ConfigError, ruleOf, shown } from "../errors.js";
import {
  type Classifier,
  checkedFailure,
  type ErrorFacts,
  integer,
  judgedByRules,
  type Names,
  NO_FACTS,
  publicFailure,
  type RulesReader,
  useClassifier,
} from "../failure.js";
import { once } from "../memory.js";
import type { Rules, RuleText } from "../options.js";
import { RULES_WORDS, type RulesExports } from "../places.js";
import { CONDITION_RULES, CONDITIONS, GRPC_CODES, RULE_PARTS } from "../table.js";
import { EMPTY, type ErrorLike, type FieldValue, FLAG, NO_ITEMS, NOTHING, nearest, TEXT } from "../values.js";
import { KINDS } from "../words.js";

const { make } = once(source);

let core: RulesExports;
let words: Uint32Array;

/** Compiles the module on first use, and finds its memory. */
function load(): void {
  core ??= make() as RulesExports;
  words ??= new Uint32Array(core.memory.buffer, core.rules(), RULES_WORDS);
}

// The lists of texts, as facts number them.
const CODES = 1;
const TYPES = 2;
const PATTERNS = 3;
const LISTS = ["", "codes", "types", "patterns"];

/** The words of the lists that take words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  http: ["1xx", "2xx", "3xx", "4xx", "5xx"],
  grpc: GRPC_CODES.split(" "),
  kinds: KINDS.slice(1),
};

/** The number of an entry of a list; -1 for a value that is none. */
function entryOf(name: string, value: unknown): number {
  const [from, to] = name === "http" ? [100, 599] : [0, name === "grpc" ? 16 : -1];
  if (typeof value === "number") return Number.isInteger(value) && value >= from && value <= to ? value : -1;
  const text = typeof value !== "string" || name !== "grpc" || /[^a-z_]/i.test(value) ? value : value.toUpperCase();
  const at = (WORDS[name] ?? []).indexOf(text as string);
  return at < 0 || name === "grpc" ? at : at + 1;
}

/** The lists of an earlier form of the document, in whose place a policy has rules. */
const REPLACED = /^(?:retry_on(?:\.(non_idempotent\.)?(http|grpc|kinds|patterns))?|backoff(?:\[\d+\])?\.on)(?:[.[]|$)/;

/** The rule that is written in the place of a list. */
function replaced([name, once, list]: RegExpExecArray): string {
  if (name.startsWith("backoff")) return 'is a rule: "rules": [{"if": {"kinds": [...]}, "backoff": {...}}]';
  if (list === undefined) return 'is a list of rules: "rules": [{"if": {...}, "retry": true}]';
  const others = once ? '"idempotent": false' : "";
  return `is a rule: "rules": [{"if": {"${list}": [...]${others && `, ${others}`}}, "retry": true}, {"if": {${others}}, "retry": false}]`;
}

/** The rules of one policy, as their fields are read one after the other. */
class Reader implements RulesReader {
  private texts: RuleText[] = [];

  constructor() {
    load();
    core.clear();
  }

  set(name: string, field: FieldValue): boolean {
    const { kind, value, path } = field;
    const fail = (code: number, near?: string, instead?: string): never => {
      const [word, rule] = ruleOf(code, CONDITION_RULES);
      throw new ConfigError(code, word, path, value === undefined ? "" : ` = ${shown(value)}`, instead ?? rule, near);
    };
    const check = (code: number) => code && fail(code);
    if (name === "rules") return kind === NOTHING || kind === NO_ITEMS || fail(Rule.NOT_A_LIST);
    const list = REPLACED.exec(name);
    if (list) fail(Rule.REPLACED, "rules", replaced(list));
    const [, digits, part = ""] = /^rules\[(0|[1-9]\d?)\](?:\.(.*))?$/s.exec(name) ?? [];
    if (digits === undefined) return false;
    const rule = Number(digits);
    const found = /^if(?:$|[.[])/.test(part) ? /^if(?:\[(\d+)\])?\.?(.*)$/s.exec(part) : undefined;
    const [, place = 0, inner] = found ?? [];
    if (inner === undefined) {
      check(core.begin(rule));
      if (part === "") return kind === NOTHING || kind === EMPTY || fail(Rule.WRONG_TYPE);
      // The reader of policies has the schedule of a rule.
      if (/^(attempts|backoff|jitter|cap|hint)(?:[.[]|$)/.test(part)) return false;
      if (part !== "retry") fail(Rule.UNKNOWN_FIELD, nearest(part.replace(/[.[].*/s, ""), RULE_PARTS.split(" ")));
      if (kind === FLAG) core.set_word(rule, value ? 1 : 2);
      return kind === FLAG || kind === NOTHING || fail(Rule.NOT_A_FLAG);
    }
    const before = words.slice();
    check(core.begin_conditions(rule));
    const alternative = () => {
      const number = core.alternative(rule, Math.min(Number(place), 255));
      return number < Rule.UNKNOWN_FIELD ? number : fail(number);
    };
    if (inner !== "") this.condition(inner, field, alternative, fail);
    else if (kind === EMPTY) alternative();
    // Without a value it begins nothing.
    else if (part === "if" && kind === NOTHING) words.set(before);
    else if (part !== "if" || kind !== NO_ITEMS) fail(Rule.WRONG_TYPE);
    return true;
  }

  /** Sets a condition of an alternative, or an entry of its list. */
  private condition(
    name: string,
    { kind, value }: FieldValue,
    alternative: () => number,
    fail: (code: number, near?: string) => never,
  ): void {
    const [list, index, ...others] = name.split(/\[(\d+)\]$|\[.*/s) as [string, string?, string?];
    const bit = Object.hasOwn(CONDITIONS, list) ? (CONDITIONS[list] as number) : 0;
    if (bit === 0 || (index === undefined && others.length > 0))
      fail(Rule.UNKNOWN_FIELD, bit > 0 ? list : nearest(list, Object.keys(CONDITIONS)));
    const number = alternative();
    if (index === undefined && kind === NOTHING) return;
    const begins = Number(index ?? 0) === 0;
    const code = core.set_list(number, bit, begins ? 1 : 0);
    const texts = LISTS.indexOf(list);
    if (code) fail(code);
    if (list === "idempotent" || list === "unsent") {
      if (index !== undefined || kind !== FLAG) fail(Rule.NOT_A_FLAG);
      core.add(number, bit, value ? 1 : 0);
    } else if (index === undefined && kind !== NO_ITEMS) {
      fail(Rule.NOT_A_LIST);
    } else if (texts > 0) {
      if (begins) this.texts = this.texts.filter((text) => text[0] !== number || text[1] !== texts);
      if (index === undefined) return;
      if (kind !== TEXT) fail(Rule.PATTERN_TEXT);
      this.texts.push([number, texts, value as string]);
    } else if (index !== undefined) {
      const code = core.add(number, bit, entryOf(list, value));
      if (code) fail(code, nearest(kind === TEXT ? (value as string) : "", WORDS[list] as string[]));
    }
  }

  build(): Rules | undefined {
    // By their places in the policy, whatever the order of its fields.
    this.texts.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    return words.some(Boolean) ? { words: words.slice(), texts: this.texts } : undefined;
  }
}

/** An error and the errors that caused it. */
function causesOf(error: unknown): ErrorLike[] {
  const causes: ErrorLike[] = [];
  let inner = error;
  while (typeof inner === "object" && inner !== null && causes.length < 5) {
    causes.push(inner);
    inner = (inner as ErrorLike).cause;
  }
  return causes;
}

function namesOf(error: unknown): Names {
  try {
    const types: unknown[] = [(error as ErrorLike | null)?.name];
    for (let of = error; typeof of === "object" && of !== null; of = Object.getPrototypeOf(of)) {
      types.push((of as object).constructor?.name);
    }
    return { codes: causesOf(error).flatMap(({ code, sqlState }) => [code, sqlState]), types };
  } catch {
    return { codes: [], types: [] };
  }
}

/** One bit for each alternative of the rules that has a text in that list for which the function is true. */
const bitsOf = ({ texts }: Rules, wanted: number, has: (text: string) => boolean): number =>
  texts.reduce(
    (bits, [alternative, list, text]) => (list === wanted && has(text) ? bits | (1 << alternative) : bits),
    0,
  );

function messageOf(error: unknown): string {
  try {
    const { message } = (typeof error === "object" && error !== null ? error : { message: error }) as ErrorLike;
    return typeof message === "symbol" ? "" : String(message ?? "");
  } catch {
    return "";
  }
}

const NO_CODE = 0xffffffff;

/** Writes the rules to judge by. */
function write(rules: Rules): void {
  load();
  words.set(rules.words);
}

const classifier: Classifier = {
  reader: () => new Reader(),

  judge(rules, seen, idempotent, kind, error, names) {
    // The user's code comes first: a getter may run other operations, and the core's memory is shared.
    const { codes, types } = names ?? namesOf(error);
    const message = rules.texts.some(([, list]) => list === PATTERNS) ? messageOf(error) : "";
    const coded = bitsOf(rules, CODES, (text) => codes.includes(text));
    const typed = bitsOf(rules, TYPES, (text) => types.includes(text));
    const patterns = bitsOf(rules, PATTERNS, (text) => message.includes(text));
    const { statuses, programError, unsent, shouldRetry } = seen;
    // A code that is none of the table reads as UNKNOWN.
    const grpc = seen.grpc === undefined ? NO_CODE : Math.min(integer(seen.grpc, 2), 254);
    const flags = (idempotent ? 1 : 0) | (unsent ? 2 : 0) | (programError ? 4 : 0) | (shouldRetry << 3);
    write(rules);
    return core.judge(kind, statuses[0] ?? 0, grpc, coded | (typed << 16), patterns | (flags << 16));
  },

  failure(rules, failure, facts) {
    const { status, grpc, codes, types, message, idempotent, unsent, programFault, shouldRetry } = facts;
    const seen: ErrorFacts = {
      ...NO_FACTS,
      statuses: [integer(status)],
      grpc: grpc ?? undefined,
      programError: programFault === true,
      unsent: unsent === true,
      shouldRetry: shouldRetry === true ? 1 : shouldRetry === false ? 2 : 0,
    };
    const names = { codes: codes ?? [], types: types ?? [] };
    const error = { message: message ?? "" };
    return publicFailure(judgedByRules(rules, seen, idempotent ?? true, checkedFailure(failure), error, names));
  },

  isFailure(rules, status, idempotent) {
    write(rules);
    return core.is_failure(status, idempotent ? 1 : 0) !== 0;
  },
};

useClassifier(classifier);
