/**
 * Tells what happens to all operations and breakers of the process: to listeners, to Node's `diagnostics_channel`, to
 * OpenTelemetry. Each function returns a function that ends it. Operations that are running when a listener is added are not told of.
 */
import { problem, WRONG_TYPE } from "../errors.js";
import {
  type ChangeEvent,
  type GiveUpEvent,
  type Listener,
  listeners,
  type RetryEvent,
  type SuccessEvent,
} from "../hooks.js";

export type { AttemptEvent, ChangeEvent, GiveUpEvent, Listener, RetryEvent, SuccessEvent } from "../hooks.js";

const HOOKS = ["onAttempt", "onRetry", "onSuccess", "onGiveUp", "onChange"] as const;

/** Has a listener told of all operations and breakers from now on. Returns a function that removes it. */
export function listen(listener: Listener): () => void {
  for (const hook of HOOKS) {
    const value: unknown = listener?.[hook];
    if (value !== undefined && value !== null && typeof value !== "function") throw problem(WRONG_TYPE, hook, value);
  }
  if (!HOOKS.some((hook) => listener?.[hook])) throw problem(WRONG_TYPE, "listener", listener);
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : typeof error);

/**
 * Exports to OpenTelemetry: events `holdoff.retry` and `holdoff.give_up` of the active span, counters `holdoff.attempts`,
 * `holdoff.retries` and `holdoff.breaker.changes`, and a histogram `holdoff.duration` of operations in milliseconds, whose
 * attribute `holdoff.outcome` is `success` or the reason: `exportTo(await import("@opentelemetry/api"))`.
 */
export function exportTo({ trace, metrics }: OpenTelemetry): () => void {
  const meter = metrics.getMeter("holdoff");
  const attempts = meter.createCounter("holdoff.attempts", { description: "Attempts that were started" });
  const retries = meter.createCounter("holdoff.retries", { description: "Failed attempts that were retried" });
  const changes = meter.createCounter("holdoff.breaker.changes", { description: "Changes of a breaker's state" });
  const duration = meter.createHistogram("holdoff.duration", { description: "Time of an operation", unit: "ms" });
  const ended = ({ operation, elapsedMs }: SuccessEvent | GiveUpEvent, outcome: string) =>
    duration.record(elapsedMs, { "holdoff.operation": operation, "holdoff.outcome": outcome });
  return listen({
    onAttempt: ({ operation }) => attempts.add(1, { "holdoff.operation": operation }),
    onRetry({ operation, attempt, error, kind, delayMs, cause }: RetryEvent) {
      const facts = { "holdoff.operation": operation, "holdoff.kind": kind, "holdoff.cause": cause };
      retries.add(1, facts);
      const more = { "holdoff.attempt": attempt, "holdoff.delay_ms": delayMs };
      const message: Attributes = error === undefined ? {} : { "error.message": messageOf(error) };
      trace.getActiveSpan()?.addEvent("holdoff.retry", { ...facts, ...more, ...message });
    },
    onSuccess: (event) => ended(event, "success"),
    onGiveUp(event: GiveUpEvent) {
      const { operation, attempt, error, reason } = event;
      ended(event, reason);
      const facts = { "holdoff.operation": operation, "holdoff.reason": reason, "holdoff.attempt": attempt };
      const message: Attributes = error === undefined ? {} : { "error.message": messageOf(error) };
      trace.getActiveSpan()?.addEvent("holdoff.give_up", { ...facts, ...message });
    },
    onChange: ({ name, from, to }: ChangeEvent) =>
      changes.add(1, { "holdoff.breaker": name, "holdoff.from": from, "holdoff.to": to }),
  });
}
