// The server that stands for https://example.com in the programs of the pages.
import { once } from "node:events";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";

/** Fails at first as the page says. What it does depends on the path. */
function usual({ url, headers }, calls, answer) {
  if (url.startsWith("/quota")) return calls === 1 ? answer(429, { "retry-after": "1" }) : answer(200, {}, "{}");
  if (url.startsWith("/jobs")) return answer(200, {}, JSON.stringify({ state: calls < 3 ? "running" : "done" }));
  if (url.startsWith("/export")) return answer(calls < 3 ? 202 : 200);
  if (url.startsWith("/slow")) return setTimeout(() => answer(200), calls === 1 ? 2000 : 0);
  if (url.startsWith("/charges")) return answer(calls === 1 ? 429 : 201, {}, `{"key": "${headers["idempotency-key"] ?? ""}"}`);
  return answer(calls < 3 ? 503 : 200);
}

/** Begins its first body and never ends it. */
function stalls(request, calls, answer, response) {
  if (calls > 1) return answer(200, {}, WELL);
  response.writeHead(200, { "content-length": 4096 }).write(".".repeat(1024));
}

/** Asks the first caller to come back after a second. */
function throttles(request, calls, answer) {
  return calls > 1 ? answer(200, {}, WELL) : answer(429, { "retry-after": "1" });
}

/** Refuses two requests, and answers the third one as the path wants it. */
function refuses({ url }, calls, answer) {
  if (calls < 3) return answer(503);
  const [type, body] = Object.entries(BODIES).find(([end]) => url.split(/\/?\?/)[0].endsWith(end))?.[1] ?? ["text/plain", "hello"];
  answer(200, { "content-type": type }, body);
}

const json = (value) => ["application/json", JSON.stringify(value)];
const usage = { input_tokens: 1, output_tokens: 1 };
const message = { id: "m", role: "assistant", model: "m", usage };
const completion = { message: { role: "assistant", content: "hello" }, index: 0, finish_reason: "stop" };
const output = { type: "message", role: "assistant", id: "m", content: [{ type: "output_text", text: "hello", annotations: [] }] };

/** What providers answer, by the end of the path. */
const BODIES = {
  "/chat/completions": json({ id: "c", object: "chat.completion", created: 1, model: "m", choices: [completion] }),
  "/messages": json({ ...message, type: "message", content: [{ type: "text", text: "hello" }], stop_reason: "end_turn" }),
  "/responses": json({ id: "r", object: "response", created_at: 1, model: "m", output: [output], usage }),
  "/photos": ["application/xml", "<ListBucketResult><Contents><Key>hello</Key></Contents></ListBucketResult>"],
};

/** The variables by which clients of providers find this server. */
export const providers = (origin) => ({
  OPENAI_API_KEY: "key",
  OPENAI_BASE_URL: `${origin}/v1`,
  ANTHROPIC_API_KEY: "key",
  ANTHROPIC_BASE_URL: origin,
  AWS_ENDPOINT_URL: origin,
  AWS_REGION: "eu-west-1",
  AWS_DEFAULT_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "key",
  AWS_SECRET_ACCESS_KEY: "secret",
});

const WELL = '{"state": "done"}';
export const MODES = { usual, stalls, throttles, refuses };

/** A server whose `begin(mode)` forgets earlier requests; `arrivals` has the moments of the later ones. */
export async function flaky() {
  let mode = usual;
  const arrivals = [];
  const server = createServer((request, response) => {
    arrivals.push(performance.now());
    const answer = (status, headers = {}, body = "hello") => response.writeHead(status, headers).end(body);
    // A request is answered when its body is here, as a program expects it.
    request.resume().on("end", () => mode(request, arrivals.length, answer, response));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    arrivals.push(performance.now());
    if (arrivals.length < 3) return socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (client) => client.send("hello"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: server.address().port,
    arrivals,
    begin(name) {
      mode = MODES[name];
      arrivals.length = 0;
    },
    close: () => (server.closeAllConnections(), server.close()),
  };
}
