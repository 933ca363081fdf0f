import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import { promisify } from "node:util";
import { ConfigError, outcomeOf, retry, wrap } from "holdoff";
import { Guards, retry as guardedRetry } from "holdoff/guards";
import { disabled, failing, limited, VirtualClock, withoutBudgets } from "holdoff/testing";
import { failure } from "./virtual.mjs";

// Calls of a process share one budget, and here most of them fail.
withoutBudgets();

const HOURS = { attempts: 5, backoff: { kind: "constant", delay: "1h" }, jitter: "none" };
const down = new Error("down");

test("a disabled operation has one attempt in every entry and every copy of the package", async () => {
  const end = disabled();
  try {
    for (const copy of [retry, guardedRetry, createRequire(import.meta.url)("holdoff").retry]) {
      const fn = failing(9, down);
      const error = await failure(copy(fn, HOURS));
      assert.equal(fn.calls, 1);
      assert.deepEqual([error, outcomeOf(error)?.reason], [down, "attempts"]);
    }
    const guards = new Guards({ bulkhead: 1 });
    await failure(guardedRetry(failing(1, down), { guards }));
    assert.equal(guards.bulkhead.running, 0);
  } finally {
    end();
  }
});

test("a limited operation does not wait between its attempts", async () => {
  const end = limited(3);
  try {
    const begun = performance.now();
    const twice = failing(2, down, async (name) => `hello ${name}`);
    assert.equal(await wrap(twice, HOURS)("you"), "hello you");
    const error = await failure(
      Promise.all(Array.from({ length: 50 }, () => retry(failing(9, down), { ...HOURS, deadline: "4h" }))),
    );
    assert.deepEqual([outcomeOf(error).reason, outcomeOf(error).attempts], ["attempts", 3]);
    assert.ok(performance.now() - begun < 60_000);
  } finally {
    end();
  }
});

test("a switch ends where its function is called", async () => {
  const outer = limited(2);
  const inner = disabled();
  inner();
  const fn = failing(1, down, () => "ok");
  assert.equal(await retry(fn, HOURS), "ok");
  outer();
  const [one, two] = [failing(1, down), failing(2, down)];
  await retry(one, { backoff: { initial: 0 } });
  await retry(two, { backoff: { initial: 0 } });
  assert.deepEqual([one.calls, two.calls], [2, 3]);
});

test("hooks are told of the end at the limit", async () => {
  const end = disabled();
  const told = [];
  await failure(
    retry(failing(9, down), { onRetry: () => told.push("retry"), onGiveUp: ({ reason }) => told.push(reason) }),
  );
  end();
  assert.deepEqual(told, ["attempts"]);
});

test("wrong arguments are refused", () => {
  for (const attempts of [0, 1.5, Number.NaN, "2", undefined]) {
    assert.throws(
      () => limited(attempts),
      (error) => error instanceof ConfigError && error.path === "attempts",
    );
  }
  assert.throws(() => failing(1, down, 3), /fn = 3/);
  withoutBudgets()();
});

test("an attempt over its limit by virtual time says that real I/O is not waited for", async () => {
  const server = createServer(() => {});
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  const clock = new VirtualClock();
  const work = ({ signal }) => fetch(`http://127.0.0.1:${port}/`, { signal });
  const error = await failure(clock.settled(retry(work, { clock, attempts: 1, attemptTimeout: "5s" })));
  assert.deepEqual([error.name, clock.time], ["TimeoutError", 5000]);
  assert.match(
    error.message,
    /^attempt 1 took longer than its limit by virtual time, which does not wait for real I\/O$/,
  );
  server.closeAllConnections();
  server.close();
});

test("an error that nobody caught says in Node what holdoff did", async () => {
  for (const entry of ["holdoff", "holdoff/lite"]) {
    const program = `
      import { retry } from "${entry}";
      const cause = Object.freeze(new Error("the cause"));
      const error = new TypeError("fetch failed", { cause });
      await retry(() => { throw error; }, { attempts: 3, backoff: { initial: 1, max: 1 } });`;
    const run = promisify(execFile)("node", ["--input-type=module", "--eval", program], {
      cwd: new URL("..", import.meta.url),
    });
    const { stderr } = await run.catch((error) => error);
    assert.match(stderr, /TypeError: fetch failed\n/);
    assert.match(stderr, /\[Symbol\(holdoff\.outcome\)\]: \{[^}]*outcome: 'gave_up',[^}]*attempts: 3/);
    assert.match(stderr, /\[cause\]: Error: the cause/);
  }
});
