/** What traces and metrics show of errors and keys that strangers choose. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { retry } from "holdoff";
import { Breaker, Guards, KeyedGuards } from "holdoff/guards";
import { exportTo, listen, masked } from "holdoff/telemetry";
import { failure } from "./virtual.mjs";

/** What is exported to OpenTelemetry: counters with their attributes, and events of the active span. */
function exported(t, options) {
  const [counts, events] = [[], []];
  const counter = (name) => ({ add: (_, attributes) => counts.push([name, attributes]) });
  const meter = { createCounter: counter, createHistogram: () => ({ record() {} }) };
  const span = { addEvent: (name, attributes) => events.push([name, attributes]) };
  t.after(exportTo({ trace: { getActiveSpan: () => span }, metrics: { getMeter: () => meter } }, options));
  return { counts, events };
}

/** The text of an error as a span has it. */
async function shown(t, error, options) {
  const { events } = exported(t, options);
  assert.equal(await failure(retry(() => Promise.reject(error), { attempts: 1 })), error);
  const [[, attributes]] = events;
  return attributes;
}

for (const [text, expected] of [
  ["postgresql://bob:hunter2@db/x?password=PW&sslmode=on", "postgresql://***@db/x?password=***&sslmode=on"],
  ["GET https://api.test/v1?api_key=SECRET&page=2 failed", "GET https://api.test/v1?api_key=***&page=2 failed"],
  [
    "https://s3.test/b?X-Amz-Signature=abc&X-Amz-Security-Token=d",
    "https://s3.test/b?X-Amz-Signature=***&X-Amz-Security-Token=***",
  ],
  ["Authorization: Bearer abc.def-ghi end", "Authorization: Bearer *** end"],
  ["Bearer abc.def", "Bearer ***"],
  ["host=db password=PW2 dbname=x", "host=db password=*** dbname=x"],
  ["{'client_secret': 'S', 'page': 1}", "{'client_secret': '***', 'page': 1}"],
  ["redis://:pw@cache:6379/0", "redis://***@cache:6379/0"],
  ["http://host:8080/monkey?sort=key", "http://host:8080/monkey?sort=key"],
  ["mail to bob@example.com failed", "mail to bob@example.com failed"],
]) {
  test(`secrets are masked: ${text}`, () => assert.equal(masked(text), expected));
}

test("the text of an error is short, in one line and without secrets", async (t) => {
  for (const text of [
    `401 for https://bob:pw@api.test/v1?api_key=SECRET123${"A".repeat(1_000_000)}\n\x1b[31mred`,
    `\x1b[31mred\nline\r\u2028\u202e${"B".repeat(150)} password=SECRET123${"C".repeat(1000)}`,
    "\ud83d".repeat(300),
  ]) {
    const { "error.message": message, "error.type": type } = await shown(t, new TypeError(text));
    assert.equal(type, "TypeError");
    assert.ok(!message.includes("SECRET") && !message.includes("pw@") && message.length < 2000, message);
    assert.match(message, /^[^\p{C}\p{Zl}\p{Zp}]*$/u);
  }
});

test("a text that throws, or is none, replaces nobody's error", async (t) => {
  const throwing = Object.defineProperty(new Error(), "message", {
    get() {
      throw new Error("mine");
    },
  });
  assert.equal((await shown(t, throwing))["error.message"], "");
  assert.equal((await shown(t, Object.assign(new Error(), { message: 5 })))["error.message"], "5");
  const long = Object.assign(new Error("down"), { name: "n".repeat(1e6) });
  assert.equal((await shown(t, long))["error.type"].length, 203);
});

test("a program redacts by a function of its own", async (t) => {
  const redact = (text) => text.replace("4111", "card");
  assert.equal((await shown(t, new Error("card number 4111"), { redact }))["error.message"], "card number card");
  const breaks = () => assert.fail("mine");
  assert.equal((await shown(t, new Error("card number 4111"), { redact: breaks }))["error.message"], "");
});

for (const [keys, labels] of [
  [undefined, ["orders", "other"]],
  [2, ["orders", "other", "visitor 0", "visitor 1"]],
]) {
  test(`the keys of strangers are no labels, but ${keys ?? 0} of them`, async (t) => {
    const { counts } = exported(t, { keys });
    const heard = [];
    t.after(listen({ onChange: ({ key }) => void heard.push(key) }));
    const keyed = new KeyedGuards({ breaker: { failures: 1 } });
    const down = () => Promise.reject(new Error("down"));
    for (let number = 0; number < 20; number++) {
      await failure(retry(down, { guards: keyed.of(`visitor ${number}`), attempts: 1 }));
    }
    await failure(retry(down, { guards: new Guards({ breaker: { failures: 1 }, name: "orders" }), attempts: 1 }));
    new Breaker({ failures: 1 }, { name: "orders" }).isolate();
    await new Promise((resolve) => setImmediate(resolve));
    const changes = counts.filter(([name]) => name === "holdoff.breaker_changes");
    assert.equal(changes.length, 22);
    const found = new Set(changes.map(([, attributes]) => attributes["holdoff.breaker"]));
    assert.deepEqual([...found].sort(), labels);
    assert.deepEqual([heard[0], heard[19], heard[20]], ["visitor 0", "visitor 19", undefined]);
  });
}

test("options that are none are refused", (t) => {
  for (const options of [{ keys: -1 }, { keys: 1.5 }, { keys: "all" }, { redact: 1 }]) {
    assert.throws(() => exported(t, options), { path: Object.keys(options)[0] });
  }
});
