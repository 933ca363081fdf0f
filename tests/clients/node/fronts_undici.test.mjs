// One line for the whole process, and fronts around fronts.
import assert from "node:assert/strict";
import { test } from "node:test";
import axios from "axios";
import OpenAI from "openai";
import * as undici from "undici";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";
import { SHORT } from "./fronts.mjs";
import { origin, script } from "./script.mjs";

const unavailable = { status: 503 };
undici.setGlobalDispatcher(new undici.Agent().compose(retries(SHORT)));
const bodiesOf = (played) => played.log.map(({ body }) => body.length);
const bytes = (count) => new Uint8Array(count).fill(121);
const stream = (count) =>
  new ReadableStream({
    pull(controller) {
      if (count > 0) controller.enqueue(bytes(1000));
      else controller.close();
      count -= 1000;
    },
  });

test("Node's own fetch and undici's are tried again, whatever body they send", async () => {
  const form = new FormData();
  form.set("a", "b");
  const bodies = { text: "data", form, bytes: bytes(9), stream: stream(5000), parameters: new URLSearchParams("a=b") };
  for (const [name, body] of Object.entries(bodies)) {
    const played = script(name === "form" ? { reset: "before" } : unavailable, {});
    const answer = await fetch(played.url, { method: "PUT", body, duplex: "half" });
    assert.equal(answer.status, 200, name);
    assert.deepEqual([answer.url, bodiesOf(played).length], [played.url, 2]);
    assert.deepEqual(bodiesOf(played), [played.log[0].body.length, played.log[0].body.length], name);
    assert.ok(played.log[0].body.length > 0, name);
  }
  const request = script(unavailable, {});
  assert.equal((await fetch(new Request(request.url, { method: "PUT", body: "rq" }))).status, 200);
  assert.deepEqual(
    request.log.map(({ body }) => body),
    ["rq", "rq"],
  );
  const lost = script({ reset: "at_once" }, {});
  assert.equal((await fetch(lost.url, { method: "PUT", body: stream(5000), duplex: "half" })).status, 200);
  assert.equal(lost.log.at(-1).body.length, 5000);
});

test("a body above the limit is sent once, and the answer comes out", async () => {
  const played = script(unavailable, {});
  const answer = await fetch(played.url, { method: "PUT", body: stream(3_000_000), duplex: "half" });
  assert.deepEqual([answer.status, await answer.text(), bodiesOf(played)], [503, "answer 1", [3_000_000]]);
});

test("clients that know nothing of it are tried again", async () => {
  const body = JSON.stringify({ choices: [{ message: { role: "assistant", content: "Hello" } }] });
  const played = script(
    { status: 429, headers: { "retry-after-ms": "300" } },
    { body, headers: { "content-type": "application/json" } },
  );
  const openai = new OpenAI({ apiKey: "k", baseURL: played.url, maxRetries: 0 });
  const { choices } = await openai.chat.completions.create({ model: "m", messages: [] });
  assert.deepEqual([choices[0].message.content, played.log.length], ["Hello", 2]);
  assert.ok(played.gaps[0] >= 300);
  const other = script(unavailable, {});
  assert.equal((await axios.get(other.url, { adapter: "fetch" })).status, 200);
});

test("a front around a front is one front", async () => {
  const twice = new undici.Agent().compose(retries(SHORT)).compose(retries(SHORT));
  const played = script(unavailable);
  assert.equal((await undici.request(played.url, { dispatcher: twice })).statusCode, 503);
  assert.equal(played.log.length, 3);
  const other = script(unavailable);
  const answer = await resilientFetch({ ...SHORT, attempts: 2 })(other.url);
  assert.deepEqual([other.log.length, outcomeOf(answer).attempts], [2, 2]);
});

test("streams, large answers, informational answers and early ends come through", async () => {
  const large = script({ body: "x".repeat(5_000_000) });
  assert.equal((await (await fetch(large.url)).text()).length, 5_000_000);
  const { body } = await undici.request(large.url);
  let size = 0;
  for await (const chunk of body) size += chunk.length;
  assert.equal(size, 5_000_000);
  const open = script({ parts: ["first"], open: true });
  const user = new AbortController();
  const reader = (await fetch(open.url, { signal: user.signal })).body.getReader();
  assert.equal(Buffer.from((await reader.read()).value).toString(), "first");
  user.abort();
  await assert.rejects(reader.read(), { name: "AbortError" });
  const cut = script({ parts: ["first", { wait: 20 }, { reset: true }] });
  await assert.rejects((await fetch(cut.url)).text());
  assert.equal(cut.log.length, 1);
  assert.deepEqual([(await undici.request(large.url, { method: "HEAD" })).statusCode], [200]);
});

test("limits hold for an attempt and for its body, and an abort ends a sleep", async () => {
  const limited = new undici.Agent().compose(retries({ ...SHORT, attempts: 2, attemptTimeout: 400 }));
  const played = script({ wait: 1500 }, { headers: { "content-length": "2" }, parts: ["a", { wait: 1500 }, "b"] }, {});
  const error = await undici.request(played.url, { dispatcher: limited }).catch((thrown) => thrown);
  assert.deepEqual([error.name, played.log.length, outcomeOf(error).reason], ["TimeoutError", 2, "attempts"]);
  const user = new AbortController();
  const asleep = script({ status: 503, headers: { "retry-after": "5" } });
  setTimeout(() => user.abort(), 100);
  await assert.rejects(undici.request(asleep.url, { signal: user.signal }), { name: "AbortError" });
  assert.equal(asleep.log.length, 1);
});

test("a dispatcher of one origin, and of one connection", async () => {
  const pool = new undici.Pool(origin, { connections: 1 }).compose(retries(SHORT));
  const played = script(unavailable, unavailable, {});
  const all = [1, 2].map(() => pool.request({ path: new URL(played.url).pathname, method: "GET" }));
  for (const answer of await Promise.all(all))
    assert.equal(await answer.body.text().then(() => answer.statusCode), 200);
});
