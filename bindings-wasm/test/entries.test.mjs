import assert from "node:assert/strict";
import { test } from "node:test";

// As in jsdom, and on a page whose Content-Security-Policy forbids wasm.
for (const name of ["TextEncoder", "TextDecoder", "crypto"])
  Object.defineProperty(globalThis, name, { value: undefined });
const { Module } = WebAssembly;
let compiled = 0;
WebAssembly.Module = class {
  constructor() {
    compiled++;
    throw new WebAssembly.CompileError("refused");
  }
};
const { ConfigError, init, outcomeOf, Policy, retry } = await import("holdoff");
const { failure } = await import("./virtual.mjs");

test("options are checked without wasm", async () => {
  const refused = await failure(retry(() => assert.fail("it ran"), { atempts: 3 }));
  assert.ok(refused instanceof ConfigError);
  assert.equal(refused.nearest, "attempts");
  assert.equal(compiled, 0);
});

test("where wasm is forbidden an operation ends before its first attempt, and the error says what to import", async () => {
  const isRefusal = (error) => {
    assert.ok(error instanceof ConfigError);
    assert.equal(error.code, 147);
    assert.match(error.message, /^WebAssembly: .*import "holdoff\/lite"/);
    assert.ok(error.cause instanceof WebAssembly.CompileError);
    return true;
  };
  await assert.rejects(
    retry(() => assert.fail("it ran")),
    isRefusal,
  );
  assert.throws(() => new Policy({ attempts: 9 }), isRefusal);
  await assert.rejects(init(), isRefusal);
});

test("where only small modules are compiled a failure comes out as it was thrown, and the console is told once", async (context) => {
  WebAssembly.Module = class extends Module {
    constructor(bytes) {
      if (bytes.length > 4096) throw new RangeError("too large");
      super(bytes);
    }
  };
  const warned = context.mock.method(console, "warn", () => {});
  const own = new Error("down");
  const fail = () => {
    throw own;
  };
  assert.equal(await failure(retry(fail)), own);
  const { reason, attempts, lastError, engineError } = outcomeOf(own);
  assert.deepEqual([reason, attempts, lastError], ["permanent", 1, own]);
  assert.ok(engineError.cause instanceof RangeError);
  const advised = Object.assign(new Error("ask again"), { status: 404, headers: { "x-should-retry": "true" } });
  assert.equal(await failure(retry(() => Promise.reject(advised))), advised);
  assert.equal(await failure(retry(fail, { idempotent: false })), own);
  const value = { status: 503, headers: {} };
  assert.equal(await retry(() => value, { whenResult: true, idempotent: false }), value);
  assert.equal(outcomeOf(value).attempts, 1);
  assert.deepEqual(
    warned.mock.calls.map(({ arguments: [message] }) => message),
    [engineError.message],
  );
  WebAssembly.Module = Module;
});

test("another error of the engine comes out", async (context) => {
  const bug = new Error("a bug");
  context.mock.method(Uint32Array.prototype, "set", () => {
    throw bug;
  });
  assert.equal(await failure(retry(() => Promise.reject(new Error("down")), { attempts: 2, jitter: "none" })), bug);
});

test("a field that needs another entry says which one", () => {
  for (const [fields, entry] of [
    [{ preset: "kubernetes" }, "policies"],
    [{ rules: [{ if: { http: [503] }, retry: true }] }, "rules"],
    [{ rules: [{ attempts: 2 }] }, "rules"],
    [{ backoff: { floor: "1s" } }, "policies"],
    [{ total: 5 }, "policies"],
    [{ backoff: "polynomial" }, "policies"],
    [{ backoff: "decorrelated_v2" }, "policies"],
    [{ backoff: [{ kind: "constant", times: 1 }, {}] }, "policies"],
    [{ backoff: { delays: [5, "1s"] } }, "policies"],
    [{ backoff: "list" }, "policies"],
    [{ backoff: { times: 3 } }, "policies"],
  ]) {
    const message = new RegExp(`needs import "holdoff/${entry}"`);
    assert.throws(() => new Policy(fields), { name: "ConfigError", code: 147, message });
  }
  assert.throws(() => new Policy().judge("transient"), {
    path: "judge",
    code: 147,
    rule: 'needs import "holdoff/rules"',
  });
  assert.ok(new Policy({ preset: null, rules: [], total: null }));
});

test("a fresh deadline changes the deadline and nothing else", async () => {
  for (const deadline of [50, 70, 0.5]) {
    const began = performance.now();
    const slow = retry(({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", reject)), {
      deadline,
      attempts: 1,
    });
    assert.equal(outcomeOf(await failure(slow))?.attempts, 1);
    assert.ok(performance.now() - began >= Math.floor(deadline));
  }
  for (const deadline of [-1, 0]) {
    const late = await failure(retry(() => 1, { deadline, attempts: 1 }));
    assert.deepEqual([late.name, outcomeOf(late)?.reason], ["TimeoutError", "deadline"]);
  }
});
