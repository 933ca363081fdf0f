import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { HookError, outcomeOf, Policy, retry, wrap } from "holdoff";
import { resilientFetch } from "holdoff/fetch";
import { Breaker, Guards, KeyedGuards } from "holdoff/guards";
import { exportTo, listen, publish, Statistics } from "holdoff/telemetry";
import { failure, VirtualClock } from "./virtual.mjs";

const steady = { backoff: { kind: "constant", delay: 100 }, jitter: "none" };
const HOOKS = ["onAttempt", "onRetry", "onSuccess", "onGiveUp"];

/** Hooks that write down what they are told. */
function recorder() {
  const told = [];
  return { told, hooks: Object.fromEntries(HOOKS.map((hook) => [hook, (event) => void told.push([hook, event])])) };
}

test("hooks are told of attempts, retries and the success", async () => {
  const clock = new VirtualClock();
  const { told, hooks } = recorder();
  const down = Object.assign(new Error("down"), { status: 503, headers: { "retry-after": "1" } });
  const load = ({ attempt }) => {
    clock.time += 5;
    if (attempt < 2) throw down;
    return "up";
  };
  assert.equal(await clock.settled(retry(load, { ...steady, clock, ...hooks })), "up");
  const operation = "load";
  const error = { error: down, value: undefined, kind: "transient", hint: 1000 };
  assert.deepEqual(told, [
    ["onAttempt", { operation, attempt: 1, elapsedMs: 0 }],
    ["onRetry", { operation, attempt: 1, elapsedMs: 5, ...error, delayMs: 1000, cause: "hint" }],
    ["onAttempt", { operation, attempt: 2, elapsedMs: 1005 }],
    ["onSuccess", { operation, attempt: 2, elapsedMs: 1010, value: "up" }],
  ]);
});

test("hooks are told how an operation gave up", async () => {
  const down = new Error("down");
  const unknown = { value: undefined, refusedBy: undefined, retryInMs: undefined };
  const ends = async (work, options) => {
    const clock = new VirtualClock();
    const { told, hooks } = recorder();
    const result = await clock
      .settled(retry(work, { ...steady, clock, name: "job", ...hooks, ...options }))
      .catch(String);
    const [last, { elapsedMs, ...event }] = told.at(-1);
    assert.equal(last, "onGiveUp");
    return { result, event: { ...event, elapsedMs } };
  };
  const fails = () => Promise.reject(down);
  const attempts = await ends(fails, { attempts: 3 });
  const facts = { operation: "job", error: down, kind: "transient", ...unknown };
  assert.deepEqual(attempts.event, { ...facts, attempt: 3, elapsedMs: 200, reason: "attempts" });

  const late = await ends(fails, { deadline: 150 });
  assert.deepEqual(late.event, { ...facts, attempt: 2, elapsedMs: 100, reason: "deadline", retryInMs: 100 });

  const value = await ends(() => 7, { attempts: 2, whenResult: () => "throttled" });
  assert.equal(value.result, 7);
  assert.deepEqual(
    [value.event.error, value.event.value, value.event.kind, value.event.reason],
    [undefined, 7, "throttled", "attempts"],
  );

  const guards = new Guards({ breaker: { failures: 1, openFor: "10s" }, now: 0 });
  guards.breaker.record(guards.breaker.acquire(1_000_000_000).permit, "failure", 0, 1_000_000_000);
  const refused = await ends(fails, { guards });
  assert.match(refused.result, /^Refused/);
  const { attempt, kind, reason, refusedBy, retryInMs } = refused.event;
  assert.deepEqual([attempt, kind, reason, refusedBy, retryInMs], [0, undefined, "breaker", "breaker", 10_000]);

  const spent = await ends(fails, { guards: new Guards({ budget: { kind: "token", capacity: 1, cost: 5 } }) });
  assert.deepEqual([spent.event.refusedBy, spent.event.attempt, spent.event.kind], ["budget", 1, "transient"]);

  const signal = AbortSignal.abort(new Error("enough"));
  const cancelled = await ends(fails, { signal });
  assert.deepEqual([cancelled.event.reason, cancelled.event.attempt], ["cancelled", 0]);
  assert.equal(cancelled.event.error, signal.reason);
});

test("a cancellation during an attempt and during a sleep is told once", async () => {
  for (const delay of [0, 50]) {
    const clock = new VirtualClock();
    const { told, hooks } = recorder();
    const controller = new AbortController();
    const work = () => (delay ? Promise.reject(new Error("down")) : new Promise(() => {}));
    clock.setTimeout(() => controller.abort(new Error("enough")), delay);
    const error = await failure(clock.settled(retry(work, { ...steady, clock, signal: controller.signal, ...hooks })));
    assert.equal(error.message, "enough");
    const names = told.map(([hook]) => hook);
    assert.deepEqual(names, delay ? ["onAttempt", "onRetry", "onGiveUp"] : ["onAttempt", "onGiveUp"]);
    assert.equal(told.at(-1)[1].reason, "cancelled");
  }
});

test("asynchronous hooks are awaited, and their time counts", async () => {
  for (const guards of [undefined, new Guards({ breaker: { failures: 9 }, bulkhead: 1 })]) {
    const clock = new VirtualClock();
    const begun = clock.time;
    const seen = [];
    const waits = (hook) => () =>
      new Promise((resolve) => {
        seen.push([hook, clock.time - begun]);
        clock.setTimeout(() => {
          seen.push([`${hook} ends`, clock.time - begun]);
          resolve();
        }, 30);
      });
    const hooks = Object.fromEntries(HOOKS.map((hook) => [hook, waits(hook)]));
    const work = ({ attempt }) => {
      seen.push([attempt, clock.time - begun]);
      if (attempt === 1) throw new Error("down");
      return "up";
    };
    assert.equal(await clock.settled(retry(work, { ...steady, clock, ...hooks, ...(guards && { guards }) })), "up");
    seen.push(["end", clock.time - begun]);
    assert.deepEqual(seen, [
      ["onAttempt", 0],
      ["onAttempt ends", 30],
      [1, 30],
      ["onRetry", 30],
      ["onRetry ends", 60],
      ["onAttempt", 130],
      ["onAttempt ends", 160],
      [2, 160],
      ["onSuccess", 160],
      ["onSuccess ends", 190],
      ["end", 190],
    ]);
    const slow = { ...steady, clock, deadline: 100, onAttempt: waits("slow") };
    const late = await failure(clock.settled(retry(() => Promise.reject(new Error("down")), slow)));
    assert.deepEqual([outcomeOf(late).reason, outcomeOf(late).attempts], ["deadline", 1]);
    const limited = { ...steady, clock, attempts: 1, attemptTimeout: 20, onAttempt: waits("limited") };
    const over = await failure(clock.settled(retry(() => assert.fail("ran"), limited)));
    assert.equal(over.name, "TimeoutError");
  }
});

test("an asynchronous hook of a hedged operation holds up nothing else", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: { delay: "10ms" } });
  const onRetry = () => new Promise((resolve) => clock.setTimeout(resolve, 5000));
  const work = ({ attempt }) =>
    new Promise((resolve, reject) =>
      attempt === 1
        ? clock.setTimeout(() => reject(new Error("down")), 20)
        : clock.setTimeout(() => resolve(attempt), 40 * attempt),
    );
  const begun = clock.time;
  assert.equal(await clock.settled(retry(work, { ...steady, clock, guards, onRetry })), 2);
  assert.equal(clock.time - begun, 90);
});

test("an operation can be cancelled while a hook waits", async () => {
  for (const name of ["onAttempt", "onRetry"]) {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const options = { ...steady, clock, signal: controller.signal, [name]: () => new Promise(() => {}) };
    clock.setTimeout(() => controller.abort(), 7);
    const error = await failure(clock.settled(retry(() => Promise.reject(new Error("down")), options)));
    assert.equal(error, controller.signal.reason);
    assert.equal(clock.timers.size, 0);
  }
});

test("an error of a hook names the hook, and everything comes back", async () => {
  const own = new Error("boom");
  const throws = () => {
    throw own;
  };
  const down = new Error("down");
  for (const raise of [throws, async () => throws()]) {
    for (const hook of HOOKS) {
      const clock = new VirtualClock();
      const guards = new Guards({ breaker: { failures: 9 }, bulkhead: 1 });
      const works = hook === "onSuccess";
      const work = () => (works ? 1 : Promise.reject(down));
      const error = await failure(clock.settled(retry(work, { ...steady, clock, guards, [hook]: raise })));
      assert.ok(error instanceof HookError);
      assert.deepEqual([error.message, error.hook, error.cause], [`${hook}: boom`, hook, own]);
      assert.equal(error.lastError, hook === "onAttempt" || works ? undefined : down);
      assert.deepEqual([guards.bulkhead.running, clock.timers.size], [0, 0]);
      assert.equal(await clock.settled(retry(() => 2, { clock, guards })), 2);
    }
  }
});

test("a fallback comes after onGiveUp, and not after a hook that throws", async () => {
  const seen = [];
  const down = () => Promise.reject(new Error("down"));
  const fallback = () => seen.push("fallback");
  const value = await retry(down, { attempts: 1, onGiveUp: () => void seen.push("onGiveUp"), fallback });
  assert.deepEqual([value, seen], [2, ["onGiveUp", "fallback"]]);
  await failure(retry(down, { attempts: 1, onGiveUp: () => Promise.reject(new Error("boom")), fallback }));
  assert.equal(seen.length, 2);
});

test("a listener is told of all operations, until it is removed", async () => {
  const { told, hooks } = recorder();
  const work = async () => 1;
  const named = wrap(work, { attempts: 2 });
  const policy = new Policy();
  await named();
  const remove = listen(hooks);
  const guards = new Guards({ breaker: { failures: 9 } });
  await named();
  await retry(work, { name: "other" });
  await policy.retry(work);
  await retry(work, { guards });
  remove();
  await retry(work);
  assert.deepEqual(
    told.map(([hook, { operation }]) => [hook, operation]),
    ["work", "other", "work", "work"].flatMap((name) => [
      ["onAttempt", name],
      ["onSuccess", name],
    ]),
  );
  const self = { name: "self", onSuccess: () => told.push(self.name) };
  const [once, twice] = [listen(self), listen(self)];
  await named();
  once();
  await named();
  twice();
  assert.deepEqual(told.slice(8), ["self", "self", "self"]);
  for (const wrong of [undefined, {}, { onRetry: 5 }, { onretry() {} }])
    assert.throws(() => listen(wrong), { code: 101 });
});

test("hooks are checked, and so is the name", async () => {
  for (const [options, path] of [
    [{ onSuccess: 5 }, "onSuccess"],
    [{ onGiveUp: "x" }, "onGiveUp"],
    [{ onAttempt: {} }, "onAttempt"],
    [{ name: 5 }, "name"],
    [{ unref: 1 }, "unref"],
  ]) {
    const error = await failure(retry(() => assert.fail("ran"), options));
    assert.deepEqual([error.code, error.path], [101, path]);
  }
  assert.throws(() => new Breaker({ failures: 1 }, { onChange: 5 }), { path: "onChange" });
  assert.throws(() => new Guards({ breaker: { failures: 1 }, name: 5 }), { path: "name" });
});

test("a success that nobody listens to reads no clock", async () => {
  const clock = {
    now: () => assert.fail("read"),
    setTimeout: () => assert.fail("set"),
    clearTimeout: () => {},
  };
  assert.equal(await retry(() => 1, { clock }), 1);
  assert.equal(await retry(() => 1, { clock, guards: new Guards({ breaker: { failures: 3 } }) }), 1);
});

test("a breaker tells its changes to its hook and to listeners", async () => {
  const seen = [];
  const heard = [];
  const remove = listen({ onChange: ({ name, after }) => void heard.push([name, after]) });
  const clock = new VirtualClock();
  const onChange = (event) => void seen.push(event);
  const guards = new Guards({ breaker: { failures: 2, openFor: "10s" }, now: 0, name: "search", onChange });
  await failure(
    clock.settled(retry(() => Promise.reject(new Error("down")), { clock, guards, ...steady, attempts: 2 })),
  );
  clock.time += 20_000;
  assert.equal(await clock.settled(retry(() => 1, { clock, guards })), 1);
  await new Promise((resolve) => setImmediate(resolve));
  const [name, key] = ["search", undefined];
  assert.deepEqual(seen, [
    { name, key, before: "closed", after: "open", atMs: 1100 },
    { name, key, before: "open", after: "half_open", atMs: 21_100 },
    { name, key, before: "half_open", after: "closed", atMs: 21_100 },
  ]);
  const keyed = new KeyedGuards({ breaker: { failures: 1 } });
  await failure(retry(() => Promise.reject(new Error("down")), { guards: keyed.of("a.example"), attempts: 1 }));
  const single = new Breaker({ failures: 1 }, { name: "single" });
  single.isolate();
  single.reset();
  await new Promise((resolve) => setImmediate(resolve));
  remove();
  single.isolate();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(heard.slice(3), [
    ["a.example", "open"],
    ["single", "isolated"],
    ["single", "closed"],
  ]);
});

test("events are published on Node's diagnostics channels", async () => {
  const stop = publish(diagnostics);
  const seen = [];
  const note = (message, name) => seen.push([name, message.operation]);
  for (const name of ["attempt", "retry", "success", "give_up"]) diagnostics.subscribe(`holdoff:${name}`, note);
  const second = ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("down")) : attempt);
  await retry(second, { backoff: { initial: 0 } });
  await failure(retry(second, { attempts: 1 }));
  stop();
  await retry(second, { backoff: { initial: 0 } });
  assert.deepEqual(
    seen.map(([name]) => name),
    ["attempt", "retry", "attempt", "success", "attempt", "give_up"].map((name) => `holdoff:${name}`),
  );
  assert.ok(seen.every(([, operation]) => operation === "second"));
});

test("operations are exported to OpenTelemetry", async () => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const spans = new InMemorySpanExporter();
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  const metrics = new InMemoryMetricExporter(1);
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  api.metrics.setGlobalMeterProvider(provider);

  const stop = exportTo(api);
  new Breaker({ failures: 1 }, { name: "single" }).isolate();
  const load = ({ attempt }) => (attempt < 3 ? Promise.reject(new Error(`down ${attempt}`)) : attempt);
  await api.trace.getTracer("test").startActiveSpan("request", async (span) => {
    await retry(load, { backoff: { initial: 0 } });
    await failure(retry(load, { attempts: 1 }));
    span.end();
  });
  stop();
  await retry(() => 1);

  const [{ events }] = spans.getFinishedSpans();
  assert.deepEqual(
    events.map(({ name, attributes }) => [name, attributes["holdoff.attempt"], attributes["error.message"]]),
    [
      ["holdoff.retry", 1, "down 1"],
      ["holdoff.retry", 2, "down 2"],
      ["holdoff.give_up", 1, "down 1"],
    ],
  );
  await reader.forceFlush();
  const points = metrics
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    .flatMap(({ descriptor: { name }, dataPoints }) =>
      dataPoints.map(({ value, attributes }) => [
        name,
        attributes["holdoff.reason"] ?? attributes["holdoff.after"] ?? "",
        value.count ?? value,
      ]),
    );
  assert.deepEqual(points.sort(), [
    ["holdoff.attempts", "", 4],
    ["holdoff.breaker_changes", "isolated", 1],
    ["holdoff.delay", "", 2],
    ["holdoff.give_ups", "attempts", 1],
    ["holdoff.retries", "", 2],
    ["holdoff.successes", "", 1],
  ]);
  await provider.shutdown();
});

test("statistics of a thousand names are kept, and further names count as other", async () => {
  const { hooks, operations } = new Statistics();
  for (let n = 0; n < 2000; n++) await retry(() => n, { ...hooks, name: `operation ${n}` });
  await retry(() => 0, { ...hooks, name: "operation 999" });
  assert.equal(operations.size, 1001);
  assert.equal(operations.get("other").successes, 1000);
  assert.equal(operations.get("operation 999").successes, 2);
});

test("statistics count operations by name, of the process or of some calls", async () => {
  const all = new Statistics();
  const some = new Statistics();
  const stop = listen(all.hooks);
  const clock = new VirtualClock();
  const load = ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("down")) : attempt);
  const busy = () => Promise.reject(Object.assign(new Error("busy"), { status: 429, headers: { "retry-after": "1" } }));
  await clock.settled(retry(load, { ...steady, clock, ...some.hooks }));
  await failure(clock.settled(retry(busy, { ...steady, clock, attempts: 2, name: "search" })));
  await failure(retry(busy, { signal: AbortSignal.abort(), name: "search" }));
  stop();
  await clock.settled(retry(load, { ...steady, clock }));
  const loaded = {
    attempts: 3,
    retries: 2,
    successes: 1,
    giveUps: 0,
    waited: 200,
    kinds: { transient: 2 },
    causes: { backoff: 2 },
    reasons: {},
  };
  const searched = {
    attempts: 2,
    retries: 1,
    successes: 0,
    giveUps: 2,
    waited: 1000,
    kinds: { throttled: 1 },
    causes: { hint: 1 },
    reasons: { attempts: 1, cancelled: 1 },
  };
  assert.deepEqual(all.toJSON(), { load: loaded, search: searched });
  assert.deepEqual(JSON.parse(JSON.stringify(some)), { load: loaded });
  assert.equal(all.operations.get("search").giveUps, 2);
  all.reset();
  assert.equal(all.operations.size, 0);
  assert.equal(some.operations.size, 1);
});

test("hooks run in the caller's async context", async () => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const note = () => void seen.push(storage.getStore());
  const hooks = Object.fromEntries(HOOKS.map((hook) => [hook, note]));
  const second = ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("down")) : attempt);
  await storage.run(7, () => retry(second, { backoff: { initial: 1 }, ...hooks }));
  assert.deepEqual(seen, [7, 7, 7, 7]);
});

test("a listener is told by every copy of the package", async () => {
  const names = [];
  const remove = listen({ onSuccess: ({ operation }) => void names.push(operation) });
  for (const name of ["holdoff/guards", "holdoff"]) {
    await (await import(name)).retry(() => 1, { name });
    await createRequire(import.meta.url)(name).retry(() => 1, { name: `required ${name}` });
  }
  remove();
  assert.deepEqual(names, ["holdoff/guards", "required holdoff/guards", "holdoff", "required holdoff"]);
});

test("the attempts of a front are events of the span, with the count of resends", async () => {
  const events = [];
  const span = { addEvent: (name, attributes) => events.push([name, attributes]) };
  const nothing = { createCounter: () => ({ add() {} }), createHistogram: () => ({ record() {} }) };
  const stop = exportTo({ trace: { getActiveSpan: () => span }, metrics: { getMeter: () => nothing } });
  const fetchFrom = (...statuses) =>
    resilientFetch({ backoff: { initial: 0 }, fetch: async () => new Response("", { status: statuses.shift() }) });
  await fetchFrom(503, 503, 200)("https://api.test/a?b=c");
  await fetchFrom(404)("http://api.test:8080/", { method: "delete" });
  await fetchFrom(200)("http://[::1]/");
  await failure(retry(() => Promise.reject(new Error("down")), { name: "job", attempts: 1 }));
  stop();
  assert.deepEqual(
    events.map(([name, facts]) => [
      name.slice("holdoff.".length),
      facts["http.request.method"],
      facts["server.address"],
      facts["server.port"],
      facts["http.request.resend_count"],
    ]),
    [
      ["attempt", "GET", "api.test", 443, 0],
      ["retry", "GET", "api.test", 443, 0],
      ["attempt", "GET", "api.test", 443, 1],
      ["retry", "GET", "api.test", 443, 1],
      ["attempt", "GET", "api.test", 443, 2],
      ["attempt", "DELETE", "api.test", 8080, 0],
      ["give_up", "DELETE", "api.test", 8080, 0],
      ["attempt", "GET", "[::1]", 80, 0],
      ["give_up", undefined, undefined, undefined, undefined],
    ],
  );
  assert.ok(!JSON.stringify(events).includes("b=c"));
});
