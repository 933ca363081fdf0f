import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { ConfigError, Policy, seed, seedAt } from "holdoff";
import { Call, Retry, Schedule } from "holdoff/tools";
import "holdoff/rules";
import "holdoff/policies";

const policy = new Policy({ jitter: "none", attempts: 3, deadline: "10s" });
const NEVER = 2n ** 64n - 1n;
const code = (number) => (error) => error instanceof ConfigError && error.code === number;

test("a call says its steps", () => {
  const [call, first] = Call.begin(policy, 7, 0);
  assert.deepEqual(first, { kind: "attempt", ticket: 1, attempt: 1, abortAt: 1e10, wakeAt: Infinity });
  assert.deepEqual(call.fail(1, 5, "transient"), { kind: "sleep", until: 100_000_005, cause: "backoff" });
  assert.deepEqual(call.tick(100_000_005).ticket, 2);
  assert.deepEqual(call.succeed(2, 100_000_006), { kind: "stop", outcome: "succeeded" });
  assert.deepEqual(call.cancel(100_000_007), { kind: "stop", outcome: "succeeded" });
});

test("bigints come back as bigints", () => {
  const [call, first] = Call.begin(policy, 7n, 2n ** 60n);
  assert.equal(first.abortAt, 2n ** 60n + 10n ** 10n);
  assert.equal(first.wakeAt, NEVER);
  const step = call.fail(1n, 2n ** 60n, { kind: "throttled", hint: 3n });
  assert.deepEqual(step, { kind: "sleep", until: 2n ** 60n + 100_000_000n, cause: "backoff" });
});

test("calls out of order and old tickets change nothing", () => {
  const call = Call.underway(policy, 7, 0);
  const sleep = call.fail(1, 0, "transient");
  for (const ticket of [0, 1, 2, 99, -1, 1.5, Number.NaN, Infinity, 2 ** 60, 1n, -1n, 1n << 70n]) {
    assert.deepEqual(call.fail(ticket, 0, "permanent"), sleep);
    assert.deepEqual(call.succeed(ticket, 0), sleep);
  }
  assert.deepEqual(call.tick(0), sleep);
  assert.equal(call.tick(sleep.until).ticket, 2);
  assert.deepEqual(call.tick(sleep.until), { kind: "wait", until: Infinity });
  assert.deepEqual(call.cancel(0), { kind: "stop", outcome: "cancelled" });
  assert.deepEqual(call.fail(2, 0, "transient"), { kind: "stop", outcome: "cancelled" });
});

test("a failure whose hint is worked out by another machine is the call's own", () => {
  const failure = {
    kind: "transient",
    get hint() {
      Call.begin(policy, 9, 5e9);
      return 250;
    },
  };
  const until = (hint) => Call.underway(policy, 7, 0).fail(1, 1000, hint).until;
  assert.equal(until(failure), until({ kind: "transient", hint: 250 }));
  const retried = (hint) => new Retry(policy, 7, 0).onFailure(1000, hint).until;
  assert.equal(retried(failure), retried({ kind: "transient", hint: 250 }));
});

test("clocks that run backwards or to the end saturate", () => {
  const call = Call.underway(policy, 7, 1000);
  assert.equal(call.fail(1, 0, "transient").until, 100_001_000);
  assert.equal(call.tick(Infinity).reason, "deadline");
  const free = new Policy({ jitter: "none" });
  const late = Call.underway(free, 7, NEVER);
  assert.equal(late.fail(1, NEVER, "transient").until, NEVER - 1n);
});

test("what is no time, no seed, no failure and no policy is refused", () => {
  const [call] = Call.begin(policy, 7, 0);
  const retry = new Retry(policy, 7, 0);
  for (const now of [-1, Number.NaN, 2 ** 53, -Infinity, "0", null, undefined, {}, -1n, 1n << 64n]) {
    assert.throws(() => call.tick(now), code(203));
    assert.throws(() => call.fail(1, now, "transient"), code(203));
    assert.throws(() => call.succeed(1, now), code(203));
    assert.throws(() => call.cancel(now), code(203));
    assert.throws(() => retry.onFailure(now, "transient"), code(203));
    assert.throws(() => Call.begin(policy, 7, now), code(203));
    assert.throws(() => new Retry(policy, 7, now), code(203));
  }
  for (const odd of [-1, 0.5, Number.NaN, 2 ** 53, Infinity, "7", null, undefined, {}, -1n, 1n << 64n]) {
    assert.throws(() => Call.begin(policy, odd, 0), code(113));
    assert.throws(() => Call.underway(policy, odd, 0), code(113));
    assert.throws(() => new Retry(policy, odd, 0), code(113));
    assert.throws(() => new Schedule(policy, odd), code(113));
    assert.throws(() => seedAt(odd, 0), code(113));
    if (odd !== null && odd !== undefined) assert.throws(() => seed(odd), code(113));
  }
  for (const failure of ["", "often", 1, null, undefined, {}, { kind: 1 }, { kind: "" }]) {
    assert.throws(() => call.fail(1, 0, failure), code(204));
    assert.throws(() => retry.onFailure(0, failure), code(204));
  }
  for (const hint of [{}, [], true, "soon", () => {}]) {
    assert.throws(() => call.fail(1, 0, { kind: "transient", hint }), code(103));
  }
  for (const odd of [undefined, null, {}, { attempts: 3 }, new Uint32Array(22)]) {
    assert.throws(() => Call.begin(odd, 7, 0), code(101));
    assert.throws(() => new Retry(odd, 7, 0), code(101));
    assert.throws(() => new Schedule(odd, 7), code(101));
    assert.throws(() => Schedule.baseAt(odd, 7), code(101));
  }
  for (const n of [-1, 0.5, Number.NaN, 2 ** 32, "1"]) assert.throws(() => Schedule.baseAt(policy, n), code(203));
  for (const ticket of [undefined, null, "1", {}]) assert.throws(() => call.succeed(ticket, 0), code(101));
  assert.deepEqual(call.tick(0), { kind: "wait", until: Infinity }, "and nothing has changed");
});

const span = fc.integer({ min: 0, max: 1_000_000 });
const policies = fc
  .record({
    backoff: fc.oneof(
      fc.record({
        kind: fc.constant("exponential"),
        initial: span,
        factor: fc.double({ min: 0, max: 9, noNaN: true }),
      }),
      fc.record({ kind: fc.constant("linear"), initial: span, increment: span }),
      fc.record({ kind: fc.constant("constant"), delay: span }),
    ),
    jitter: fc.oneof(
      fc.constantFrom("none", "full", "equal"),
      fc.record({
        kind: fc.constantFrom("additive", "proportional"),
        factor: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    ),
    attempts: fc.oneof(fc.constant("forever"), fc.integer({ min: 1, max: 9 })),
    deadline: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
  })
  .map(
    ({ backoff, ...rest }) =>
      new Policy({ ...rest, backoff: backoff.delay === undefined ? { ...backoff, max: "none" } : backoff }),
  );
const seeds = fc.bigInt({ min: 0n, max: NEVER });
const kinds = fc.constantFrom("transient", "throttled", "timeout", "permanent");
const hints = fc.oneof(fc.constant(undefined), fc.constant("never"), fc.integer({ min: 0, max: 120_000 }));
const failures = fc.record({ kind: kinds, hint: hints });
const events = fc.array(
  fc.record({
    op: fc.constantFrom("fail", "fail", "fail", "tick", "tick", "succeed", "cancel"),
    ticket: fc.integer({ min: 0, max: 9 }),
    passed: fc.integer({ min: 0, max: 2 ** 42 }),
    failure: failures,
  }),
  { maxLength: 30 },
);

const apply = (call, { op, ticket, failure }, now) =>
  op === "fail" ? call.fail(ticket, now, failure) : op === "succeed" ? call.succeed(ticket, now) : call[op](now);

/** A step with its bigints as numbers. */
const rounded = (step) =>
  Object.fromEntries(
    Object.entries(step).map(([name, value]) => [
      name,
      typeof value !== "bigint" ? value : value === NEVER ? Infinity : Number(value),
    ]),
  );

test("numbers and bigints give the same steps", () => {
  fc.assert(
    fc.property(policies, seeds, events, (policy, seed, events) => {
      const [numbers, first] = Call.begin(policy, seed, 0);
      const [bigints, same] = Call.begin(policy, seed, 0n);
      assert.deepEqual(rounded(same), first);
      let now = 0;
      for (const event of events) {
        now += event.passed;
        assert.deepEqual(rounded(apply(bigints, event, BigInt(now))), apply(numbers, event, now));
      }
    }),
  );
});

test("calls that take turns decide as if each were alone", () => {
  const sessions = fc.array(fc.tuple(policies, seeds, events), { minLength: 2, maxLength: 5 });
  const run = ([call, session], at) => apply(call, session[2][at], session[2][at].passed);
  fc.assert(
    fc.property(sessions, (sessions) => {
      const begin = (session) => [Call.begin(session[0], session[1], 0)[0], session];
      const alone = sessions.map((session) => {
        const begun = begin(session);
        return session[2].map((_, at) => run(begun, at));
      });
      const together = sessions.map(() => []);
      const begun = sessions.map(begin);
      for (let at = 0; at < 30; at++) {
        for (const [i, session] of sessions.entries()) if (at < session[2].length) together[i].push(run(begun[i], at));
      }
      assert.deepEqual(together, alone);
    }),
  );
});

test("a call decides what a retry decides", () => {
  fc.assert(
    fc.property(policies, seeds, fc.array(failures, { maxLength: 12 }), (policy, seed, failures) => {
      const call = Call.underway(policy, seed, 0n);
      const retry = new Retry(policy, seed, 0n);
      let now = 0n;
      let ticket = 1;
      for (const failure of failures) {
        const step = call.fail(ticket, now, failure);
        const decision = retry.onFailure(now, failure);
        if (step.kind === "stop") {
          assert.deepEqual([decision.kind, decision.reason, decision.retryAt], ["give_up", step.reason, step.retryAt]);
          return;
        }
        assert.deepEqual(decision, step);
        now = step.until;
        const next = call.tick(now);
        if (next.kind === "stop") return;
        ticket = next.ticket;
      }
    }),
  );
});

test("no value that crosses over is anything but an answer or an error of ours", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (one, two, three) => {
      const [call] = Call.begin(policy, 7, 0);
      for (const attempt of [
        () => new Policy(one),
        () => new Policy({ backoff: one, jitter: two, attempts: three }),
        () => call.fail(one, two, three),
        () => call.fail(1, 0, { kind: "transient", hint: one }),
        () => Call.begin(policy, one, two),
        () => seedAt(one, two),
      ]) {
        try {
          attempt();
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test("two hundred thousand machines need little memory", () => {
  globalThis.gc();
  const before = process.memoryUsage.rss();
  for (let i = 0; i < 200_000; i++) Call.underway(policy, i, 0).fail(1, 0, "transient");
  globalThis.gc();
  const grown = process.memoryUsage.rss() - before;
  assert.ok(grown < 200_000_000, `${grown}`);
});

test("the modules are pure: they import nothing, and their memory cannot grow by itself", () => {
  for (const [name, pages] of [
    ["hot", 2],
    ["policies", 2],
  ]) {
    const module = new WebAssembly.Module(readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url)));
    assert.deepEqual(WebAssembly.Module.imports(module), []);
    const { memory } = new WebAssembly.Instance(module).exports;
    assert.ok(memory.buffer.byteLength <= pages * 65_536, name);
  }
});

test("the module of tools imports what makes values and errors, and no clock", () => {
  const module = new WebAssembly.Module(readFileSync(new URL("../dist/tools.wasm", import.meta.url)));
  const imports = WebAssembly.Module.imports(module);
  assert.deepEqual([...new Set(imports.map((one) => one.module))].sort(), ["./ffi.ts", "./tools_bg.js"]);
  assert.deepEqual(
    imports.filter(({ name }) => /date|now|performance|fetch|crypto/i.test(name)),
    [],
  );
});

test("the module is decoded without the runtime's help", async () => {
  const { Buffer } = globalThis;
  const { fromHex } = Uint8Array;
  // A copy of the package is a module of its own, which decodes anew.
  const copied = mkdtempSync(join(tmpdir(), "holdoff-"));
  const copy = async (name, ...entries) => {
    cpSync(new URL("../dist/esm", import.meta.url), join(copied, name), { recursive: true });
    writeFileSync(join(copied, name, "package.json"), '{ "type": "module" }');
    const load = (entry) => import(pathToFileURL(join(copied, name, `${entry}.js`)));
    return Object.assign({}, ...(await Promise.all(entries.map(load))));
  };
  try {
    globalThis.Buffer = undefined;
    Uint8Array.fromHex = undefined;
    const one = await copy("one", "index", "tools");
    assert.deepEqual([...new one.Schedule(new one.Policy(), 7)], [...new Schedule(new Policy(), 7)]);
    const another = await copy("another", "index");
    await Promise.all([another.init(), another.init()]);
    assert.equal(new another.Policy({ deadline: 5 }).firstLimit, 5);
  } finally {
    globalThis.Buffer = Buffer;
    if (fromHex) Uint8Array.fromHex = fromHex;
    else delete Uint8Array.fromHex;
    rmSync(copied, { recursive: true });
  }
});

test("a schedule takes the draw and the kind of each delay", () => {
  const aws = new Policy("aws-standard-2.1");
  const schedule = new Schedule(aws, 0);
  assert.equal(schedule.nextAt(0.5), 25_000_000);
  assert.equal(schedule.nextAt(0.5, "throttled"), 1_000_000_000);
  assert.equal(schedule.nextAt(0), undefined);
  assert.throws(() => schedule.nextAt(0, "often"), ConfigError);
  assert.equal(Schedule.baseAt(new Policy({ backoff: { kind: "linear", max: "none" } }), 2n), 300_000_000n);
});

test("the capacity of a budget of loops is checked without guards", () => {
  for (const budget of [-1, 0.5, 1_000_001, { kind: "default", capacity: -3 }])
    assert.throws(() => new Policy({ budget }), { name: "ConfigError", code: 150, path: "budget.capacity" });
});
