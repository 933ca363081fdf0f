// A server whose paths play scripts: a list of steps, one for each request; the last one repeats.
import { once } from "node:events";
import { createServer } from "node:http";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

const scripts = new Map();
let sockets = 0;

async function play(request, response) {
  const script = scripts.get(request.url.split(/[/?]/)[1]);
  const step = script.steps[Math.min(script.log.length, script.steps.length - 1)];
  const entry = { at: performance.now(), method: request.method, headers: request.headers, socket: request.socket.id };
  script.log.push(entry);
  request.on("error", () => {});
  if (step.reset === "at_once") return request.socket.resetAndDestroy();
  const chunks = [];
  if (!step.early) for await (const chunk of request) chunks.push(chunk);
  entry.body = Buffer.concat(chunks).toString();
  if (step.reset === "before") return request.socket.resetAndDestroy();
  const { status = 200, headers = {}, body = `answer ${script.log.length}`, wait = 0 } = step;
  if (wait) await sleep(wait);
  const given = typeof headers === "function" ? headers() : headers;
  response.on("close", () => {
    entry.isWhole = response.writableFinished;
  });
  if (step.parts) {
    response.writeHead(status, { "content-type": "text/plain", ...given });
    for (const part of step.parts) {
      if (typeof part === "string") response.write(part);
      else if (part === "end") response.end();
      else if (part.reset) request.socket.resetAndDestroy();
      else await sleep(part.wait);
    }
    return step.open || response.end();
  }
  if (step.endless) {
    response.writeHead(status, given);
    const timer = setInterval(() => response.write("x".repeat(1000)), 5);
    return response.on("close", () => clearInterval(timer));
  }
  response.writeHead(status, { "content-type": "text/plain", "content-length": Buffer.byteLength(body), ...given });
  return response.end(body);
}

/** A server with a port of its own, to which no client has a connection yet. */
export async function listen() {
  const server = createServer(play);
  server.on("connection", (socket) => {
    socket.id = ++sockets;
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

export const origin = await listen();

/** A path that plays these steps, and the requests that it has seen. */
export function script(...steps) {
  const log = [];
  const name = `s${scripts.size}`;
  scripts.set(name, { steps, log });
  return {
    url: `${origin}/${name}`,
    log,
    get gaps() {
      return log.slice(1).map(({ at }, index) => at - log[index].at);
    },
    get sockets() {
      return new Set(log.map(({ socket }) => socket)).size;
    },
  };
}

/** A port of this machine on which nobody listens. */
export async function closedPort() {
  const closing = createServer().listen(0, "127.0.0.1");
  await once(closing, "listening");
  const { port } = closing.address();
  closing.close();
  return port;
}
