// The rules of every front, against a server that plays scripts. The expected values are the rules, not what a front was seen to do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { fronts } from "./fronts.mjs";
import { closedPort, listen, origin, script } from "./script.mjs";

const unavailable = { status: 503 };
const withHeaders = (headers) => ({ status: 503, headers });
const POST = { method: "POST", body: "pay" };
const closed = await closedPort();
const big = "x".repeat(40_000);
const date = () => ({ "retry-after": new Date(Date.now() + 2000).toUTCString() });
const torn = { headers: { "content-length": "1000" }, parts: ["partial", { wait: 20 }, { reset: true }] };
const short = { headers: { "content-length": "1000", connection: "close" }, parts: ["partial", { wait: 20 }, "end"] };

/**
 * Steps, the request, and what must come of it: a status or an error, the number of requests, and for some cases the gap before the second one, the
 * reason, the bodies, or the number of connections.
 */
const cases = {
  "GET, 503 twice": [[unavailable, unavailable, {}], {}, { status: 200, requests: 3 }],
  "GET, 404": [[{ status: 404 }], {}, { status: 404, requests: 1, reason: "permanent" }],
  "GET, lasting 503": [[unavailable], {}, { status: 503, requests: 3, reason: "attempts" }],
  "POST, 503": [[unavailable, {}], POST, { status: 503, requests: 1, reason: "permanent" }],
  "POST, 425": [[{ status: 425 }, {}], POST, { status: 200, requests: 2 }],
  "POST, 429 with Retry-After": [
    [{ status: 429, headers: { "retry-after": "1" } }, {}],
    POST,
    { status: 200, requests: 2, gap: 1000 },
  ],
  "POST with Idempotency-Key, 503": [
    [unavailable, {}],
    { ...POST, headers: { "Idempotency-Key": "k1" } },
    { status: 200, requests: 2, bodies: ["pay", "pay"] },
  ],
  "PUT, 503": [
    [unavailable, {}],
    { method: "PUT", body: "data" },
    { status: 200, requests: 2, bodies: ["data", "data"] },
  ],
  "PUT of a stream, 503": [
    [unavailable, {}],
    { method: "PUT", stream: "data" },
    { status: 200, requests: 2, bodies: ["data", "data"] },
  ],
  "PUT of a Request, 503": [
    [unavailable, {}],
    { method: "PUT", body: "data", isRequest: true },
    { status: 200, requests: 2, bodies: ["data", "data"] },
  ],
  "Retry-After, seconds": [[withHeaders({ "retry-after": "1" }), {}], {}, { status: 200, requests: 2, gap: 1000 }],
  "Retry-After, a date": [[withHeaders(date), {}], {}, { status: 200, requests: 2, gap: 1000 }],
  "retry-after-ms": [[withHeaders({ "retry-after-ms": "300" }), {}], {}, { status: 200, requests: 2, gap: 300 }],
  "Retry-After, too long": [
    [withHeaders({ "retry-after": "3600" })],
    {},
    { status: 503, requests: 1, reason: "hint", within: 500 },
  ],
  "x-should-retry: false": [[withHeaders({ "x-should-retry": "false" }), {}], {}, { status: 503, requests: 1 }],
  "GET, reset before the answer": [[{ reset: "before" }, {}], {}, { status: 200, requests: 2 }],
  "POST, reset before the answer": [[{ reset: "before" }, {}], POST, { error: true, requests: 1, reason: "permanent" }],
  "GET, reset in the body": [[torn, {}], {}, { status: 200, requests: 2 }],
  "GET, body too short": [[short, {}], {}, { status: 200, requests: 2 }],
  "POST to a closed port": ["closed", POST, { error: true, attempts: 3, reason: "attempts" }],
  "302, then 503": ["redirect", {}, { status: 200, requests: 2 }],
  "abort in the sleep": [
    [withHeaders({ "retry-after": "5" }), {}],
    { abort: 100 },
    { error: true, requests: 1, within: 600, reason: "cancelled" },
  ],
  "connections, 10 B": [[unavailable, unavailable, {}], {}, { status: 200, requests: 3, sockets: 1 }],
  "connections, 40 kB": [
    [{ status: 503, body: big }, { status: 503, body: big }, {}],
    {},
    { status: 200, requests: 3, sockets: 1 },
  ],
  "refused answer of 3 MB": [[{ status: 503, body: "x".repeat(3e6) }, {}], {}, { status: 200, requests: 2 }],
  "refused answer without end": [[{ status: 503, endless: true }, {}], {}, { status: 200, requests: 2, within: 2500 }],
};

/** What a front is expected to do otherwise, because its client cannot. */
function expectedOf(title, front, expected) {
  if (/stream/.test(title) && !front.streams) return { status: 503, requests: 1, reason: "body" };
  return expected;
}

for (const [name, front] of Object.entries(fronts)) {
  if ((process.env.ONLY ?? name) !== name) continue;
  for (const [title, [steps, { abort, ...init }, rule]] of Object.entries(cases)) {
    const expected = expectedOf(title, front, rule);
    if ((init.isRequest && !front.requests) || (steps === "redirect" && !front.follows)) continue;
    if (/without end/.test(title) && front.whole) continue;
    test(`${name}: ${title}`, { timeout: 10_000 }, async () => {
      const played = Array.isArray(steps) ? script(...steps) : script(unavailable, {});
      const redirect = script({ status: 302, headers: { location: played.url } });
      const url = steps === "closed" ? `http://127.0.0.1:${closed}/` : steps === "redirect" ? redirect.url : played.url;
      const from = expected.sockets ? await listen() : origin;
      const user = new AbortController();
      if (abort) setTimeout(() => user.abort(new Error("enough")), abort);
      const began = performance.now();
      const end = await front
        .call(url.replace(origin, from), { method: "GET", ...init, ...(abort && { signal: user.signal }) })
        .catch((error) => ({
          error,
          status: error.response?.status ?? error.response?.statusCode,
          outcome: outcomeOf(error) ?? outcomeOf(error.cause),
        }));
      const took = performance.now() - began;
      const told = `${end.error?.stack} ${JSON.stringify(end.outcome)}`;
      if (expected.error) assert.ok(end.error && (abort || end.status === undefined), told);
      else assert.equal(end.status, expected.status, told);
      if (expected.requests) assert.equal(played.log.length, expected.requests, told);
      if (expected.gap)
        assert.ok(played.gaps[0] >= expected.gap && played.gaps[0] < expected.gap + 1500, `${played.gaps}`);
      if (expected.bodies)
        assert.deepEqual(
          played.log.map(({ body }) => body),
          expected.bodies,
        );
      if (expected.sockets) assert.equal(played.sockets, expected.sockets, "connections");
      if (expected.within) assert.ok(took < expected.within, `${took} ms`);
      if (expected.reason && front.tells) assert.equal(end.outcome?.reason, expected.reason, told);
      if (expected.attempts) assert.equal(end.outcome?.attempts, expected.attempts, told);
      if (expected.status === 200) assert.match(end.text, /^answer \d$/);
    });
  }
}
