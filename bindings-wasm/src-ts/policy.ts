/** Policies: what to do after a failure, checked once. */
import { readNumber, SPAN, takePolicy, takeRules, wasm, writeDouble, writeName, writeText } from "./core.js";
import { ConfigError, configError, NOT_AN_OBJECT, NOT_JSON, NOT_SUPPORTED, problem, WRONG_TYPE } from "./errors.js";
import { classifyBy, type Facts, type Failure, isFailure, judge, type Rules } from "./failure.js";
import type { PolicyFields, PresetName } from "./fields.js";
import type { Guards } from "./guards/guards.js";
import { maker } from "./guards/maker.js";
import { type CompiledPolicy, checkBeside, checkHost, checkWork, type HostOptions, type Work } from "./host.js";
import { run } from "./run.js";
import {
  collect,
  EMPTY,
  type FieldValue,
  type GuardFields,
  isFields,
  LIST,
  NOTHING,
  NUMBER,
  snake,
  TEXT,
  UNITLESS,
} from "./values.js";
import type { FailureKind } from "./words.js";

/** A retry policy: immutable, to be shared by any number of operations. */
export class Policy implements CompiledPolicy {
  /** @internal */
  readonly words: Uint32Array;
  /** @internal */
  readonly limit: number;
  /** @internal */
  readonly rules: Rules | undefined;
  /** @internal */
  readonly guardFields?: GuardFields;
  private made: Guards | undefined;

  /** From fields, or the name of a preset. Throws a {@link ConfigError} that names field, value and rule. */
  constructor(fields: PolicyFields | PresetName = {}) {
    const { words, limit, rules, guardFields } = build(
      typeof fields === "string" ? { preset: fields } : fields,
      inCode,
    );
    this.words = words;
    this.limit = limit;
    this.rules = rules;
    if (guardFields) this.guardFields = guardFields;
  }

  /**
   * From a policy document: JSON as text, or what was read from it. It is the same in every language, so its names are in
   * snake_case and its times are text with a unit.
   */
  static fromJson(document: string | object): Policy {
    return policyOf(build(typeof document === "string" ? parsed(document) : document, inDocument));
  }

  /** How long the first attempt may take, in milliseconds: the smaller of deadline and attempt timeout, or Infinity. */
  get firstLimit(): number {
    return this.limit / 1e6;
  }

  /**
   * Its guards, which all operations under it share: made once, of the sections of guards among its fields or its preset's;
   * undefined without such. Throws a {@link ConfigError} unless `holdoff/guards` was imported.
   */
  get guards(): Guards | undefined {
    if (this.guardFields === undefined) return undefined;
    return (this.made ??= guardsOf(this.guardFields));
  }

  /** Runs `fn` until it succeeds or the policy says stop. */
  retry<T>(fn: Work<T>, options?: HostOptions<Awaited<T>>): Promise<Awaited<T>> {
    try {
      checkWork(fn);
      if (options !== undefined) {
        checkBeside(options);
        checkHost(options);
      }
      return run(fn, this, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The failure of an error under this policy: the default classification, then `retryOn`. */
  classify(error: unknown, options: { idempotent?: boolean } = {}): Failure {
    return classifyBy(this.rules, error, options.idempotent ?? true);
  }

  /** The failure as `retryOn` judges it by the facts of its error. */
  judge(failure: Failure | FailureKind, facts: Facts = {}): Failure {
    return judge(this.rules, failure, facts);
  }

  /** True if an HTTP answer is a failure: from 400 on, and below where `retryOn` lists its status (a 202 for "not yet"). */
  isFailure(status: number, options: { idempotent?: boolean } = {}): boolean {
    return isFailure(this.rules, status, options.idempotent ?? true);
  }

  /** No object of fields, not even to another copy of this package. */
  get [Symbol.toStringTag](): string {
    return "Policy";
  }
}

interface Built {
  readonly words: Uint32Array;
  readonly limit: number;
  readonly rules: Rules | undefined;
  readonly guardFields?: GuardFields;
}

/** A policy from what it is made of. */
export const policyOf = (built: Built): Policy => Object.assign(Object.create(Policy.prototype) as Policy, built);

function guardsOf(guardFields: GuardFields): Guards {
  if (maker) return maker.make(guardFields) as Guards;
  const path = guardFields instanceof Uint32Array ? "guards" : (guardFields[0] as FieldValue).path;
  throw new ConfigError(NOT_SUPPORTED, "not_supported", path, "", 'needs import "holdoff/guards"');
}

/** How names and numbers are read. */
interface Reading {
  name(name: string): string;
  /** The types of numbers, as the core numbers them. */
  readonly number: number;
}

const inCode: Reading = { name: snake, number: NUMBER };
const inDocument: Reading = { name: (name) => name, number: UNITLESS };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problem(NOT_JSON, "", text, cause);
  }
}

function build(fields: unknown, reading: Reading): Built {
  if (!isFields(fields)) {
    throw reading === inCode ? problem(WRONG_TYPE, "policy", fields) : problem(NOT_AN_OBJECT, "", fields);
  }
  // All is read before the core hears of it: a getter may make a policy, too, and the core's memory is shared.
  const values: FieldValue[] = [];
  collect(values, "", fields, reading.number, 0);
  const core = wasm();
  core.policy_start();
  const patterns: [string[], string[]] = [[], []];
  const guardFields: FieldValue[] = [];
  for (const field of values) {
    if (field.kind !== LIST && set(field, values, reading, patterns)) {
      guardFields.push({ ...field, path: reading.name(field.path) });
    }
  }
  const answer = core.policy_build() >>> 0;
  if (answer !== 0 && answer !== GUARDED) throw configError(answer, "", (path) => valueAt(values, path));
  if (answer !== 0) guardFields.push(...values.filter(({ path, kind }) => path === "preset" && kind === TEXT));
  const limit = readNumber(SPAN);
  const rules = takeRules();
  const built: Built = {
    words: takePolicy(),
    limit,
    rules: rules.some(Boolean) ? { words: rules, patterns } : undefined,
  };
  if (guardFields.length > 0) maker?.check(guardFields);
  return guardFields.some(({ kind }) => kind !== NOTHING && kind !== EMPTY) ? { ...built, guardFields } : built;
}

// The bits of a value that the core keeps; anything else is the length of a problem.
const FOR_GUARDS = 0x80000000;
const BEGINS = 2;
const PATTERN = 4;
const GUARDED = FOR_GUARDS + 8;

/** Sets a field of the policy; true when it is none of the policy's, but of a guard's. */
function set(
  field: FieldValue,
  values: readonly FieldValue[],
  reading: Reading,
  patterns: [string[], string[]],
): boolean {
  const { path, value, kind } = field;
  let size = 0;
  if (kind === TEXT) size = writeText(value as string);
  else if (kind === reading.number) writeDouble(value as number);
  const answer = wasm().policy_set(writeName(reading.name(path)), kind, size) >>> 0;
  if (answer === 0) return false;
  if (answer === GUARDED) return true;
  if (answer < FOR_GUARDS) throw configError(answer, path, (known) => valueAt(values, known) ?? value);
  const list = patterns[answer & 1] as string[];
  if (answer & BEGINS) list.length = 0;
  if (answer & PATTERN) list.push(value as string);
  return false;
}

/** The value of the field with this path, under any of its names. */
function valueAt(values: readonly FieldValue[], path: string): unknown {
  const byPath = new Map(values.map(({ path, value }) => [snake(path), value]));
  const short = path.replace(/\.(kind|mode)$/, "");
  return byPath.get(path) ?? byPath.get(short) ?? byPath.get(path.replace(/^(backoff.*)\.initial$/, "$1.delay"));
}
