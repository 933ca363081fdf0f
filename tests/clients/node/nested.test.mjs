// A retry around an SDK and a retry below it, which the SDK cannot see: what the inner one has given up on stays so.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText } from "ai";
import OpenAI from "openai";
import "../../../bindings-wasm/dist/esm/guards.js";
import "../../../bindings-wasm/dist/esm/node.js";
import { outcomeOf, Policy } from "../../../bindings-wasm/dist/esm/index-node.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
let requests = 0;
const server = createServer((request, response) => {
  requests++;
  request.resume();
  request.on("end", () => {
    response.writeHead(503, { "content-type": "application/json" });
    response.end('{"error":{"message":"busy"}}');
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const baseURL = `http://127.0.0.1:${server.address().port}`;
after(() => {
  server.closeAllConnections();
  server.close();
});

const messages = [{ role: "user", content: "Hi" }];
const sdks = {
  openai: (fetch) =>
    new OpenAI({ apiKey: "k", baseURL, maxRetries: 0, fetch }).chat.completions.create({ model: "m", messages }),
  anthropic: (fetch) =>
    new Anthropic({ apiKey: "k", baseURL, maxRetries: 0, fetch }).messages.create({
      model: "m",
      max_tokens: 5,
      messages,
    }),
  ai: (fetch) =>
    generateText({ model: createOpenAI({ apiKey: "k", baseURL, fetch }).chat("m"), prompt: "Hi", maxRetries: 0 }),
};

for (const [name, call] of Object.entries(sdks)) {
  test(`${name}: what the retry below the SDK has given up on is not tried again`, async () => {
    for (const [outer, inner, wanted, reason] of [
      ["allow", "allow", 9, "attempts"],
      ["innermost", null, 3, "permanent"],
      ["innermost", "allow", 3, "permanent"],
      ["allow", "outermost", 3, "attempts"],
    ]) {
      requests = 0;
      const fields = { attempts: 3, backoff: { initial: 0 }, budget: "none" };
      const below = new Policy({ ...fields, nested: inner });
      const retrying = (input, init) =>
        below.retry(({ signal }) => fetch(input, { ...init, signal }), { whenResult: true });
      const around = new Policy({ ...fields, nested: outer });
      const error = await around.retry(() => call(retrying)).catch((thrown) => thrown);
      assert.deepEqual([requests, outcomeOf(error)?.reason], [wanted, reason], `${outer} around ${inner}`);
    }
  });
}
