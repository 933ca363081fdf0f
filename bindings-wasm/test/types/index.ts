/** What consumers see: compiled, never run. */

import * as openTelemetry from "@opentelemetry/api";
import {
  attempts,
  type Failure,
  type givenUp,
  type HostOptions,
  httpFailure,
  type Outcome,
  outcomeOf,
  Policy,
  type RetryEvent,
  type RetryOptions,
  retry,
  retryStream,
  type Step,
  seedAt,
  type stop,
  wrap,
} from "holdoff";
import { Breaker, GuardedCall, Guards, KeyedGuards } from "holdoff/guards";
import { exportTo } from "holdoff/telemetry";
import { failing, withoutBudgets } from "holdoff/testing";
import { type Due, Timers, Wheel } from "holdoff/timers";
import {
  Call,
  type Decision,
  Event,
  explain,
  fromForm,
  Gates,
  type Layered,
  LoopBackoff,
  type PeriodicStep,
  type Recorded,
  Recorder,
  type ReplayError,
  Retry,
  type Row,
  replay,
  restoreGuards,
  type resumeCall,
  type SavedGuards,
  Schedule,
  save,
  saveGuards,
  WaitBackoff,
} from "holdoff/tools";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const check = <A, B>(_: Same<A, B> extends true ? true : false): void => {};

const text = retry(async () => "text");
check<typeof text, Promise<string>>(true);
const plain = retry(() => 5 as number, { attempts: 5 });
check<typeof plain, Promise<number>>(true);
const maybe = retry(({ attempt }) => (attempt > 1 ? Promise.resolve(1 as number) : "two"));
check<typeof maybe, Promise<number | "two">>(true);
const never = retry((): never => {
  throw new Error("no");
});
check<typeof never, Promise<never>>(true);

retry(({ attempt, signal }) => {
  check<typeof attempt, number>(true);
  check<typeof signal, AbortSignal>(true);
});

declare class Client {
  base: string;
  get(path: string, deep?: boolean): Promise<Uint8Array>;
}
const get = wrap(Client.prototype.get, { deadline: "30s" });
check<Parameters<typeof get>, [path: string, deep?: boolean | undefined]>(true);
check<ReturnType<typeof get>, Promise<Uint8Array>>(true);
const add = wrap(function (this: Client, n: number) {
  return this.base + n;
});
check<ThisParameterType<typeof add>, Client>(true);

declare function readFile(path: string): Promise<string>;
declare function readFile(path: string, raw: true): Promise<Uint8Array>;
const reads = wrap(readFile, { attempts: 2 });
check<ReturnType<typeof reads>, Promise<Uint8Array>>(true);
const asText = reads("a");
check<typeof asText, Promise<string>>(true);
const asBytes = reads.withOptions({ attempts: 3 })("a", true);
check<typeof asBytes, Promise<Uint8Array>>(true);
const firstOf = wrap(async <T>(all: T[]) => all[0]);
check<Awaited<ReturnType<typeof firstOf<number>>>, number | undefined>(true);

const controller = new AbortController();
const fields = {
  backoff: { kind: "exponential", initial: 100, factor: 2, max: "5s" },
  jitter: { kind: "additive", factor: 0.1 },
  attempts: "forever",
  deadline: null,
  minAttempt: undefined,
  attemptTimeout: "none",
  hint: { mode: "floor", max: "60s", over: "clamp" },
} as const;
for await (const attempt of attempts({ attempts: 5 })) {
  const page = await attempt(async ({ signal }) => (signal.aborted ? 1 : "page"));
  check<typeof page, 1 | "page" | undefined>(true);
}
attempts({ whenResult: (value: number) => value > 1 });
const items = retryStream(async ({ signal }) => [signal.aborted], { attempts: 5 });
check<typeof items, AsyncGenerator<boolean, void, undefined>>(true);
// @ts-expect-error: no such option
attempts({ atempts: 5 });

const policy = new Policy(fields);
check<Awaited<ReturnType<typeof policy.retry<Promise<Date>>>>, Date>(true);
retry(() => 1, {
  ...fields,
  signal: controller.signal,
  seed: 7n,
  when: (error) => {
    check<typeof error, unknown>(true);
    return error instanceof RangeError ? "transient" : { kind: "throttled", hint: "2s" };
  },
  onRetry: (event) => check<typeof event, RetryEvent<number>>(true),
  onAttempt: async ({ attempt }) => check<typeof attempt, number>(true),
  onSuccess: ({ value }) => check<typeof value, number>(true),
  onGiveUp: ({ value, refusedBy, retryInMs }) => {
    check<typeof value, number | undefined>(true);
    check<typeof refusedBy, "budget" | "breaker" | "limiter" | "bulkhead" | undefined>(true);
    check<typeof retryInMs, number | undefined>(true);
  },
});
exportTo(openTelemetry);
retry(() => 1, { policy, when: () => true });
retry(() => 1, { policy: { attempts: 2 } });

const inVariable = { attempts: 5, deadline: "30s", backoff: { initial: "100ms", max: "5s" } };
retry(() => 1, inVariable);
const withWords = { jitter: "none", backoff: { kind: "constant", delay: "1s" } } satisfies RetryOptions;
retry(() => 1, withWords);
// @ts-expect-error: full jitter has no factor
retry(() => 1, { jitter: { kind: "full", factor: 0.5 } });
// @ts-expect-error: guards outlive an operation
retry(() => 1, { breaker: { failures: 3 } });
wrap(() => 1, { breaker: { failures: 3 } });
retry(() => 1, { attempts: 4, budget: "none" });
// @ts-expect-error: a budget outlives an operation, too
retry(() => 1, { budget: { kind: "token", capacity: 5 } });
new Policy({ budget: "none" }).retry(() => 1, { key: "https://example.org:443" });
// @ts-expect-error: a key is text
retry(() => 1, { key: 7 });
const end: () => void = withoutBudgets();
end();
const failsOnce = failing(1, new Error(), (n: number) => n);
check<ReturnType<typeof failsOnce>, number>(true);
check<typeof failsOnce.calls, number>(true);
retry(() => 1, { policy, attempts: 3, deadline: 100 });
policy.retry(() => 1, { attempts: 3, deadline: "1s", onRetry: ({ wake }) => wake() });
// @ts-expect-error: guards outlive a call
policy.retry(() => 1, { breaker: { failures: 3 } });
policy.retry(({ once, signal }) => fetch("/", { body: once("x"), signal }));
check<ReturnType<typeof givenUp>, boolean>(true);
check<ReturnType<typeof stop>, never>(true);
retryStream(async () => ["a"], { commit: (item) => item.length > 1, idle: "5s" });
// @ts-expect-error: documents alone have names in snake_case
retry(() => 1, { min_attempt: 5 });
// @ts-expect-error: a result of another type
retry(async () => ({ id: 1 }), { fallback: () => "x" });
retry(async () => ({ id: 1 }), { fallback: async () => ({ id: 2 }) });
// @ts-expect-error: a misspelt field
retry(() => 1, { atempts: 3 });
// @ts-expect-error: a word that is none
retry(() => 1, { jitter: "ful" });
// @ts-expect-error: a seed is no text
retry(() => 1, { seed: "7" });
// @ts-expect-error: not a kind
retry(() => 1, { when: () => "often" });
// @ts-expect-error: a policy object is no plain object
Call.begin({ attempts: 3 }, 1, 0);
// @ts-expect-error: calls are made by begin and underway
new Call();
// @ts-expect-error: attempts are whole numbers or a word
new Policy({ attempts: "many" });

const outcome = outcomeOf(new Error("x"));
check<typeof outcome, Outcome | undefined>(true);
check<Outcome["lastError"], unknown>(true);
check<Outcome["description"], string | undefined>(true);

const [call, first] = Call.begin(policy, 7, 0n);
check<typeof first, Step<bigint>>(true);
const step = call.fail(1, 5, "transient");
check<typeof step, Step<number>>(true);
if (step.kind === "sleep") check<typeof step.until, number>(true);
if (step.kind === "stop" && step.outcome === "gave_up") step.reason satisfies string;
const decision = new Retry(policy, 7, 0).onFailure(0, { kind: "timeout" });
check<typeof decision, Decision<number>>(true);
const delays = [...new Schedule(policy, 7)];
check<typeof delays, number[]>(true);
const exact = [...new Schedule(policy, 7n)];
check<typeof exact, bigint[]>(true);
const failed = httpFailure(503, "5");
check<typeof failed, Failure | undefined>(true);
const seed = seedAt(1, 2n);
check<typeof seed, bigint>(true);

new Policy("kubernetes");
new Policy({ preset: "polly", backoff: [{ kind: "list", delays: [5, "1s"] }, "exponential"], cap: "clip" });
new Policy({
  rules: [
    { if: { types: ["CardDeclined"] }, retry: false },
    {
      if: [{ http: [429, "5xx"] }, { grpc: ["UNAVAILABLE", 14], idempotent: false }],
      attempts: 8,
      backoff: { initial: "1s" },
    },
  ],
});
retry(() => 1, { policy: "aws-standard-2.1", idempotent: false });
// @ts-expect-error: no such preset
new Policy("kubernets");
// @ts-expect-error: no such class
new Policy({ rules: [{ if: { http: ["6xx"] } }] });
// @ts-expect-error: a rule that never retries has nothing else
new Policy({ rules: [{ retry: false, attempts: 3 }] });

const bytes = save(call, 5n);
check<typeof bytes, Uint8Array>(true);
check<ReturnType<typeof resumeCall>, Call>(true);
const loopBackoff = new LoopBackoff(new WaitBackoff({ duration: "1s", factor: 2 }), { afterQuiet: 5000n });
check<ReturnType<typeof loopBackoff.next<bigint>>, bigint>(true);
const closed = new Gates<URL>().failure(new URL("http://a"), 5);
check<typeof closed, number>(true);
check<PeriodicStep<bigint>["kind"], "run" | "sleep" | "wait" | "stop">(true);
declare const layered: Layered;
check<typeof layered.state.stoppedBy, "inner" | "outer" | "cap" | undefined>(true);
const { rows } = explain({ attempts: 3 }, { after: "throttled" });
check<typeof rows, readonly Row[]>(true);
const { policy: read } = fromForm("grpc", "{}");
check<typeof read, Policy>(true);

const answer = retry(({ signal }) => fetch("http://a", { signal }), {
  whenResult: (response) => {
    check<typeof response, Response>(true);
    return !response.ok;
  },
  onRetry: ({ value }) => check<typeof value, Response | undefined>(true),
});
check<typeof answer, Promise<Response>>(true);
const annotated = retry(async () => new Response(), { whenResult: (response: Response) => response.status === 202 });
check<typeof annotated, Promise<Response>>(true);
const wider = retry(async () => new Response(), { whenResult: (value: unknown) => value === undefined });
check<typeof wider, Promise<Response>>(true);
const job = wrap(async (id: string) => ({ id, done: true as boolean }), {
  whenResult: ({ done }) => (done ? undefined : { kind: "transient", hint: "2s" }),
});
check<ReturnType<typeof job>, Promise<{ id: string; done: boolean }>>(true);
const polled = policy.retry(() => 1 as number, { whenResult: (n) => n < 5 && "throttled" });
check<typeof polled, Promise<number>>(true);
const shared: RetryOptions = { attempts: 5, onRetry: (event: RetryEvent) => event.error };
const withShared = retry(async () => new Date(), shared);
check<typeof withShared, Promise<Date>>(true);
const forAnswers: HostOptions<Response> = { whenResult: ({ ok }) => !ok };
const withAnswers = policy.retry(async () => new Response(), forAnswers);
check<typeof withAnswers, Promise<Response>>(true);
check<Outcome["lastResult"], unknown>(true);
// @ts-expect-error: the result is no text
retry(() => 1 as number, { whenResult: (text: string) => text === "" });
retry(() => 1, { whenResult: async (n) => n > 1, when: async (error) => error !== undefined });

const guards = new Guards({
  budget: { kind: "token", capacity: 500 },
  breaker: new Breaker({ failures: 5, openFor: "30s" }),
  limiter: { limit: 10, per: "1s", refusal: "wait" },
  bulkhead: 10,
  hedge: "50ms",
  stretch: 2,
  adaptive: "cubic",
  seed: 7n,
});
check<typeof guards.breaker, Breaker | undefined>(true);
const guarded = retry(async () => 1 as number, { guards, fallback: () => 0, attempts: 3 });
check<typeof guarded, Promise<number>>(true);
check<Policy["guards"], Guards | undefined>(true);
new Policy({ breaker: { openFor: { kind: "exponential", initial: 5 } }, nested: { mode: "cap", cap: 9 } });
const kept: SavedGuards = saveGuards(guards);
restoreGuards(new Guards({ budget: "ratio" }), kept, 5n);
const { permit, retryAt } = new Breaker().acquire(0n);
check<typeof permit, number | undefined>(true);
check<typeof retryAt, bigint | undefined>(true);
const keyed = new KeyedGuards<URL>({ breaker: {} }, { most: 100, idle: "1m" });
retry(({ token }) => token?.header, { guards: keyed.of(new URL("http://a")) });
const [under] = GuardedCall.begin(policy, guards, 7, 0n);
check<ReturnType<typeof under.tick<bigint>>, Step<bigint>>(true);
// @ts-expect-error: a typing error in a field
new Breaker({ failurs: 1 });
// @ts-expect-error: guards are made, not described
retry(() => 1, { guards: { breaker: {} } });

const [recorder, recorded] = Recorder.begin(new Policy(), 7, 5n, { task: "charge", guards: new Guards() });
check<typeof recorder, Recorder>(true);
check<typeof recorded, Recorded<bigint>>(true);
const later = recorder.fail(1, 5, { kind: "throttled", hint: "1s" }, "busy");
check<typeof later, Recorded<number>>(true);
check<typeof recorder.step, Step<bigint>>(true);
for (const event of later.events) {
  check<typeof event, Event>(true);
  check<typeof event.at, string>(true);
  if (event.type === "RETRY_SCHEDULED") check<typeof event.backoffDelayMs, number>(true);
  // @ts-expect-error only some events have it
  event.until;
  // @ts-expect-error what happened has happened
  event.sequence = 5;
}
check<ReturnType<typeof Event.readAll>, Event[]>(true);
check<ReturnType<typeof replay>, Recorder>(true);
replay(new Policy(), Event.toBytes(later.events[0] as Event), { mode: "verify", anyPolicy: true });
replay(new Policy(), ["{}", {}]);
check<ReplayError["computed"], Event | undefined>(true);
// @ts-expect-error no such mode
replay(new Policy(), [], { mode: "check" });

const timers = new Timers({ unref: true });
check<ReturnType<typeof timers.sleep>, Promise<void>>(true);
retry(() => 1, { clock: timers });
const due = new Wheel().pop(5n);
check<typeof due, Due<bigint> | undefined>(true);
