// The SDKs of language models above `llmFetch`, and models that fail over. The provider is a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import "../../../bindings-wasm/dist/esm/guards.js";
import "../../../bindings-wasm/dist/esm/policies.js";
import "../../../bindings-wasm/dist/esm/rules.js";
import { givenUp, outcomeOf, Policy, retry } from "../../../bindings-wasm/dist/esm/index-node.js";
import { LLM, llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";
import { script } from "./script.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const SHORT = { jitter: "none", backoff: { initial: 20, max: 40 } };
const json = { "content-type": "application/json" };
const said = (content) => ({ role: "assistant", content });
const answer = {
  headers: json,
  body: JSON.stringify({
    ...{ id: "c", object: "chat.completion", created: 1, model: "m", type: "message", role: "assistant" },
    choices: [{ index: 0, message: said("Hello"), finish_reason: "stop" }],
    content: [{ type: "text", text: "Hello" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1 },
  }),
};
const chunk = (delta) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta }] })}\n\n`;
const events = { "content-type": "text/event-stream" };
const refused = (status, headers = {}, code = "server_error") => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify({ error: { message: "no", type: code, code } }),
});
const messages = [{ role: "user", content: "Hi" }];

/** Each SDK with its own retries on or off. */
const sdks = {
  openai: (baseURL, fetch, own) =>
    new OpenAI({ apiKey: "k", baseURL, fetch, ...own }).chat.completions.create({ model: "m", messages }),
  anthropic: (baseURL, fetch, own) =>
    new Anthropic({ apiKey: "k", baseURL, fetch, ...own }).messages.create({ model: "m", max_tokens: 9, messages }),
  ai: (baseURL, fetch) =>
    generateText({ model: createOpenAI({ apiKey: "k", baseURL, fetch }).chat("m"), prompt: "Hi", maxRetries: 0 }),
};

/** Steps, the number of requests, and the gap before the second one. */
const cases = {
  "503 twice": [[refused(503), refused(503), answer], 3],
  "lasting 503": [[refused(503)], 3],
  "429 with Retry-After": [[refused(429, { "retry-after": "1" }), answer], 2, 1000],
  "429 with retry-after-ms": [[refused(429, { "retry-after-ms": "300" }), answer], 2, 300],
  "a Retry-After of an hour": [[refused(429, { "retry-after": "3600" })], 1],
  409: [[refused(409), answer], 2],
  400: [[refused(400)], 1],
  "a spent quota": [[refused(429, {}, "insufficient_quota")], 1],
  "x-should-retry: false": [[refused(503, { "x-should-retry": "false" })], 1],
  "a lost connection": [[{ reset: "before" }, answer], 2],
};

for (const [name, call] of Object.entries(sdks)) {
  for (const [title, [steps, requests, gap = 0]] of Object.entries(cases)) {
    test(`${name}: ${title}`, { timeout: 10_000 }, async () => {
      const played = script(...steps);
      const ended = await call(played.url, llmFetch(SHORT), { maxRetries: 0 }).catch((error) => error);
      assert.equal(played.log.length, requests, String(ended.stack));
      assert.equal(ended instanceof Error, steps.at(-1) !== answer, String(ended.stack));
      assert.ok(requests === 1 || played.gaps[0] >= gap);
    });
  }
}

for (const name of ["openai", "anthropic"]) {
  test(`${name}: with its own retries on, the last answer ends them, too`, async (context) => {
    const warned = context.mock.method(console, "warn", () => {});
    const played = script(refused(503));
    const fetch = llmFetch(SHORT);
    await assert.rejects(sdks[name](played.url, fetch), { status: 503 });
    assert.deepEqual([played.log.length, warned.mock.callCount()], [3, 0]);
    const lost = script({ reset: "before" });
    await assert.rejects(sdks[name](lost.url, fetch, { maxRetries: 1 }));
    assert.equal(lost.log.length, 4);
    assert.ok(warned.mock.callCount() <= 1);
  });
}

for (const [name, call] of Object.entries(sdks)) {
  test(`${name}: a retry around the SDK stops with the one below`, async () => {
    const played = script(refused(503));
    const own = { attempts: 3, backoff: { initial: 1 } };
    const error = await retry(() => call(played.url, llmFetch(SHORT), { maxRetries: 0 }), own).catch(
      (thrown) => thrown,
    );
    assert.deepEqual([played.log.length, outcomeOf(error).reason], [3, "permanent"]);
  });

  test(`${name}: its error says that holdoff gave up`, async () => {
    for (const step of [refused(503), refused(400), { reset: "before" }]) {
      const played = script(step);
      const error = await call(played.url, llmFetch(SHORT), { maxRetries: 0 }).catch((thrown) => thrown);
      assert.ok(givenUp(error), String(error.stack));
    }
  });
}

const event = (data) => `${data.type ? `event: ${data.type}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const opened = [
  event({
    type: "message_start",
    message: { ...{ id: "m", type: "message", role: "assistant" }, content: [], model: "m", usage: {} },
  }),
  event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
  event({ type: "ping" }),
];
const token = (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
const delta = (text) => event({ type: "response.output_text.delta", delta: text });
const closing = [event({ type: "content_block_stop", index: 0 }), event({ type: "message_stop" })];
const overloaded = (type) => event({ type: "error", error: { type, message: "busy" } });

/** The SDKs that read streams, and the parts of a stream as their provider sends it: what comes before the first token, and two tokens. */
const streams = {
  openai: {
    first: [chunk(said("")), chunk({ role: "assistant" }), ": a comment\n\n"],
    tokens: [chunk({ content: "Hel" }), { wait: 20 }, chunk({ content: "lo" }), "data: [DONE]\n\n"],
    async read(baseURL, fetch, heard) {
      const openai = new OpenAI({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
      const chunks = await openai.chat.completions.create({ model: "m", messages, stream: true });
      for await (const { choices } of chunks) heard(choices[0]?.delta?.content);
    },
  },
  "openai responses": {
    first: [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
    ].map((type) => event({ type, response: { error: null } })),
    tokens: [delta("Hel"), { wait: 20 }, delta("lo"), event({ type: "response.completed", response: {} })],
    async read(baseURL, fetch, heard) {
      const openai = new OpenAI({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
      for await (const { type, delta } of await openai.responses.create({ model: "m", input: "Hi", stream: true }))
        if (type === "response.output_text.delta") heard(delta);
    },
  },
  anthropic: {
    first: opened,
    tokens: [token("Hel"), { wait: 20 }, token("lo"), ...closing],
    async read(baseURL, fetch, heard) {
      const anthropic = new Anthropic({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
      const chunks = await anthropic.messages.create({ model: "m", max_tokens: 9, messages, stream: true });
      for await (const { delta } of chunks) heard(delta?.text);
    },
  },
  ai: {
    first: [chunk(said(""))],
    tokens: [chunk({ content: "Hel" }), { wait: 20 }, chunk({ content: "lo" }), "data: [DONE]\n\n"],
    async read(baseURL, fetch, heard) {
      const model = createOpenAI({ apiKey: "k", baseURL, fetch }).chat("m");
      let failed;
      for await (const part of streamText({ model, prompt: "Hi", maxRetries: 0, onError() {} }).fullStream) {
        if (part.type === "text-delta") heard(part.text);
        if (part.type === "error") failed = part.error;
      }
      if (failed) throw failed;
    },
  },
};

for (const [name, { first, tokens, read }] of Object.entries(streams)) {
  const answering = (...parts) => ({ headers: events, parts });
  const begun = answering(...first, ...tokens);
  const reset = [{ wait: 20 }, { reset: true }];
  const torn = tokens.slice(0, 1);
  /** The steps, the text that is read, and the number of requests. */
  const played = {
    "an answer that is refused": [[refused(503), begun], "Hello", 2],
    "a stream that breaks off before its first event": [[answering(...reset), begun], "Hello", 2],
    "a stream that breaks off before its first token": [[answering(...first, ...reset), begun], "Hello", 2],
    "an error before the first token": [[answering(...first, overloaded("overloaded_error")), begun], "Hello", 2],
    "an error that no retry mends": [[answering(...first, overloaded("insufficient_quota")), begun], "", 1],
    "errors without an end": [[answering(overloaded("overloaded_error"))], "", 3],
    "a stream that breaks off after its first token": [[answering(...first, ...torn, ...reset), begun], "Hel", 1],
    "an error after the first token": [[answering(...first, ...torn, overloaded("overloaded_error")), begun], "Hel", 1],
  };
  for (const [title, [steps, wanted, requests]] of Object.entries(played)) {
    test(`${name}: ${title}`, { timeout: 10_000 }, async () => {
      const { url, log } = script(...steps);
      let text = "";
      const heard = (part = "") => {
        text += part;
      };
      const failed = await read(url, llmFetch(SHORT), heard).catch((error) => error);
      assert.deepEqual([text, log.length], [wanted, requests], String(failed?.stack));
      assert.equal(failed !== undefined, wanted !== "Hello", String(failed?.stack));
      if (requests === 3) assert.match(JSON.stringify(failed) + failed.message, /busy/);
    });
  }
}

test("a stream is given out as it comes, with its address, and an abort ends it", async () => {
  const open = script({ headers: events, parts: [chunk(said("")), chunk({ content: "Hel" })], open: true });
  const answer = await llmFetch(SHORT)(open.url);
  assert.equal(answer.url, open.url);
  await answer.body.cancel();
  while (open.log[0].isWhole === undefined) await new Promise(setImmediate);
  const user = new AbortController();
  const begun = script({ headers: events, parts: [chunk({ content: "Hel" })], open: true });
  const reader = (await llmFetch(SHORT)(begun.url, { signal: user.signal })).body.getReader();
  await reader.read();
  const last = reader.read();
  user.abort();
  await assert.rejects(last, { name: "AbortError" });
  while (begun.log[0].isWhole === undefined) await new Promise(setImmediate);
  const waits = script({ headers: events, parts: [chunk(said(""))], open: true });
  const other = new AbortController();
  const pending = llmFetch(SHORT)(waits.url, { signal: other.signal });
  while (waits.log.length === 0) await new Promise(setImmediate);
  other.abort();
  await assert.rejects(pending, { name: "AbortError" });
  const limited = llmFetch({ ...SHORT, attempts: 1, attemptTimeout: 200 })(waits.url);
  await assert.rejects(limited, { name: "TimeoutError" });
  const filler = script({ headers: events, parts: Array(40).fill(`: ${"x".repeat(4000)}\n`) });
  assert.ok((await (await llmFetch(SHORT)(filler.url)).text()).length > 160_000);
});

test("the last answer keeps its address, its body and its outcome", async () => {
  const played = script(refused(503));
  const last = await llmFetch({ ...SHORT, attempts: 2 })(played.url, { method: "POST", body: "x" });
  const { error } = await last.json();
  assert.deepEqual([last.url, last.headers.get("x-should-retry"), error.message], [played.url, "false", "no"]);
  assert.deepEqual([outcomeOf(last).reason, outcomeOf(last).attempts, played.log.length], ["attempts", 2, 2]);
  const plain = script(refused(503));
  await llmFetch(SHORT)(plain.url, { retry: false });
  await llmFetch({ ...SHORT, fetch: llmFetch(SHORT) })(played.url);
  assert.deepEqual([plain.log.length, played.log.length], [1, 5]);
  const endless = script({ status: 429, headers: json, endless: true }, answer);
  assert.equal((await llmFetch(SHORT)(endless.url)).status, 200);
});

test("the policy is that of the preset", () => {
  const [own, preset] = [new Policy(LLM), new Policy("llm")];
  assert.deepEqual(own.rules, preset.rules);
  assert.deepEqual(own.words, preset.words);
  assert.equal(preset.budgets?.capacity ?? 100, own.budgets.capacity);
});
