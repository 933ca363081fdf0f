// What the fronts of fetch keep of fetch, and the edges of bodies, limits and options.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { KeyedGuards } from "../../../bindings-wasm/dist/esm/guards.js";
import { outcomeOf, Policy } from "../../../bindings-wasm/dist/esm/index-node.js";
import { resilientFetch as liteFetch } from "../../../bindings-wasm/dist/esm/lite-fetch.js";
import { SHORT } from "./fronts.mjs";
import { listen, origin, script } from "./script.mjs";

const unavailable = { status: 503 };
const streamOf = (kilobytes, end = (controller) => controller.close()) =>
  new ReadableStream({
    pull: (controller) => (kilobytes-- > 0 ? controller.enqueue(new Uint8Array(1024).fill(121)) : end(controller)),
  });
const both = { fetch: resilientFetch, "lite/fetch": liteFetch };

for (const [name, make] of Object.entries(both)) {
  const fetch = make(SHORT);

  test(`${name}: the answer is the one of fetch`, async () => {
    const played = script(unavailable, { body: '{"a":1}', headers: { "content-type": "application/json" } });
    const answer = await fetch(script({ status: 302, headers: { location: played.url } }).url);
    assert.ok(answer instanceof Response);
    assert.deepEqual([answer.url, answer.redirected, answer.type], [played.url, true, "basic"]);
    assert.deepEqual([await answer.clone().json(), await answer.json()], [{ a: 1 }, { a: 1 }]);
    await assert.rejects(answer.text(), TypeError);
  });

  test(`${name}: a body that was read in the attempt is read as any other`, async () => {
    const form = { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } };
    const { url } = script(form);
    const bytes = Buffer.from("a=b");
    const reads = {
      text: "a=b",
      arrayBuffer: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + 3),
      blob: new Blob([bytes], { type: form.headers["content-type"] }),
    };
    for (const [method, expected] of Object.entries(reads)) {
      const answer = await fetch(url);
      const copy = answer.clone();
      assert.equal(answer.bodyUsed, false);
      assert.deepEqual(await answer[method](), expected);
      assert.equal(answer.bodyUsed, true);
      await assert.rejects(answer[method](), TypeError);
      assert.throws(() => answer.clone(), TypeError);
      assert.deepEqual([copy.url, await copy.text()], [url, "a=b"]);
    }
    assert.equal((await (await fetch(url)).formData()).get("a"), "b");
    const answer = await fetch(url);
    const reader = answer.body.getReader();
    assert.equal(Buffer.from((await reader.read()).value).toString(), "a=b");
    assert.deepEqual([answer.bodyUsed, (await reader.read()).done], [true, true]);
    await assert.rejects(answer.text(), TypeError);
    assert.equal(await new Response((await fetch(url)).body).text(), "a=b");
  });

  test(`${name}: retry: false is one plain request, and a call may say that it can run twice`, async () => {
    const plain = script(unavailable);
    assert.equal((await fetch(plain.url, { retry: false })).status, 503);
    assert.equal(plain.log.length, 1);
    const post = script(unavailable, {});
    const init = { method: "POST", body: "x", retry: { idempotent: true } };
    assert.equal((await fetch(post.url, init)).status, 200);
    const put = script(unavailable, {});
    assert.equal((await fetch(put.url, { method: "PUT", body: "x", retry: { idempotent: false } })).status, 503);
    assert.deepEqual([post.log.length, put.log.length], [2, 1]);
  });

  test(`${name}: a front around a front is one front`, async () => {
    const played = script(unavailable);
    await make({ ...SHORT, fetch: make({ ...SHORT, fetch }) })(played.url);
    assert.equal(played.log.length, 3);
  });

  test(`${name}: a stream above the limit is sent once, and the answer comes out`, async () => {
    const played = script(unavailable, {});
    const answer = await fetch(played.url, { method: "PUT", body: streamOf(2000), duplex: "half" });
    assert.deepEqual([answer.status, played.log.length, outcomeOf(answer).reason], [503, 1, "body"]);
    assert.equal(played.log[0].body.length, 2_048_000);
    assert.equal(await answer.text(), "answer 1");
    const other = script(unavailable, {});
    const small = { method: "PUT", body: streamOf(3), duplex: "half", retry: { body: 1024 } };
    assert.equal(outcomeOf(await fetch(other.url, small)).reason, "body");
    const request = new Request(other.url, { method: "PUT", body: "x".repeat(2_000_000) });
    assert.equal(
      (await fetch(script(unavailable, {}).url, { method: "PUT", body: "x".repeat(2_000_000) })).status,
      200,
    );
    assert.equal((await fetch(request)).status, 200);
    assert.equal(other.log.length, 2);
  });

  test(`${name}: a connection that is lost in the upload is no empty second body`, async () => {
    const played = script({ reset: "at_once" }, {});
    assert.equal((await fetch(played.url, { method: "PUT", body: streamOf(5), duplex: "half" })).status, 200);
    assert.equal(played.log.at(-1).body.length, 5120);
    const form = new FormData();
    form.set("field", "value");
    const second = script({ reset: "before" }, {});
    assert.equal((await fetch(second.url, { method: "PUT", body: form })).status, 200);
    assert.match(second.log[1].body, /name="field"\r\n\r\nvalue/);
  });

  test(`${name}: a stream that fails is not sent again`, async () => {
    const played = script({});
    const boom = new Error("boom");
    const body = streamOf(1, (controller) => controller.error(boom));
    const error = await fetch(played.url, { method: "PUT", body, duplex: "half" }).catch((thrown) => thrown);
    assert.ok([error, error.cause].includes(boom), error);
    assert.ok(played.log.length <= 1);
  });

  test(`${name}: limits cover a body of known length and JSON, and no stream`, async () => {
    const slow = { parts: ["{", { wait: 1500 }, "}"] };
    const json = script({ ...slow, headers: { "content-type": "application/problem+json" } });
    const limited = make({ ...SHORT, attempts: 1, attemptTimeout: 500 });
    assert.equal((await limited(json.url).catch((thrown) => thrown)).name, "TimeoutError");
    const text = script(slow);
    const answer = await limited(text.url);
    assert.deepEqual([answer.status, await answer.text()], [200, "{}"]);
    const off = await make({ ...SHORT, attemptTimeout: 500, body: 0 })(script({ ...json, ...slow }).url);
    assert.equal(await off.text(), "{}");
    const large = script({
      headers: { "content-type": "application/json" },
      parts: ["x".repeat(1000), "x".repeat(1000)],
    });
    assert.equal((await (await make({ ...SHORT, body: 1500 })(large.url)).text()).length, 2000);
  });

  test(`${name}: a POST over its limit is not sent again, a GET is`, async () => {
    const own = { ...SHORT, attemptTimeout: 400 };
    for (const [method, requests] of [
      ["POST", 1],
      ["GET", 2],
    ]) {
      const played = script({ wait: 1500 }, {});
      await make(own)(played.url, { method }).catch(() => {});
      assert.equal(played.log.length, requests, method);
    }
  });

  test(`${name}: the caller's signal ends a body that comes`, async () => {
    const user = new AbortController();
    const played = script({ parts: ["first"], open: true });
    const answer = await fetch(played.url, { signal: user.signal });
    const reader = answer.body.getReader();
    await reader.read();
    user.abort(new Error("enough"));
    await assert.rejects(reader.read(), /enough/);
  });
}

test("a policy, its name and options make the same front, and a mistake is named", async () => {
  const policy = new Policy(SHORT);
  for (const given of [policy, { policy }, { ...SHORT, body: "1mb" }, { policy, body: 0 }]) {
    const played = script(unavailable);
    await resilientFetch(given)(played.url);
    assert.equal(played.log.length, 3);
  }
  assert.throws(() => resilientFetch({ atempts: 3 }), { nearest: "attempts" });
  assert.throws(() => resilientFetch({ body: "many" }), { name: "ConfigError", path: "body" });
  assert.throws(() => liteFetch({ atempts: 3 }), { name: "ConfigError", path: "atempts" });
});

test("hooks get method and origin, never the query, and origins have budgets of their own", async () => {
  const names = [];
  const fetch = resilientFetch({ ...SHORT, onAttempt: ({ operation }) => names.push(operation), budget: 1 });
  const played = script(unavailable);
  const spent = await fetch(`${played.url}?token=secret`);
  assert.deepEqual([...new Set(names)], [`GET ${origin}`]);
  assert.ok(["attempts", "budget"].includes(outcomeOf(spent).reason));
  const ends = [];
  for (let call = 0; call < 40; call++)
    ends.push(outcomeOf(await fetch(played.url, { retry: { attempts: 2 } })).reason);
  assert.ok(ends.includes("attempts"));
  assert.equal(outcomeOf(await fetch(played.url.replace(origin, await listen()))).reason, "attempts");
});

test("guards by origin: one caller's Retry-After holds for all, and one origin's breaker for no other", async () => {
  const guards = new KeyedGuards({ pause: { max: "1m" }, breaker: { failures: 5 } });
  const fetch = resilientFetch({ ...SHORT, guards });
  const [one, other] = [await listen(), await listen()];
  const played = script({ status: 503, headers: { "retry-after": "1" } }, {});
  const began = performance.now();
  const first = fetch(played.url.replace(origin, one));
  while (played.log.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 30));
  const free = await fetch(script({}).url.replace(origin, other));
  assert.ok(performance.now() - began < 500);
  const second = await fetch(script({}).url.replace(origin, one));
  assert.ok(performance.now() - began >= 990);
  assert.deepEqual([free.status, second.status, (await first).status], [200, 200, 200]);
});
