/**
 * Tells what happens to all operations and breakers of the process: to listeners, to Node's `diagnostics_channel`, to
 * OpenTelemetry. Each function returns a function that ends it. Operations that are running when a listener is added are not told of.
 */
import { wrongType } from "../errors.js";
import {
  type AttemptEvent,
  type ChangeEvent,
  type GiveUpEvent,
  type Hooks,
  type Listener,
  listeners,
  type RetryEvent,
} from "../hooks.js";
import type { Cause, FailureKind, StopReason } from "../words.js";

export type { AttemptEvent, ChangeEvent, GiveUpEvent, Listener, RetryEvent, SuccessEvent } from "../hooks.js";

const HOOKS = ["onAttempt", "onRetry", "onSuccess", "onGiveUp", "onChange"] as const;

/** Has a listener told of all operations and breakers from now on. Returns a function that removes it. */
export function listen(listener: Listener): () => void {
  for (const hook of HOOKS) {
    const value: unknown = listener?.[hook];
    if (value !== undefined && value !== null && typeof value !== "function")
      throw wrongType(hook, value, "a function");
  }
  if (!HOOKS.some((hook) => listener?.[hook]))
    throw wrongType("listener", listener, `an object with one of ${HOOKS.join(", ")}`);
  // A copy: the same listener may be added twice.
  const added = Object.fromEntries(HOOKS.map((hook) => [hook, listener[hook]?.bind(listener as never)])) as Listener;
  listeners.push(added);
  return () => {
    const at = listeners.indexOf(added);
    if (at >= 0) listeners.splice(at, 1);
  };
}

/** The part of `node:diagnostics_channel` that is used. */
export interface DiagnosticsChannel {
  channel(name: string): { readonly hasSubscribers: boolean; publish(message: unknown): void };
}

/**
 * Publishes events on the channels `holdoff:attempt`, `holdoff:retry`, `holdoff:success`, `holdoff:give_up` and `holdoff:change`:
 * `publish(await import("node:diagnostics_channel"))`.
 */
export function publish(diagnostics: DiagnosticsChannel): () => void {
  const to = (name: string) => {
    const channel = diagnostics.channel(`holdoff:${name}`);
    return (event: unknown) => {
      if (channel.hasSubscribers) channel.publish(event);
    };
  };
  return listen({
    onAttempt: to("attempt"),
    onRetry: to("retry"),
    onSuccess: to("success"),
    onGiveUp: to("give_up"),
    onChange: to("change"),
  });
}

type Attributes = Record<string, string | number>;

/** The part of `@opentelemetry/api` that is used. */
export interface OpenTelemetry {
  readonly trace: {
    getActiveSpan(): { addEvent(name: string, attributes: Attributes): unknown } | undefined;
  };
  readonly metrics: {
    getMeter(name: string): {
      createCounter(
        name: string,
        options: { description: string },
      ): { add(value: number, attributes: Attributes): void };
      createHistogram(
        name: string,
        options: { description: string; unit: string },
      ): { record(value: number, attributes: Attributes): void };
    };
  };
}

/** Options of {@link exportTo}. */
export interface ExportOptions {
  /** How many keys of `KeyedGuards` are values of the attribute `holdoff.breaker`, 0 unless given; the others count as `"other"`. */
  keys?: number | null | undefined;
  /**
   * Gets the text of an error as it is shown: its first 200 characters, in one line and `masked`. Returns the text to show. If it throws,
   * none is shown.
   */
  redact?: ((text: string) => string) | null | undefined;
}

/** The attributes of a request. A front names its operations by their method and origin; undefined for other operations. */
function requestOf({ operation, attempt }: AttemptEvent): Attributes | undefined {
  const [method = "", origin = "", ...more] = operation.split(" ");
  if (more.length > 0 || !/^https?:/.test(origin)) return undefined;
  try {
    const { hostname, port, protocol } = new URL(origin);
    return {
      "http.request.method": method,
      "server.address": hostname,
      "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
      "http.request.resend_count": Math.max(attempt - 1, 0),
    };
  } catch {
    return undefined;
  }
}

/** The attributes of an event of a span, beside those of its counter. */
const facts = (event: AttemptEvent): Attributes => ({
  "holdoff.attempt": event.attempt,
  "holdoff.elapsed": event.elapsedMs / 1000,
  ...requestOf(event),
});

/** The type and the text of an error, if there is one. Its properties may be those of another program, and throw. */
function shownError(error: unknown, redact: (text: string) => string): Attributes {
  if (!(error instanceof Error)) return {};
  const shown: Attributes = { "error.type": "Error", "error.message": "" };
  try {
    shown["error.type"] = shownText(String(error.name));
    shown["error.message"] = String(redact(shownText(String(error.message))));
  } catch {
    // The fault is not the operation's.
  }
  return shown;
}

/**
 * Exports to OpenTelemetry: events `holdoff.retry` and `holdoff.give_up` of the active span, and `holdoff.attempt` for the fronts of HTTP
 * clients, with `http.request.resend_count`; counters `holdoff.attempts`, `holdoff.retries`, `holdoff.successes`, `holdoff.give_ups` and `holdoff.breaker_changes`, and the histogram `holdoff.delay` in
 * seconds: `exportTo(await import("@opentelemetry/api"))`.
 */
export function exportTo({ trace, metrics }: OpenTelemetry, options: ExportOptions = {}): () => void {
  const most = options.keys ?? 0;
  if (!(Number.isInteger(most) && most >= 0)) throw wrongType("keys", most, "a whole number from 0");
  const redact = options.redact ?? ((text) => text);
  if (typeof redact !== "function") throw wrongType("redact", redact, "a function of a text");
  const keys = new Set<string>();
  const breakerOf = ({ name, key }: ChangeEvent): string => {
    if (key === undefined || keys.has(key)) return name;
    if (keys.size >= most) return "other";
    keys.add(key);
    return name;
  };
  const meter = metrics.getMeter("holdoff");
  const counter = (name: string, description: string) => meter.createCounter(`holdoff.${name}`, { description });
  const attempts = counter("attempts", "Attempts that began");
  const retries = counter("retries", "Failed attempts that another one follows");
  const successes = counter("successes", "Operations that succeeded");
  const ends = counter("give_ups", "Operations that ended without a success");
  const changes = counter("breaker_changes", "Changes of a breaker's state");
  const delays = meter.createHistogram("holdoff.delay", { description: "The sleeps before retries", unit: "s" });
  const of = (operation: string): Attributes => ({ "holdoff.operation": operation });
  const addEvent = (name: string, event: AttemptEvent, more: Attributes) =>
    trace.getActiveSpan()?.addEvent(`holdoff.${name}`, { ...more, ...facts(event) });
  return listen({
    onAttempt(event: AttemptEvent) {
      const labels = of(event.operation);
      attempts.add(1, labels);
      if (requestOf(event)) addEvent("attempt", event, labels);
    },
    onRetry(event: RetryEvent) {
      const { operation, kind, cause, delayMs } = event;
      const labels = { ...of(operation), "holdoff.kind": kind, "holdoff.cause": cause };
      retries.add(1, labels);
      delays.record(delayMs / 1000, of(operation));
      addEvent("retry", event, { ...labels, ...shownError(event.error, redact), "holdoff.delay": delayMs / 1000 });
    },
    onSuccess: ({ operation }) => successes.add(1, of(operation)),
    onGiveUp(event: GiveUpEvent) {
      const { operation, kind = "none", reason } = event;
      const labels = { ...of(operation), "holdoff.kind": kind, "holdoff.reason": reason };
      ends.add(1, labels);
      addEvent("give_up", event, { ...labels, ...shownError(event.error, redact) });
    },
    onChange: (event: ChangeEvent) =>
      changes.add(1, {
        "holdoff.breaker": breakerOf(event),
        "holdoff.before": event.before,
        "holdoff.after": event.after,
      }),
  });
}

/** How many characters of a text are shown. */
const SHOWN = 200;
/** How many characters are looked at: a secret may begin in the text that is shown and end after it. */
const LOOKED_AT = 4000;

const NAMES = "pass(?:word|wd|phrase)?|pwd|token|key|secret|auth|authorization|signature|sig|credentials?";
const SECRETS = new RegExp(
  [
    // The user and the password in a URL.
    `(://)[^\\s/@?#'"<>]*@`,
    `((?:^|[^\\w.-])[\\w.-]{0,40}?(?:${NAMES})['"]?\\s?[=:]\\s?['"]?(?:(?:Bearer|Basic|Token)\\s)?)[^&;,\\s'"<>#]+`,
    `((?:^|\\W)(?:Bearer|Basic)\\s)[\\w.~+/=-]+`,
  ].join("|"),
  "gi",
);
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * The text, with `***` in the place of the user information of URLs, of the values of fields such as `password`, `token` or `api_key`,
 * and of credentials behind `Bearer` or `Basic`.
 */
export const masked = (text: string): string =>
  text.replace(SECRETS, (_, url, field, scheme) => (url ? "://***@" : `${field ?? scheme}***`));

/** The beginning of a text in one line, masked. */
function shownText(text: string): string {
  const cut = masked(text.slice(0, LOOKED_AT));
  const escaped = (one: string) => `\\u{${one.codePointAt(0)?.toString(16)}}`;
  return cut.slice(0, SHOWN).replace(UNPRINTABLE, escaped) + (cut.length > SHOWN ? "..." : "");
}

/** How often each word came. A word that never came is missing. */
type Counts<Word extends string> = { readonly [_ in Word]?: number };

/** The numbers of the operations of one name. */
export interface OperationStatistics {
  /** Attempts that began. */
  readonly attempts: number;
  /** Failed attempts that a sleep followed. */
  readonly retries: number;
  /** Operations that succeeded. */
  readonly successes: number;
  /** Operations that ended without a success. */
  readonly giveUps: number;
  /** The sum of the sleeps, in milliseconds. */
  readonly waited: number;
  /** The retries by the kind of the failure, and by what set the delay. */
  readonly kinds: Counts<FailureKind>;
  readonly causes: Counts<Cause>;
  /** The operations that ended without a success, by reason. */
  readonly reasons: Counts<StopReason>;
}

type Writable = { -readonly [Name in keyof OperationStatistics]: OperationStatistics[Name] };

/** How many names of operations are counted by themselves. */
const MOST_NAMES = 1000;

const empty = (): Writable => ({
  attempts: 0,
  retries: 0,
  successes: 0,
  giveUps: 0,
  waited: 0,
  kinds: {},
  causes: {},
  reasons: {},
});

function count<Word extends string>(counts: { [_ in Word]?: number }, word: Word): void {
  counts[word] = (counts[word] ?? 0) + 1;
}

/**
 * Counts what happens to operations, by their names. Listen with its hooks to count all operations of the process,
 * `listen(statistics.hooks)`, or give its hooks to some: `retry(fn, statistics.hooks)`.
 */
export class Statistics {
  private readonly byName = new Map<string, Writable>();

  /** The hooks that count. */
  readonly hooks: Readonly<Required<Hooks>> = {
    onAttempt: (event) => {
      this.at(event).attempts++;
    },
    onRetry: (event: RetryEvent) => {
      const numbers = this.at(event);
      numbers.retries++;
      numbers.waited += event.delayMs;
      count(numbers.kinds, event.kind);
      count(numbers.causes, event.cause);
    },
    onSuccess: (event) => {
      this.at(event).successes++;
    },
    onGiveUp: (event: GiveUpEvent) => {
      const numbers = this.at(event);
      numbers.giveUps++;
      count(numbers.reasons, event.reason);
    },
  };

  /** The numbers of the operations of each name that had an event, of at most 1000 names; further names count as "other". They go on counting. */
  get operations(): ReadonlyMap<string, OperationStatistics> {
    return this.byName;
  }

  /** Forgets all numbers. */
  reset(): void {
    this.byName.clear();
  }

  /** The numbers by name, as they are now. */
  toJSON(): Record<string, OperationStatistics> {
    return structuredClone(Object.fromEntries(this.byName));
  }

  private at({ operation }: AttemptEvent): Writable {
    const name = this.byName.has(operation) || this.byName.size < MOST_NAMES ? operation : "other";
    let numbers = this.byName.get(name);
    if (numbers === undefined) this.byName.set(name, (numbers = empty()));
    return numbers;
  }
}
