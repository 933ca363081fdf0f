// Bodies of requests, which may be sendable once, and of answers that nobody will read.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { outcomeOf, Policy, retry } from "holdoff";
import { Guards } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

let answer;
const bodies = [];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  bodies.push(body);
  answer(response);
});
let url;
before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${server.address().port}/`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const busy = (response) => response.writeHead(503, { "retry-after": "0" }).end("maintenance");
const steady = { attempts: 3, budget: "none", backoff: { initial: 0 } };
const post = (body) => ({ method: "POST", body, duplex: "half" });

test("where a body cannot be sent again, the answer comes out that asked for it", async () => {
  answer = busy;
  const stream = () => new Blob(["hello"]).stream();
  async function* lines() {
    yield Buffer.from("hello");
  }
  for (const make of [
    () => {
      const request = new Request(url, post("hello"));
      return ({ signal }) => fetch(request, { signal });
    },
    () => {
      const body = stream();
      return ({ signal }) => fetch(url, { ...post(body), signal });
    },
    () => {
      const body = stream();
      return async ({ signal }) => {
        const { value } = await body.getReader().read();
        return fetch(url, { ...post(value), signal });
      };
    },
    () => {
      const body = lines();
      return ({ signal, once }) => fetch(url, { ...post(once(body)), signal });
    },
    () => {
      const body = stream();
      return async ({ signal }) => {
        try {
          return await fetch(url, { ...post(body), signal });
        } catch (cause) {
          throw Object.assign(new Error("Connection error.", { cause }), { name: "APIConnectionError" });
        }
      };
    },
  ]) {
    for (const options of [
      steady,
      { ...steady, budget: undefined, guards: new Guards({ bulkhead: 1, breaker: { failures: 9 } }) },
    ]) {
      bodies.length = 0;
      const events = [];
      const onGiveUp = ({ reason, refusedBy, value }) => events.push([reason, refusedBy, value?.status]);
      const response = await retry(make(), { ...options, whenResult: true, when: () => true, onGiveUp });
      assert.equal(response.status, 503);
      const { outcome, reason, attempts, lastResult, lastError } = outcomeOf(response);
      assert.deepEqual([outcome, reason, attempts, lastError], ["gave_up", "body", 2, undefined]);
      assert.equal(lastResult, response);
      assert.equal(await response.text(), "maintenance");
      assert.deepEqual(bodies, ["hello"]);
      assert.deepEqual(events, [["body", undefined, 503]]);
      assert.equal(options.guards?.bulkhead.running ?? 0, 0);
    }
  }
});

test("the earlier error comes out where the attempt before threw one", async () => {
  const lost = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  const used = () => {
    throw new TypeError("Cannot construct a Request with a Request object that has already been used.");
  };
  const error = await failure(retry(({ attempt }) => (attempt === 1 ? Promise.reject(lost) : used()), steady));
  assert.equal(error, lost);
  assert.deepEqual([outcomeOf(error).reason, outcomeOf(error).attempts], ["body", 2]);
  const first = await failure(retry(used, steady));
  assert.deepEqual([first.name, outcomeOf(first).reason], ["TypeError", "permanent"]);
  assert.equal(
    await retry(({ attempt }) => (attempt === 1 ? Promise.reject(lost) : 1), { ...steady, fallback: () => 2 }),
    1,
  );
});

test("a second attempt beside the one that sends the body does not end it", async () => {
  const clock = new VirtualClock();
  const guards = new Guards({ hedge: { delay: 10 } });
  const work = ({ once }) => {
    once("body");
    return new Promise((resolve) => clock.setTimeout(() => resolve("sent"), 50));
  };
  assert.equal(await clock.settled(retry(work, { guards, clock })), "sent");
});

test("a body that can be sent again is", async () => {
  answer = busy;
  bodies.length = 0;
  const work = ({ signal }) => fetch(url, { ...post("hello"), signal });
  const response = await new Policy(steady).retry(work, { whenResult: true });
  assert.equal(outcomeOf(response).reason, "attempts");
  assert.deepEqual(bodies, ["hello", "hello", "hello"]);
});

test("small refused bodies are read to their end, large and slow ones are cancelled", async () => {
  for (const [chunks, chunk, wanted] of [
    [1, 11, "read"],
    [64, 1024, "read"],
    [70, 1024, "cancelled"],
    [Infinity, 1, "cancelled"],
    [Infinity, 0, "cancelled"],
  ]) {
    const clock = new VirtualClock();
    const ends = [];
    const refused = () => {
      let left = chunks;
      const pull = (controller) => {
        if (left-- === 0) {
          ends.push("read");
          controller.close();
        } else if (chunk > 0) controller.enqueue(new Uint8Array(chunk));
        else return new Promise(() => {});
      };
      const cancel = () => void ends.push("cancelled");
      return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { status: 503 });
    };
    const work = ({ attempt }) => (attempt === 1 ? refused() : new Response("done"));
    const options = { backoff: { kind: "constant", delay: 1000 }, jitter: "none", clock, whenResult: true };
    const response = await clock.settled(retry(work, options));
    assert.equal(await response.text(), "done");
    assert.deepEqual(ends, [wanted], `${chunks} x ${chunk}`);
    assert.equal(clock.timers.size, 0);
  }
});

test("bodies of undici are dumped, and those without a reader are cancelled", async () => {
  const freed = [];
  const values = [
    { status: 503, headers: {}, body: { dump: ({ limit }) => freed.push(limit) } },
    { status: 503, headers: {}, body: { cancel: () => freed.push("cancelled") } },
    { status: 200, headers: {}, body: null },
  ];
  let at = 0;
  await retry(() => values[at++], { ...steady, whenResult: true });
  assert.deepEqual(freed, [65536, "cancelled"]);
});
