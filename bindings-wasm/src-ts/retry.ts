/** `retry` and `wrap`, whose options are read once for all calls that say the same. */
import { addAbortListener, follow, removeAbortListener } from "./cancel.js";
import { type Clock, system } from "./clock.js";
import {
  ConfigError,
  durationOf,
  NOT_A_DURATION,
  NOT_AN_OBJECT,
  NOT_JSON,
  outcomeOf,
  problem,
  UNKNOWN_WORD,
  unsupported,
  wrongType,
} from "./errors.js";
import type { PolicyFields, PresetName } from "./fields.js";
import type { GuardFields } from "./guards/fields.js";
import type { RetryEvent } from "./hooks.js";
import {
  Attempt,
  type AttemptContext,
  type CallOptions,
  type CompiledPolicy,
  checkedOptions,
  checkHost,
  checkWork,
  type HostOptions,
  type Work,
} from "./host.js";
import {
  fieldsOf,
  noGuards,
  Policy,
  policyOfCall,
  run,
  withBudgetsOf,
  withBudgetsOfCalls,
  withDeadline,
  withOthers,
} from "./policy.js";
import type { Duration } from "./values.js";
import { collect, type FieldValue, isFields, NUMBER, nearest, OTHER } from "./values.js";

/** A policy that was made before, its fields, or the name of a preset; fields beside it replace those of the policy. */
type WithPolicy = { policy: Policy | PolicyFields | PresetName };

/** The fields of a policy, and how to run the calls of one function, which share the guards among the fields. */
export type WrapOptions<V = unknown, F = unknown extends V ? never : V> = HostOptions<V, F> &
  PolicyFields &
  (WithPolicy | { policy?: null | undefined });

/** A policy or its fields, and how to run one operation. Guards outlive an operation: they are in a policy or in `guards`. */
export type RetryOptions<V = unknown, F = unknown extends V ? never : V> = HostOptions<V, F> &
  Omit<PolicyFields, keyof GuardFields> &
  (WithPolicy | { policy?: null | undefined; budget?: "none" | "default" | number | null | undefined });

/** A deadline of 31 years. Milliseconds that a call has left are other ones for each call: such a policy is made once for all of them. */
const FAR = 1e12;

let byDefault: Policy | undefined;

/** The policies of calls by their fields: a program has few kinds of options, and writes them anew for each call. */
const policiesByOptions = new Map<string, Policy>();

/** Fields as text, which no other fields have; empty with a value that may look like another one as text, such as a regular expression. */
function cacheKey(fields: object): string {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") text += `${name.length + name}"${value.length + value};`;
    else if (typeof value === "number") text += `${name.length + name} ${value};`;
    else {
      const values: FieldValue[] = [];
      collect(values, "", fields, NUMBER, Infinity);
      return values.some(({ kind }) => kind === OTHER) ? "" : JSON.stringify(values);
    }
  }
  return text;
}

/** The policy of calls with these fields. */
function policyOfOptions(policy: WithPolicy["policy"] | null | undefined, fields: PolicyFields): Policy {
  const key = cacheKey(policy ? { ...fields, policy } : fields);
  const found = policiesByOptions.get(key) ?? withBudgetsOfCalls(newPolicy(policy, fields));
  if (policiesByOptions.size > 99) policiesByOptions.clear();
  if (key) policiesByOptions.set(key, found);
  return found;
}

/** Makes a policy of fields, which replace those of another policy or of a preset. */
function newPolicy(policy: WithPolicy["policy"] | null | undefined, fields: PolicyFields): Policy {
  if (policy === undefined || policy === null) return new Policy(fields);
  return withOthers(policy instanceof Policy ? policy : new Policy(policy), fields);
}

/** The policy of one operation, whose options may have everything in them. All of it is checked. Guards outlive an operation. */
function policyOfOperation<V, F>(options: WrapOptions<V, F>): CompiledPolicy {
  const { policy } = options;
  if (policy instanceof Policy) return policyOfCall(policy, options);
  const fields = fieldsOf(options);
  const { deadline } = fields;
  const isNumber = typeof deadline === "number";
  const base = policyOfOptions(policy, isNumber ? { ...fields, deadline: FAR } : fields);
  checkHost(options);
  if (base.guardFields && !options.guards && !base.guardFields.every(({ path }) => path.startsWith("nested")))
    throw noGuards("options");
  return isNumber ? (withDeadline(base, deadline) ?? withBudgetsOf(base, newPolicy(policy, fields))) : base;
}

/** The policy of a function, which has guards and budgets of its own. */
export function policyOfFunction<V, F>(options: WrapOptions<V, F>): Policy {
  const policy = newPolicy(options.policy, fieldsOf(options));
  checkHost(options);
  return policy;
}

/**
 * Runs `fn` until it succeeds or the policy says stop; then the last error comes out as it was thrown, with its outcome
 * attached (see {@link outcomeOf}), or the last value that `whenResult` refused. Options that break a rule reject with a {@link ConfigError} before `fn` runs.
 */
export function retry<T>(fn: Work<T>, options?: RetryOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
  try {
    checkWork(fn);
    if (options === undefined) return run(fn, (byDefault ??= withBudgetsOfCalls(new Policy())), undefined);
    const own = checkedOptions(options);
    // Many say nothing but a policy, and that is quick to see.
    if (own.policy instanceof Policy && Object.keys(own).length === 1) return run(fn, own.policy, undefined);
    return run(fn, policyOfOperation(own), own);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** A function that retries another one, with its arguments and its `this`. */
export interface Wrapped<This, Args extends readonly unknown[], T> {
  (this: This, ...args: Args): Promise<Awaited<T>>;
  /**
   * The same function with these options and fields instead of its own. The others stay, and so do the budget for retries and the guards.
   * Throws a {@link ConfigError} at once.
   */
  withOptions(options: WrapOptions<Awaited<T>, Awaited<T>>): Wrapped<This, Args, T>;
}

/** An asynchronous function, overloads and type parameters included. */
type Asynchronous = (...args: never[]) => Promise<unknown>;

/** A function that retries `fn`, with its arguments and its `this`. Throws a {@link ConfigError} at once. */
export function wrap<F extends Asynchronous>(
  fn: F,
  options?: WrapOptions<Awaited<ReturnType<F>>, Awaited<ReturnType<F>>>,
): F & Pick<Wrapped<ThisParameterType<F>, Parameters<F>, ReturnType<F>>, "withOptions">;
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options?: WrapOptions<Awaited<T>, Awaited<T>>,
): Wrapped<This, Args, T>;
export function wrap<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  options: WrapOptions<Awaited<T>, Awaited<T>> = {},
): Wrapped<This, Args, T> {
  checkWork(fn);
  const own = checkedOptions(options);
  return wrapped(fn, policyOfFunction(own), own);
}

function wrapped<This, Args extends readonly unknown[], T>(
  fn: (this: This, ...args: Args) => T,
  policy: Policy,
  options: WrapOptions<Awaited<T>, Awaited<T>>,
): Wrapped<This, Args, T> {
  const named = checkedOptions({ ...options, name: options.name ?? fn.name });
  const call = function (this: This, ...args: Args): Promise<Awaited<T>> {
    return run(() => fn.call(this, ...args), policy, named);
  };
  const withOptions = (others: typeof options) => {
    const own = checkedOptions(others);
    return wrapped(fn, changed(policy, own), checkedOptions({ ...options, ...own }));
  };
  return Object.assign(call, { withOptions });
}

/** The policy that options make of another one. */
function changed<V, F>(policy: Policy, options: WrapOptions<V, F>): Policy {
  if (options.policy) return policyOfFunction(options);
  checkHost(options);
  return withOthers(policy, fieldsOf(options));
}

/**
 * Makes the attempt with a function, once. Resolves with the function's value if the operation ends with it, and with undefined if
 * another attempt follows. Rejects with the error of an operation that gives up.
 */
export type AttemptAt<V = unknown> = <T extends V>(fn: Work<T | PromiseLike<T>>) => Promise<T | undefined>;

/** An event that happens once. */
class Change {
  notify = () => {};
  readonly notified = new Promise<void>((resolve) => {
    this.notify = resolve;
  });
}

/** An attempt that the operation waits for. */
interface Asked {
  readonly context: AttemptContext;
  readonly end: (result: unknown) => void;
}

/**
 * Attempts at a block of code, one for each turn of `for await`: `for await (const attempt of attempts(options)) { await attempt(fn) }`.
 * The loop ends after the attempt that succeeds. An error that ends the operation comes out of the attempt, or of the loop if it was
 * no attempt's: a refusal or a cancellation. A loop that is left after a failed attempt throws that attempt's error.
 */
export function attempts<V = unknown>(
  callerOptions: RetryOptions<V, V> = {},
): AsyncGenerator<AttemptAt<V>, void, undefined> {
  const options = checkedOptions(callerOptions);
  checkHost(options);
  return turns(options as RetryOptions<unknown, unknown>) as AsyncGenerator<AttemptAt<V>, void, undefined>;
}

async function* turns(options: RetryOptions<unknown, unknown>): AsyncGenerator<AttemptAt, void, undefined> {
  const leaving = new AbortController();
  let change = new Change();
  let asked: Asked | undefined;
  /** The attempt whose block runs. */
  let running: AttemptContext | undefined;
  /** True once the operation has ended, and once the caller knows how. */
  let isOver = false;
  let isTold = false;

  const changes = (): void => {
    change.notify();
    change = new Change();
  };
  const ask = (context: AttemptContext): Promise<unknown> =>
    new Promise((end) => {
      if (running && !running.signal.aborted) {
        const rule = "cannot be used here: a block of code does not run twice at once";
        leaving.abort(unsupported("hedge", rule));
      }
      running = context;
      asked = { context, end };
      changes();
    });
  const onRetry = (event: RetryEvent): unknown => {
    running = undefined;
    changes();
    return options.onRetry?.(event);
  };
  const signal = follow(leaving, options.signal);
  const operation = retry(ask, { ...options, name: options.name ?? "", signal, onRetry });
  const over = (): void => {
    isOver = true;
    changes();
  };
  operation.then(over, over);
  const leave = async (): Promise<void> => {
    const left = new DOMException("the loop was left", "AbortError");
    leaving.abort(left);
    await operation.catch(() => {});
    const lastError = outcomeOf(left)?.lastError;
    if (lastError !== undefined) throw lastError;
  };

  try {
    for (;;) {
      while (asked === undefined && !isOver) await change.notified;
      if (isOver && !isTold) await operation;
      if (asked === undefined || isOver) return;
      const { context, end } = asked;
      let isMade = false;
      yield (async (fn) => {
        if (isMade) throw new Error(`attempt ${context.attempt} was made already`);
        isMade = true;
        asked = undefined;
        end((async () => fn(context))());
        await change.notified;
        isTold = isOver;
        return isOver ? operation : undefined;
      }) as AttemptAt;
      if (!isMade) throw new Error(`attempt ${context.attempt} was not made: await attempt(fn) in the loop`);
    }
  } finally {
    if (!isOver) await leave();
  }
}

type Stream<T> = AsyncIterable<T> | Iterable<T>;
type Items<T> = AsyncIterator<T, unknown> | Iterator<T, unknown>;

/** How to run a stream. */
export type StreamOptions<T> = RetryOptions<T | undefined> & {
  /**
   * True for an item after which the stream is retried no more. The items before it (a greeting, a ping) are held back, and come out
   * with it; those of a failed attempt never do. Unless given, the first item is one.
   */
  commit?: ((item: T) => boolean) | null | undefined;
  /**
   * How long the stream may be silent, before its first item and between two. A longer silence aborts the attempt's signal and is a
   * timeout: retried up to the item that commits, and thrown after it.
   */
  idle?: Duration | null | undefined;
};

/**
 * The items of the stream that `fn` returns. An attempt ends with the first item that commits, or with the end of the stream; until
 * then it is retried. Later errors come out as they are, because a stream that began anew would repeat its items. The deadline and the
 * attempt timeout end with the attempt; the option `signal` ends the stream also later. Leaving the stream closes that of `fn`.
 */
export function retryStream<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  callerOptions: StreamOptions<T> = {},
): AsyncGenerator<T, void, undefined> {
  checkWork(fn);
  const options = checkedOptions(callerOptions);
  checkHost(options);
  for (const name of ["whenResult", "fallback"] as const) {
    if (options[name]) throw unsupported(name, "cannot judge or replace a stream");
  }
  const { commit, idle } = options;
  if (commit && typeof commit !== "function") throw wrongType("commit", commit, "a function");
  const limit = idle ?? Infinity;
  const span = limit === Infinity ? limit : durationOf(limit);
  if (span === undefined) throw problem(NOT_A_DURATION, "idle", idle);
  return itemsOf(fn, options, Number(span) / 1e6);
}

const nothing = () => {};

/** The stream of one attempt. */
class Reader<T> {
  private readonly context: AttemptContext;
  private readonly idle: number;
  private readonly clock: Clock;
  private items: Items<T> | undefined;
  private leave: (reason: unknown) => void = nothing;

  constructor(context: AttemptContext, idle: number, clock: Clock) {
    this.context = context;
    this.idle = idle;
    this.clock = clock;
    addAbortListener(context.signal, this);
  }

  /** The attempt's signal has aborted. A stream may not listen to it. */
  cancel(): void {
    this.leave(this.context.signal.reason);
  }

  async open(fn: Work<Stream<T> | PromiseLike<Stream<T>>>): Promise<void> {
    const stream = await this.answer(() => fn(this.context));
    this.items = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
  }

  async next(): Promise<IteratorResult<T, unknown>> {
    this.context.signal.throwIfAborted();
    const items = this.items as Items<T>;
    // A stream that throws is closed. A stream that does not answer cannot be closed.
    this.items = undefined;
    const step = await this.answer(() => items.next(), items);
    if (!step.done) this.items = items;
    return step;
  }

  /** Leaves no listener, and closes the stream. */
  async close(): Promise<void> {
    removeAbortListener(this.context.signal, this);
    await this.items?.return?.();
  }

  /** An answer of the stream, unless it is silent for too long, or the signal aborts. */
  private answer<A>(ask: () => A | PromiseLike<A>, items?: Items<T>): Promise<A> {
    const { clock, context, idle } = this;
    return new Promise<A>((resolve, reject) => {
      let timer: unknown;
      const end = () => {
        this.leave = nothing;
        if (timer !== undefined) clock.clearTimeout(timer);
      };
      this.leave = (reason) => {
        end();
        reject(reason);
        Attempt.abort(context as Attempt, reason);
        (async () => items?.return?.())().catch(nothing);
      };
      const error = () => new DOMException(`the stream was silent for ${idle} ms`, "TimeoutError");
      if (idle < Infinity) timer = clock.setTimeout(() => this.leave(error()), idle);
      (async () => ask())().then(resolve, reject).finally(end);
    });
  }
}

async function* itemsOf<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  options: StreamOptions<T>,
  idle: number,
): AsyncGenerator<T, void, undefined> {
  const { commit } = options;
  let found: { reader: Reader<T>; held: T[]; isDone: boolean } | undefined;
  const begin = async (context: AttemptContext): Promise<T | undefined> => {
    const reader = new Reader<T>(context, idle, options.clock ?? system);
    const held: T[] = [];
    try {
      await reader.open(fn);
      for (;;) {
        const { done, value } = (await reader.next()) as IteratorResult<T, undefined>;
        // An attempt that came too late is not the stream.
        context.signal.throwIfAborted();
        if (!done) held.push(value);
        if (!done && commit && !commit(value)) continue;
        found = { reader, held, isDone: !!done };
        return held.at(-1);
      }
    } catch (error) {
      await reader.close();
      throw error;
    }
  };
  await retry(begin, retryOptions(options, fn.name) as never);
  const { reader, held, isDone } = found as NonNullable<typeof found>;
  try {
    yield* held;
    while (!isDone) {
      const { done, value } = (await reader.next()) as IteratorResult<T, undefined>;
      if (done) return;
      yield value;
    }
  } finally {
    await reader.close();
  }
}

/** The options for `retry`: without those of streams, and with the name of the function. */
function retryOptions<T>(options: StreamOptions<T>, name: string): object {
  const { commit, idle, ...own } = options;
  return { ...own, name: options.name ?? name };
}

/** Policies by name. Operations look theirs up at each call, so they hear of a new one. */
export class Registry {
  private readonly policies = new Map<string, Policy>();

  /** Defines or replaces a policy: a `Policy`, its fields or the name of a preset. Throws a {@link ConfigError} about a wrong field. */
  define(name: string, policy: Policy | PolicyFields | PresetName): Policy {
    if (typeof name !== "string") throw wrongType("name", name, "a text");
    const made = policy instanceof Policy ? policy : new Policy(policy);
    this.policies.set(name, made);
    return made;
  }

  /** The policy with that name. Throws a {@link ConfigError} with the nearest name if the registry has none. */
  get(name: string): Policy {
    const policy = this.policies.get(name);
    if (policy) return policy;
    if (typeof name !== "string") throw wrongType("name", name, "a text");
    const known = nearest(name, [...this.policies.keys()]);
    throw new ConfigError(
      UNKNOWN_WORD,
      "unknown_word",
      "name",
      ` = ${JSON.stringify(name)}`,
      "is no policy's name",
      known,
    );
  }

  /**
   * Defines policies by an object, or its JSON, of a policy document for each name. Throws a {@link ConfigError} about the first
   * document that is wrong, and changes nothing then. A policy whose document says what it said before stays, with its guards.
   */
  load(documents: string | object): void {
    const loaded: [string, Policy][] = [];
    for (const [name, document] of Object.entries(parsed(documents))) {
      const policy = under(name, () => Policy.fromJson(document as object));
      if (JSON.stringify(policy) !== JSON.stringify(this.policies.get(name))) loaded.push([name, policy]);
    }
    for (const [name, policy] of loaded) this.policies.set(name, policy);
  }

  /** Runs `fn` as `retry` does, under the policy that the name has now. */
  async retry<T>(name: string, fn: Work<T>, options?: CallOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
    return this.get(name).retry(fn, options);
  }

  /** A function that retries `fn`, with its arguments and its `this`, under the policy that the name has at each call. */
  wrap<This, Args extends readonly unknown[], T>(
    name: string,
    fn: (this: This, ...args: Args) => T,
    options?: CallOptions<Awaited<T>, Awaited<T>>,
  ): (this: This, ...args: Args) => Promise<Awaited<T>> {
    checkWork(fn);
    const own = { ...options, name: options?.name ?? fn.name };
    const run = (work: Work<T>) => this.retry(name, work, own);
    return function (this: This, ...args: Args) {
      return run(() => fn.apply(this, args as never));
    };
  }
}

function parsed(documents: unknown): object {
  let value = documents;
  try {
    if (typeof value === "string") value = JSON.parse(value);
  } catch (cause) {
    throw problem(NOT_JSON, "", documents, cause);
  }
  if (!isFields(value)) throw problem(NOT_AN_OBJECT, "", value);
  return value;
}

/** The error about a document names its policy, too. */
function under<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { code, word, path, rule, message, nearest } = error;
    const value = path ? message.slice(path.length, message.indexOf(`: ${rule}`)) : "";
    throw new ConfigError(code, word, path ? `${name}.${path}` : name, value, rule, nearest, error);
  }
}
