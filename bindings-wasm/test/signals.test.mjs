// The signal of an attempt, after the attempt: it ends bodies and streams.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { attempts, outcomeOf, retry, retryStream } from "holdoff";
import { Guards } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { failure, VirtualClock } from "./virtual.mjs";

const listeners = (signal) => getEventListeners(signal, "abort").length;

/** A server whose body never ends. */
const server = createServer((_, response) => response.writeHead(200).write("{"));
let url;
before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${server.address().port}/`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const get = ({ signal }) => fetch(url, { signal });

test("the caller's abort ends the body of the answer that came out", async () => {
  const guards = new Guards({ bulkhead: 5 });
  for (const run of [
    (signal) => retry(get, { signal, whenResult: true }),
    (signal) => retry(get, { signal, guards, deadline: "1h" }),
    (signal) => lite.retry(get, { signal }),
    async (signal) => {
      for await (const attempt of attempts({ signal })) return await attempt(get);
    },
  ]) {
    const controller = new AbortController();
    const response = await run(controller.signal);
    const text = response.text();
    const gone = new Error("the client went away");
    controller.abort(gone);
    assert.equal(await failure(text), gone);
    assert.equal(listeners(controller.signal), 0);
  }
});

test("an attempt's signal follows the caller's as long as somebody listens to it, and no longer", async () => {
  let heard;
  const listen = async () => {
    // Nobody keeps this signal.
    const long = AbortSignal.timeout(2 ** 31 - 1);
    const controller = new AbortController();
    heard = new Promise((resolve) => {
      controller.abandon = () => controller.abort("gone");
      retry(({ signal }) => signal.addEventListener("abort", () => resolve(signal.reason)), {
        signal: AbortSignal.any([long, controller.signal]),
      });
    });
    return controller;
  };
  const controller = await listen();
  await new Promise((resolve) => setImmediate(resolve));
  globalThis.gc?.();
  controller.abandon();
  assert.equal(await heard, "gone");
});

test("ten thousand operations with one signal leave no listener", async () => {
  const { signal } = new AbortController();
  const work = async ({ attempt, signal }) => {
    assert.equal(signal.aborted, false);
    if (attempt === 1) throw new Error("down");
  };
  const clock = new VirtualClock();
  const options = { signal, clock, budget: "none", jitter: "none", backoff: { initial: 1 } };
  await clock.settled(Promise.all(Array.from({ length: 5000 }, () => retry(work, options))));
  await clock.settled(Promise.all(Array.from({ length: 500 }, () => lite.retry(work, { signal, clock }))));
  for (let n = 0; n < 50; n++) for await (const _ of retryStream(() => [1, 2], { signal }));
  for (let n = 0; n < 50; n++) for await (const _ of retryStream(() => [1, 2], { signal })) break;
  assert.equal(listeners(signal), 0);
});

test("an attempt that has failed, and one beside the winner, have aborted signals; the winner's has not", async () => {
  const clock = new VirtualClock();
  const signals = [];
  const guards = new Guards({ hedge: { delay: 10 } });
  const work = ({ attempt, signal }) => {
    signals.push(signal);
    return attempt === 2 ? "won" : new Promise(() => {});
  };
  const { signal } = new AbortController();
  assert.equal(await clock.settled(retry(work, { guards, clock, signal })), "won");
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
});

test("where the runtime has no signals that follow others, one listener does it", async () => {
  const { any } = AbortSignal;
  try {
    AbortSignal.any = undefined;
    const controller = new AbortController();
    const given = [];
    for (let n = 0; n < 3; n++) await retry(({ signal }) => void given.push(signal), { signal: controller.signal });
    assert.equal(listeners(controller.signal), 1);
    controller.abort("gone");
    assert.deepEqual(
      given.map(({ reason }) => reason),
      ["gone", "gone", "gone"],
    );
  } finally {
    AbortSignal.any = any;
  }
});

test("a body read inside the attempt ends with the limits of the attempt", async () => {
  const clock = new VirtualClock();
  const read = async ({ signal }) => {
    const response = await fetch(url, { signal });
    // The clock of the operation is moved when the headers have come.
    clock.setTimeout(() => {}, 0);
    return response.text();
  };
  const result = failure(retry(read, { attempts: 2, attemptTimeout: 500, clock, budget: "none", jitter: "none" }));
  let error;
  result.then((value) => (error = value));
  while (error === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    const [first] = [...clock.timers].sort(([, a], [, b]) => a.at - b.at);
    if (first === undefined) continue;
    clock.timers.delete(first[0]);
    clock.time = Math.max(clock.time, first[1].at);
    first[1].callback();
  }
  assert.deepEqual([error.name, outcomeOf(error).reason, outcomeOf(error).attempts], ["TimeoutError", "attempts", 2]);
});
