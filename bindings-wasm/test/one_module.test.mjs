import assert from "node:assert/strict";
import { test } from "node:test";

const { Module } = WebAssembly;
let compiled = 0;
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    super(bytes);
    // An empty module only asks whether wasm is allowed.
    if (bytes.length > 8) compiled++;
  }
};
const { Guards, outcomeOf, Policy, retry } = await import("holdoff/guards");

async function failTwice() {
  let attempts = 0;
  const value = await retry(
    () => {
      if (++attempts < 3) throw new Error("down");
      return attempts;
    },
    { backoff: { kind: "constant", delay: 0 } },
  );
  assert.equal(value, 3);
}

test("holdoff/guards runs operations with and without guards on one wasm module", async () => {
  await failTwice();
  const guards = new Guards({ breaker: { failures: 1 } });
  const policy = new Policy({ attempts: 1 });
  const down = new Error("down");
  await assert.rejects(
    policy.retry(() => Promise.reject(down), { guards }),
    down,
  );
  assert.equal(outcomeOf(down).attempts, 1);
  assert.equal(compiled, 1);
});

test("an operation without guards goes on after the module's memory has grown for a log", async () => {
  const failing = retry(
    ({ attempt }) => {
      if (attempt < 3) throw new Error("down");
      return attempt;
    },
    { backoff: { kind: "constant", delay: 5 } },
  );
  const guards = new Guards({ limiter: { kind: "log", limit: 100_000 } });
  assert.equal(guards.limiter.take(3, 0), undefined);
  assert.equal(await failing, 3);
  await failTwice();
  assert.equal(compiled, 1);
});
