/** Policies, which are checked once, and the start of operations under them. */
import { budgetsOfCalls, CAPACITY_OF_LOOPS, LoopBudgets } from "./budgets.js";
import { system } from "./clock.js";
import { COUNT_RANGE } from "./codes.js";
import { Unguarded } from "./engine.js";
import {
  ConfigError,
  durationOf,
  NOT_AN_OBJECT,
  NOT_JSON,
  needs,
  problem,
  shown,
  unsupported,
  wrongType,
} from "./errors.js";
import { classifierFor, classifyBy, isFailure, type RulesReader } from "./failure.js";
import type { PolicyFields, PresetName } from "./fields.js";
import type { Facts, Failure } from "./hooks.js";
import { hasHooks } from "./hooks.js";
import {
  ATTEMPT,
  around,
  type CallOptions,
  type CompiledPolicy,
  checkedOptions,
  checkHost,
  checkWork,
  first,
  GAVE_UP,
  type GuardSet,
  type HostOptions,
  isHostField,
  maker,
  SLEEP,
  WAIT,
  type Work,
} from "./host.js";
import type { Given } from "./hot.js";
import { checkModule, policyOf, takeModule, wordsWithDeadline } from "./hot.js";
import { Operation } from "./operation.js";
import {
  isGuard,
  isOfRules,
  isRare,
  type Limits,
  NEEDS_RULES,
  NO_LIMIT,
  Options,
  policies,
  type ReadPolicy,
  type Rules,
} from "./options.js";
import { Steps } from "./steps.js";
import { BUDGET_KIND, BUDGET_LIMIT, BUDGET_OF_LOOPS } from "./table.js";
import type { Nanos, Time } from "./values.js";
import {
  BARE,
  bareCopy,
  collect,
  copyOf,
  EMPTY,
  type FieldValue,
  type GuardField,
  isFields,
  LIST,
  LONGEST_NAME,
  NOTHING,
  NUMBER,
  snake,
  TEXT,
  UNITLESS,
} from "./values.js";
import { CAUSES, type Cause, type FailureKind, REASONS, type StopReason } from "./words.js";

/** A retry policy: immutable, to be shared by any number of operations. */
export class Policy implements CompiledPolicy {
  /** @internal */
  declare readonly numbers: readonly Given[] | Uint32Array;
  /** @internal */
  declare readonly limits: Limits;
  /** @internal */
  declare readonly rules: Rules | undefined;
  /** @internal */
  declare readonly guardFields: readonly GuardField[] | undefined;
  /** @internal */
  readonly budgets: LoopBudgets | undefined;
  /** Its fields and its guards, which are no part of it: policies that decide the same are equal. */
  readonly #fields: PolicyFields;
  #guards: GuardSet | undefined;
  #words: Uint32Array | undefined;

  /** From fields, or the name of a preset. Throws a {@link ConfigError} that names field, value and rule. */
  constructor(fields?: PolicyFields | PresetName);
  /** @internal */
  constructor(fields: unknown, reading: Reading);
  constructor(fields: unknown = {}, reading = inCode) {
    const given = typeof fields === "string" && reading === inCode ? { preset: fields } : fields;
    const { loops, ...built } = build(given, reading);
    Object.assign(this, built);
    this.budgets = loops && new LoopBudgets(loops.capacity);
    this.#fields = copyOf(given) as PolicyFields;
  }

  /**
   * From a policy document: JSON as text, or what was read from it. It is the same in every language, so its names are in
   * snake_case and its times are text with a unit.
   */
  static fromJson(document: string | object): Policy {
    return new Policy(typeof document === "string" ? parsed(document) : document, inDocument);
  }

  /**
   * What the core has of it, made when it first decides.
   * @internal
   */
  get words(): Uint32Array {
    return (this.#words ??= this.numbers instanceof Uint32Array ? this.numbers : policyOf(this.numbers));
  }

  /** @internal */
  get limit(): number {
    return this.limits.limit;
  }

  /** @internal */
  get deadline(): number {
    return this.limits.deadline;
  }

  /** How long the first attempt may take, in milliseconds: the smaller of deadline and attempt timeout, or Infinity. */
  get firstLimit(): number {
    return this.limit < NO_LIMIT ? this.limit / 1e6 : Infinity;
  }

  /**
   * Its guards, which all operations under it share: made once, of the sections of guards among its fields or its preset's;
   * undefined without such. Throws a {@link ConfigError} unless `holdoff/guards` was imported.
   */
  get guards(): GuardSet | undefined {
    if (this.guardFields === undefined) return undefined;
    return (this.#guards ??= guardsOf(this.guardFields));
  }

  /**
   * The same with other values of these fields. It has the same budgets for retries and, unless a field is a guard's, the same guards.
   * @internal
   */
  withFields(fields: PolicyFields): Policy {
    const policy = withBudgetsOf(this, new Policy({ ...this.toJSON(), ...fields }));
    if (!Object.keys(fields).some((name) => isGuard(snake(name)))) policy.#guards = this.guards;
    return policy;
  }

  /** Runs `fn` until it succeeds or the policy says stop. Fields among the options replace those of the policy, for this call alone. */
  retry<T>(fn: Work<T>, options?: CallOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
    try {
      checkWork(fn);
      if (options === undefined) return run(fn, this, options);
      const own = checkedOptions(options);
      return run(fn, policyOfCall(this, own), own);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Begins an operation whose attempts and sleeps another loop makes, such as that of a client with retries of its own. Say at once how each
   * attempt ended. There are no guards but the budget, no attempt timeout, and no promise is awaited: neither of hooks nor of `when`. `failures` is the number of attempts that failed before.
   */
  start(options: CallOptions = {}, failures = 0): Steps {
    const own = checkedOptions(options);
    const policy = policyOfCall(this, own);
    return new Steps(new Unguarded(policy, own, policy.budgets?.refusals ?? 0), policy, own, failures);
  }

  /** The failure of an error under this policy: the default classification, then its rules. */
  classify(error: unknown, options: { idempotent?: boolean } = {}): Failure {
    return classifyBy(this.rules, error, options.idempotent ?? true);
  }

  /** The failure as the rules judge it by the facts of its error; needs `holdoff/rules`. */
  judge(failure: Failure | FailureKind, facts: Facts = {}): Failure {
    return classifierFor("judge").failure(this.rules, failure, facts);
  }

  /** True if an HTTP answer is a failure: from 400 on, and below where a rule that retries names its status (a 202 for "not yet"). */
  isFailure(status: number, options: { idempotent?: boolean } = {}): boolean {
    return isFailure(this.rules, status, options.idempotent ?? true);
  }

  /**
   * Its fields, which `new Policy` reads in a worker or another process. `toJson` of `holdoff/tools` writes a document that
   * other languages read, too.
   */
  toJSON(): PolicyFields {
    return copyOf(this.#fields) as PolicyFields;
  }

  /** No object of fields, not even to another copy of this package. */
  get [Symbol.toStringTag](): string {
    return "Policy";
  }
}

interface Built extends ReadPolicy {
  readonly guardFields: readonly GuardField[] | undefined;
  /** The budgets that loops bring; undefined if they bring none. */
  readonly loops: { readonly capacity: number | undefined } | undefined;
}

function guardsOf(guardFields: readonly GuardField[]): GuardSet {
  if (maker) return maker.make(guardFields);
  throw needs((guardFields[0] as FieldValue).path, "guards");
}

/** How names and numbers are read. */
interface Reading {
  name(name: string): string;
  /** The type of numbers. */
  readonly number: number;
  /** The longest name that is not cut. */
  readonly longest: number;
}

const inCode: Reading = { name: snake, number: NUMBER, longest: Infinity };
const inDocument: Reading = { name: (name) => name, number: UNITLESS, longest: LONGEST_NAME };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problem(NOT_JSON, "", text, cause);
  }
}

function build(fields: unknown, reading: Reading): Built {
  if (!isFields(fields)) {
    throw reading === inCode
      ? wrongType("policy", fields, "an object of fields, or the name of a preset")
      : problem(NOT_AN_OBJECT, "", fields);
  }
  const values: FieldValue[] = [];
  collect(values, "", fields, reading.number, reading.longest);
  const guardFields: GuardField[] = [];
  const own: FieldValue[] = [];
  for (const field of values) {
    if (field.kind === LIST) continue;
    const name = reading.name(field.path);
    if (isGuard(name)) guardFields.push({ ...field, path: name, numbers: undefined });
    else own.push(field);
  }
  const read = readFields(own, reading);
  if (!takeModule(read.limits.needs)) throw needs("backoff.kind", "policies");
  const preset = own.find(({ path, kind }) => path === "preset" && kind === TEXT);
  const numbers = preset && policies?.presets[preset.value as string];
  if (numbers && Object.keys(numbers).length > 0) guardFields.push({ ...preset, numbers });
  if (guardFields.length > 0) maker?.check(guardFields);
  checkModule();
  const all = guardFields.filter(({ kind }) => kind !== NOTHING && kind !== EMPTY);
  const isBudgeted = all.some(namesBudget);
  const capacity = capacityOf(all);
  // A budget of loops is no guard, so it needs no import.
  const given = capacity === undefined ? all : all.flatMap(withoutBudget);
  const isBrought = capacity !== undefined || !(isBudgeted || (preset && preset.value !== "default"));
  const built = { ...read, loops: isBrought ? { capacity } : undefined };
  // Nor does the word "none" alone.
  const isNone = given.every((field) => namesBudget(field) && field.value === "none");
  return { ...built, guardFields: isNone ? undefined : given };
}

/** The capacity of a budget of loops that is named: a number, or the kind "default"; undefined for other budgets and none. */
function capacityOf(fields: readonly GuardField[]): number | undefined {
  const named = fields.filter((field) => namesBudget(field) && !field.numbers);
  const preset = fields.find(({ numbers }) => numbers?.[BUDGET_KIND] === BUDGET_OF_LOOPS)?.numbers;
  const {
    budget,
    "budget.kind": kind = budget,
    "budget.capacity": size,
    ...others
  } = bareCopy(Object.fromEntries(named.map(({ path, value }) => [path, value])));
  const ofPreset = kind === undefined ? preset : undefined;
  const isDefault = (kind === "default" || ofPreset) && Object.keys(others).length === 0;
  const usual = ofPreset?.[BUDGET_KIND + 1] ?? CAPACITY_OF_LOOPS;
  const capacity: unknown = typeof budget === "number" ? budget : isDefault ? (size ?? usual) : undefined;
  const isCount = Number.isInteger(capacity) && (capacity as number) >= 0 && (capacity as number) <= 1e6;
  if (capacity === undefined || isCount) return capacity as number | undefined;
  const rule = "must be a whole number from 0 to 1000000";
  throw new ConfigError(COUNT_RANGE, "count_range", "budget.capacity", ` = ${shown(capacity)}`, rule);
}

/** Removes the budget from the fields of a guard or of a preset. Returns no field if nothing remains. */
function withoutBudget(field: GuardField): GuardField[] {
  if (!field.numbers) return namesBudget(field) ? [] : [field];
  const others = Object.entries(field.numbers).filter(([at]) => +at < BUDGET_KIND || +at > BUDGET_LIMIT);
  return others.length > 0 ? [{ ...field, numbers: Object.fromEntries(others) }] : [];
}

/** True for a field of the budget, and for a preset that has one. */
const namesBudget = ({ path, numbers }: GuardField): boolean =>
  /^budget(\.|$)/.test(path) || numbers?.[BUDGET_KIND] !== undefined;

/** Reads the fields of a policy: plain fields and rules here, others in the core, with the module of `holdoff/policies`. */
function readFields(own: readonly FieldValue[], reading: Reading): ReadPolicy {
  let Reader = Options;
  let rules: RulesReader | undefined;
  for (const field of own) {
    const name = reading.name(field.path);
    if (isOfRules(name, field.kind)) rules ??= classifierFor(field.path).reader();
    if (!isRare(name, field)) continue;
    if (policies === undefined) throw needs(field.path, "policies");
    Reader = policies.Reader;
  }
  const options = new Reader(reading === inDocument);
  for (const field of own) {
    const name = reading.name(field.path);
    if (!rules?.set(name, field) && name !== "rules") options.set(name, field);
  }
  options.rules = rules?.build();
  return options.build();
}

/** The policy with the budgets of another one, unless one of them has none or another capacity. */
export function withBudgetsOf(other: Policy, policy: Policy): Policy {
  if (policy.budgets && other.budgets && policy.budgets.capacity === other.budgets.capacity) {
    (policy as { budgets: LoopBudgets }).budgets = other.budgets;
  }
  return policy;
}

/** The policy with the budgets of all calls of this process that are made with options alone. */
export function withBudgetsOfCalls(policy: Policy): Policy {
  if (policy.budgets) (policy as { budgets: LoopBudgets }).budgets = budgetsOfCalls(policy.budgets);
  return policy;
}

/** A policy with another deadline, for one operation: the words are written when it fails, because most operations do not. */
function policyWithDeadline(policy: Policy, deadline: Nanos): CompiledPolicy {
  let made: Uint32Array | undefined;
  return {
    __proto__: policy,
    deadline: Number(deadline),
    limit: Math.min(Number(deadline), policy.limits.timeout),
    get words(): Uint32Array {
      return (made ??= wordsWithDeadline(policy.words, deadline));
    },
    get guards() {
      return policy.guards;
    },
  } as object as CompiledPolicy;
}

/**
 * The same policy with another deadline: milliseconds or text. Undefined where the deadline is none, or where rules decide about it. An
 * operation has no time from the beginning if its deadline is 0 or below, or leaves an attempt less than it must have.
 */
export function withDeadline(policy: Policy, deadline: unknown): CompiledPolicy | undefined {
  const nanos = durationOf(typeof deadline === "number" ? Math.max(deadline, 0) : deadline);
  if (nanos === undefined) return undefined;
  if (nanos <= policy.limits.minAttempt) return policyWithDeadline(policy, 0);
  return policy.limits.needs === NEEDS_RULES ? undefined : policyWithDeadline(policy, nanos);
}

/** The fields of a policy among options, without null and undefined. */
export function fieldsOf(options: object): PolicyFields {
  const fields: Record<string, unknown> = Object.create(BARE);
  for (const [name, value] of Object.entries(options)) {
    if (name !== "policy" && !isHostField(name) && value !== undefined && value !== null) fields[name] = value;
  }
  return fields;
}

/** The policy with these fields in place of its own. */
export const withOthers = (policy: Policy, fields: PolicyFields): Policy =>
  Object.keys(fields).length > 0 ? policy.withFields(fields) : policy;

/** The error about guards among the options of one call. */
export const noGuards = (path: string): ConfigError =>
  unsupported(path, "must be in a Policy or in `guards`: guards outlive a call");

/** The policy of one call, whose options may have fields of their own. */
export function policyOfCall<V, F>(policy: Policy, options: HostOptions<V, F> & { policy?: unknown }): CompiledPolicy {
  if ((options.policy ?? policy) !== policy)
    throw wrongType("policy", options.policy, "left out: a policy has one already");
  checkHost(options);
  const { deadline, ...fields } = fieldsOf(options);
  const name = Object.keys(fields).find((name) => isGuard(snake(name)));
  if (name !== undefined) throw noGuards(name);
  const base = withOthers(policy, fields);
  return deadline === undefined ? base : (withDeadline(base, deadline) ?? base.withFields({ deadline }));
}

export function run<T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  if (!needsNoCore(policy, options)) return runWatched(fn, policy, options);
  const noted = refusalsOf(policy);
  return first(fn, (error) => operation(fn, policy, options, noted).beginFailed(error), rewardOf(policy, options));
}

/** The number of the latest refusal of the policy's budgets. */
const refusalsOf = (policy: CompiledPolicy): number => policy.budgets?.refusals ?? 0;

/** Tells the policy's budgets of a success; undefined while none of them lacks tokens. */
const rewardOf = <V>(policy: CompiledPolicy, options: HostOptions<V, V> | undefined): ((value: V) => V) | undefined =>
  policy.budgets?.size ? rewardBy(policy.budgets, options) : undefined;

const rewardBy =
  <V>(budgets: LoopBudgets, options: HostOptions<V, V> | undefined) =>
  (value: V) => {
    budgets.succeed(options?.key ?? "", 0, options?.clock ?? system);
    return value;
  };

/** True if nothing is asked, heard or timed before something fails. */
const needsNoCore = <V, F>(policy: CompiledPolicy, options: HostOptions<V, F> | undefined): boolean =>
  policy.limit === Infinity &&
  policy.guardFields === undefined &&
  (options === undefined || !(options.guards || options.signal || options.whenResult || options.token)) &&
  !around.current?.() &&
  !hasHooks(options);

function runWatched<T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
): Promise<Awaited<T>> {
  const guards = options?.guards ?? (policy.guardFields && policy.guards);
  return guards ? guards.run(fn, policy, options) : operation(fn, policy, options, refusalsOf(policy)).begin();
}

const operation = <T>(
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
  noted: number,
): Operation<T> => new Operation(new Unguarded(policy, options, noted), fn, policy, options);

/** The next step of a loop. */
export type Step<T extends Time = number> =
  | {
      /** Run the operation, then say how it ended. */
      readonly kind: "attempt";
      readonly ticket: number;
      readonly attempt: number;
      /** When to abort it and report a timeout. */
      readonly abortAt: T;
      /** When to tick although it still runs. */
      readonly wakeAt: T;
    }
  /** Nothing is in flight: wait until then, then tick. */
  | { readonly kind: "sleep"; readonly until: T; readonly cause: Cause }
  /** An attempt is in flight: keep what you are doing. */
  | { readonly kind: "wait"; readonly until: T }
  | { readonly kind: "stop"; readonly outcome: "succeeded" | "cancelled" }
  | { readonly kind: "stop"; readonly outcome: "gave_up"; readonly reason: StopReason; readonly retryAt: T };

/** Reads a ticket. An unknown number becomes 0, the ticket of no attempt; another type is an error. */
export function ticketOf(ticket: number | bigint): number {
  if (typeof ticket !== "number" && typeof ticket !== "bigint")
    throw wrongType("ticket", ticket, "a number or a bigint");
  const known = Number(ticket);
  return Number.isSafeInteger(known) && known > 0 ? known : 0;
}

/** The words of a policy that came from a program without types. */
export function wordsOf(policy: Policy): Uint32Array {
  if (!(policy instanceof Policy)) throw wrongType("policy", policy, "a Policy");
  return policy.words;
}

/** A step from its flat form; `time` reads its first or, asked for false, its second time. */
export function stepOf<T extends Time>(codes: number, attempt: number, time: (first: boolean) => T): Step<T> {
  switch (codes & 255) {
    case ATTEMPT:
      return { kind: "attempt", ticket: attempt, attempt, abortAt: time(true), wakeAt: time(false) };
    case SLEEP:
      return { kind: "sleep", until: time(true), cause: CAUSES[codes >>> 24] as Cause };
    case WAIT:
      return { kind: "wait", until: time(true) };
    default:
      break;
  }
  const outcome = (codes >> 8) & 255;
  if (outcome !== GAVE_UP) return { kind: "stop", outcome: outcome === 1 ? "succeeded" : "cancelled" };
  return { kind: "stop", outcome: "gave_up", reason: REASONS[(codes >> 16) & 255] as StopReason, retryAt: time(true) };
}
