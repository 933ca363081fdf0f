// A provider of language models on 127.0.0.1. It answers by scripts, as provider.py does, and keeps the times of the requests.
//
// The steps of a script are separated by spaces; the last one repeats. A step is a status with headers (`503`, `429;retry-after=1`), or
// `reset`: the connection is reset before the answer; `quota`: a 429 whose body says that the quota is spent; `stream`: three tokens;
// `early`: reset before the first token; `late`: reset after it; `overloaded`: a stream whose first event is an error.
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const TOKENS = ["one ", "two ", "three"];
const MESSAGE = { id: "m", type: "message", role: "assistant", model: "m", stop_sequence: null };
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1 };

const completion = (part, content) => ({
  ...{ id: "c", object: part === "delta" ? "chat.completion.chunk" : "chat.completion", created: 1, model: "m", usage },
  choices: [{ index: 0, [part]: { role: "assistant", content }, finish_reason: null }],
});
const message = (content) => ({ ...MESSAGE, usage, content, stop_reason: content.length > 0 ? "end_turn" : null });

/** The events of a stream: before the first token, the tokens, and after them. */
const CHAT = [
  [{ ...completion("delta", ""), choices: [] }, completion("delta", "")],
  TOKENS.map((token) => completion("delta", token)),
  ["[DONE]"],
];
const MESSAGES = [
  [
    { type: "message_start", message: message([]) },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
  ],
  TOKENS.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
  [{ type: "content_block_stop", index: 0 }, { type: "message_stop" }],
];
const BUSY = { type: "error", error: { type: "overloaded_error", message: "busy" } };

async function streams(word, [first, tokens, last], response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const resetAt = { early: first.length, late: first.length + 1 }[word];
  const events = [...first, ...(word === "overloaded" ? [BUSY] : [...tokens, ...last])];
  for (const [index, event] of events.entries()) {
    if (index === resetAt) {
      await sleep(50);
      return response.socket.resetAndDestroy();
    }
    const name = event.type ? `event: ${event.type}\n` : "";
    response.write(`${name}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  }
  return response.end();
}

export async function provider() {
  let steps = [];
  let times = [];
  const server = createServer(async (request, response) => {
    const at = performance.now();
    const { stream } = await json(request);
    times.push(at);
    const [step, ...given] = steps[Math.min(times.length, steps.length) - 1].split(";");
    const isChat = request.url.split("?")[0].endsWith("chat/completions");
    if (step === "reset") return request.socket.resetAndDestroy();
    const word = step === "200" && stream ? "stream" : step;
    if (/^[a-z]/.test(word) && word !== "quota") return streams(word, isChat ? CHAT : MESSAGES, response);
    const code = word === "quota" ? "insufficient_quota" : `status_${word}`;
    const status = word === "quota" ? 429 : Number(word);
    const failed = { type: "error", error: { type: code, code, message: `status ${status}` } };
    const answer = isChat ? completion("message", "hi") : message([{ type: "text", text: "hi" }]);
    const headers = Object.fromEntries(given.map((each) => each.split("=")));
    response.writeHead(status, { "content-type": "application/json", ...headers });
    return response.end(JSON.stringify(status < 400 ? answer : failed));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    /** Plays these steps from now on. Returns the times of their requests. */
    script(text) {
      steps = text.split(" ");
      times = [];
      return times;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
