/**
 * Tells what happens to all operations and breakers of the process: to listeners, to Node's `diagnostics_channel`, to
 * OpenTelemetry. Each function returns a function that ends it. Operations that are running when a listener is added are not told of.
 */
import { wrongType } from "../errors.js";
import { type ChangeEvent, type GiveUpEvent, type Listener, listeners, type RetryEvent } from "../hooks.js";

export type { AttemptEvent, ChangeEvent, GiveUpEvent, Listener, RetryEvent, SuccessEvent } from "../hooks.js";
export { type OperationStatistics, Statistics } from "./statistics.js";

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

/** The attributes of an event of a span, beside those of its counter. */
function facts({ attempt, elapsedMs, error }: RetryEvent | GiveUpEvent): Attributes {
  const failed = error instanceof Error ? { "error.type": error.name, "error.message": error.message } : {};
  return { "holdoff.attempt": attempt, "holdoff.elapsed": elapsedMs / 1000, ...failed };
}

/**
 * Exports to OpenTelemetry: events `holdoff.retry` and `holdoff.give_up` of the active span, counters `holdoff.attempts`,
 * `holdoff.retries`, `holdoff.successes`, `holdoff.give_ups` and `holdoff.breaker_changes`, and the histogram `holdoff.delay` in
 * seconds: `exportTo(await import("@opentelemetry/api"))`.
 */
export function exportTo({ trace, metrics }: OpenTelemetry): () => void {
  const meter = metrics.getMeter("holdoff");
  const counter = (name: string, description: string) => meter.createCounter(`holdoff.${name}`, { description });
  const attempts = counter("attempts", "Attempts that began");
  const retries = counter("retries", "Failed attempts that another one follows");
  const successes = counter("successes", "Operations that succeeded");
  const ends = counter("give_ups", "Operations that ended without a success");
  const changes = counter("breaker_changes", "Changes of a breaker's state");
  const delays = meter.createHistogram("holdoff.delay", { description: "The sleeps before retries", unit: "s" });
  const of = (operation: string): Attributes => ({ "holdoff.operation": operation });
  return listen({
    onAttempt: ({ operation }) => attempts.add(1, of(operation)),
    onRetry(event: RetryEvent) {
      const { operation, kind, cause, delayMs } = event;
      const labels = { ...of(operation), "holdoff.kind": kind, "holdoff.cause": cause };
      retries.add(1, labels);
      delays.record(delayMs / 1000, of(operation));
      trace.getActiveSpan()?.addEvent("holdoff.retry", { ...labels, ...facts(event), "holdoff.delay": delayMs / 1000 });
    },
    onSuccess: ({ operation }) => successes.add(1, of(operation)),
    onGiveUp(event: GiveUpEvent) {
      const { operation, kind = "none", reason } = event;
      const labels = { ...of(operation), "holdoff.kind": kind, "holdoff.reason": reason };
      ends.add(1, labels);
      trace.getActiveSpan()?.addEvent("holdoff.give_up", { ...labels, ...facts(event) });
    },
    onChange: ({ name, before, after }: ChangeEvent) =>
      changes.add(1, { "holdoff.breaker": name, "holdoff.before": before, "holdoff.after": after }),
  });
}
