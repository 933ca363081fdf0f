// HTTP: the status and the Retry-After header of an answer that is no success decide.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { outcomeOf, Policy } from "holdoff";

const server = createServer((request, response) => {
  const failing = request.url === "/busy" && busy-- > 0;
  response.writeHead(request.url === "/missing" ? 404 : failing ? 503 : 200, { "retry-after": "0" }).end("hello");
});
let busy = 2;
await once(server.listen(0, "127.0.0.1"), "listening");
const base = `http://127.0.0.1:${server.address().port}`;

const policy = new Policy({ attempts: 4, backoff: { initial: "10ms" }, attemptTimeout: "2s" });

// The answer is the result, whichever it is: the last 503 as well.
const answer = (path) =>
  policy.retry(({ signal }) => fetch(base + path, { signal }), {
    whenResult: (response) => !response.ok,
    onRetry: ({ attempt, value }) => console.log(`attempt ${attempt}: ${value.status}`),
  });

const found = await answer("/busy");
assert.equal(await found.text(), "hello");
assert.equal(outcomeOf(found), undefined);
busy = Infinity;
const refused = await answer("/busy");
assert.equal(refused.status, 503);
assert.equal(outcomeOf(refused).reason, "attempts");
busy = 2;

// Or an answer that is no success is thrown.
async function get(path) {
  return policy.retry(async ({ signal }) => {
    const response = await fetch(base + path, { signal });
    if (!response.ok) throw Object.assign(new Error(`${path}: ${response.status}`), { response });
    return response.text();
  });
}

console.log(await get("/busy"));
const error = await get("/missing").catch((error) => error);
console.log(error.message, outcomeOf(error).reason);
server.close();
server.closeAllConnections();
