// Models of the AI SDK that fail over. Each provider is a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, streamText } from "ai";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { failover, llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";
import { script } from "./script.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const SHORT = { jitter: "none", backoff: { initial: 20, max: 40 } };
const json = { "content-type": "application/json" };
const events = { "content-type": "text/event-stream" };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const completion = (kind, part, content) => ({
  ...{ id: "c", object: kind, created: 1, model: "m", usage },
  choices: [{ index: 0, [part]: { role: "assistant", content }, finish_reason: part === "delta" ? null : "stop" }],
});
const answer = { headers: json, body: JSON.stringify(completion("chat.completion", "message", "Hello")) };
const chunk = (text) => `data: ${JSON.stringify(completion("chat.completion.chunk", "delta", text))}\n\n`;
const stream = { headers: events, parts: [chunk(""), chunk("Hel"), { wait: 20 }, chunk("lo"), "data: [DONE]\n\n"] };
const refused = (status, headers = {}, code = "server_error") => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify({ error: { message: "no", type: code, code } }),
});
const busy = (seconds) => refused(429, { "retry-after": String(seconds) });
const spent = refused(429, {}, "insufficient_quota");
const lost = { reset: "before" };

/** Models `a`, `b`, ... whose providers play these steps, and the order in which they were asked. */
function models(...scripts) {
  const played = scripts.map((steps) => script(...[steps].flat()));
  const names = [..."abcdefgh"];
  const begun = performance.now();
  return {
    models: played.map(({ url }, at) => createOpenAI({ apiKey: "k", baseURL: url }).chat(names[at])),
    get order() {
      const asked = played.flatMap(({ log }, at) => log.map((entry) => ({ at: entry.at, name: names[at] })));
      return asked
        .sort((one, other) => one.at - other.at)
        .map(({ name }) => name)
        .join("");
    },
    took: () => performance.now() - begun,
  };
}

const ask = (model) => generateText({ model, prompt: "Hi", maxRetries: 0 });
const ended = (model) => ask(model).catch((error) => error);

test("a model's wait delays no other model, and holds for every call", async () => {
  const all = models(busy(60), refused(401), answer);
  const model = failover(all.models, SHORT);
  assert.equal((await ask(model)).text, "Hello");
  assert.equal((await ask(model)).text, "Hello");
  assert.deepEqual([all.order, model.modelId], ["abcbc", "a|b|c"]);
  assert.ok(all.took() < 2000);
});

test("a model comes twice only after each came once", async () => {
  const all = models(refused(503), lost, refused(503));
  const error = await ended(failover(all.models, { ...SHORT, attempts: 5 }));
  assert.equal(all.order, "abcab");
  assert.deepEqual([outcomeOf(error).reason, outcomeOf(error).attempts], ["attempts", 5]);
});

test("each model is asked, however many there are", async () => {
  const all = models(refused(503), refused(503), refused(503), refused(503), answer);
  assert.equal((await ask(failover(all.models, SHORT))).text, "Hello");
  assert.equal(all.order, "abcde");
});

test("where all models said when to come back, the first one that is ready is waited for", async () => {
  const all = models([busy(1), answer], busy(2), busy(3));
  assert.equal((await ask(failover(all.models, SHORT))).text, "Hello");
  assert.equal(all.order, "abca");
  assert.ok(all.took() >= 990);
  const late = models(busy(7), busy(6));
  const error = await ended(failover(late.models, { ...SHORT, hint: { max: "5s" } }));
  assert.equal(late.order, "ab");
  const { reason, retryAt } = outcomeOf(error);
  assert.equal(reason, "hint");
  assert.ok(Math.abs(retryAt - Date.now() - 6000) < 1500);
  assert.ok(late.took() < 2000);
});

for (const [title, step, order] of [
  ["a wrong key", refused(401), "abc"],
  ["a forbidden model", refused(403), "abc"],
  ["an unknown model", refused(404), "abc"],
  ["a spent quota", spent, "abc"],
  ["x-should-retry: false", refused(503, { "x-should-retry": "false" }), "abc"],
  ["a wait of an hour", busy(3600), "abc"],
  ["a wrong request", refused(400), "a"],
  ["a request that is too large", refused(413), "a"],
]) {
  test(`nobody waits for ${title}`, async () => {
    const all = models(step, step, step);
    const error = await ended(failover(all.models, SHORT));
    assert.equal(all.order, order);
    assert.ok(APICallError.isInstance(error), error.stack);
    assert.ok(all.took() < 2000);
  });
}

test("a model that retries by itself fails over when it gives up", async () => {
  const [down, free] = [script(refused(503)), script(answer)];
  const fetch = llmFetch(SHORT);
  const own = createOpenAI({ apiKey: "k", baseURL: down.url, fetch }).chat("a");
  const other = createOpenAI({ apiKey: "k", baseURL: free.url }).chat("b");
  assert.equal((await ask(failover([own, other], SHORT))).text, "Hello");
  assert.deepEqual([down.log.length, free.log.length], [3, 1]);
});

test("a mistake of the program ends the call, and so does an abort", async () => {
  let asked = 0;
  const [{ models: both }, mistake] = [models(answer, answer), new TypeError("x is not a function")];
  const broken = new Proxy(both[0], {
    get: (model, name) =>
      name === "doGenerate"
        ? () => {
            asked++;
            throw mistake;
          }
        : model[name],
  });
  assert.equal(await ended(failover([broken, broken], SHORT)), mistake);
  assert.equal(asked, 1);
  const waiting = models(busy(30), busy(30));
  const user = new AbortController();
  const pending = generateText({
    ...{ model: failover(waiting.models, SHORT), prompt: "Hi", maxRetries: 0, abortSignal: user.signal },
  });
  while (waiting.order !== "ab") await new Promise(setImmediate);
  user.abort();
  await assert.rejects(pending, { name: "AbortError" });
});

/** The text that a stream gives, and whether it failed. */
async function read(model) {
  let [text, isFailed] = ["", false];
  try {
    for await (const part of streamText({ model, prompt: "Hi", maxRetries: 0, onError() {} }).fullStream) {
      if (part.type === "text-delta") text += part.text;
      isFailed ||= part.type === "error";
    }
  } catch {
    isFailed = true;
  }
  return [text, isFailed];
}

const reset = [{ wait: 20 }, { reset: true }];
const failing = 'data: {"error":{"message":"busy","type":"server_error","code":null}}\n\n';
for (const [title, first, text, order] of [
  ["an answer that is refused", refused(503), "Hello", "ab"],
  ["a stream that breaks off before its first token", { headers: events, parts: [chunk(""), ...reset] }, "Hello", "ab"],
  ["an error before the first token", { headers: events, parts: [chunk(""), failing] }, "Hello", "ab"],
  ["a stream that breaks off after its first token", { headers: events, parts: [chunk("Hel"), ...reset] }, "Hel", "a"],
  ["an error after the first token", { headers: events, parts: [chunk("Hel"), failing] }, "Hel", "a"],
]) {
  test(`a stream fails over before its first token: ${title}`, { timeout: 10_000 }, async () => {
    const all = models(first, stream);
    assert.deepEqual(await read(failover(all.models, SHORT)), [text, order === "a"]);
    assert.equal(all.order, order);
  });
}
