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

const WELL = '{"state": "done"}';
export const MODES = { usual, stalls, throttles };

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
