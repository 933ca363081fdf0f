import assert from "node:assert/strict";
import { test } from "node:test";
import { classify, httpFailure, parseDuration, parseNanos } from "holdoff";

const kinds = (errors) => errors.map((error) => classify(error).kind);
const all = (kind, errors) => assert.deepEqual(kinds(errors), Array(errors.length).fill(kind));

test("a lost connection is transient, whatever the runtime calls it", () => {
  const messages = [
    "fetch failed",
    "Failed to fetch",
    "NetworkError when attempting to fetch resource.",
    "Load failed",
    "network error",
    "terminated",
    "Network request failed",
    "The Internet connection appears to be offline.",
  ];
  all(
    "transient",
    messages.map((message) => new TypeError(message)),
  );
});

test("a program's own mistakes are permanent", () => {
  const own = [TypeError, ReferenceError, SyntaxError, RangeError, EvalError, URIError];
  all(
    "permanent",
    own.map((Type) => new Type("undefined is not a function")),
  );
  all("permanent", [new assert.AssertionError({ message: "no" }), new DOMException("aborted", "AbortError")]);
});

test("a timeout is a timeout", () => {
  const code = Object.assign(new Error("connect ETIMEDOUT"), { code: "ETIMEDOUT" });
  all("timeout", [new DOMException("late", "TimeoutError"), code]);
});

test("any other error is transient", () => {
  const code = Object.assign(new Error("read"), { code: "ECONNRESET" });
  all("transient", [new Error("no"), code, "text", undefined, null, 0, {}, () => {}]);
});

test("an HTTP status decides, wherever the client keeps it", () => {
  const headers = new Headers({ "Retry-After": "2" });
  for (const error of [
    { status: 503, headers },
    { response: { status: 503, headers } },
    { response: { status: 503, headers: { "retry-after": "2" } } },
    { status: 503, headers: { "Retry-After": 2 } },
    new Response("", { status: 503, headers }),
    Object.assign(new Error("503"), { statusCode: 503, response: { headers } }),
  ]) {
    assert.deepEqual(classify(error), { kind: "transient", hint: 2000 });
  }
  assert.deepEqual(classify({ status: 404 }), { kind: "permanent", hint: undefined });
  assert.deepEqual(classify({ status: 429 }), { kind: "throttled", hint: undefined });
  assert.deepEqual(classify(Object.assign(new TypeError("own"), { status: 200 })), {
    kind: "permanent",
    hint: undefined,
  });
});

test("statuses and headers are read by the core's rules", () => {
  assert.equal(httpFailure(200), undefined);
  assert.deepEqual(httpFailure(503, " 120 "), { kind: "transient", hint: 120_000 });
  assert.deepEqual(httpFailure(503, "soon"), { kind: "transient", hint: undefined });
  assert.deepEqual(httpFailure(503, "9".repeat(9999)).kind, "transient");
  assert.deepEqual(httpFailure(503, "99999999999"), { kind: "transient", hint: 2n ** 63n - 1n });
  for (const odd of [Number.NaN, -1, 2 ** 40, Infinity]) assert.equal(httpFailure(odd)?.kind, "permanent");
});

test("durations are read", () => {
  assert.equal(parseDuration("1.5s"), 1500);
  assert.equal(parseNanos("7ns"), 7n);
  for (const odd of ["", "5", "-1s", "1s ", "١s", "s".repeat(9999), 5, null, undefined]) {
    assert.equal(parseDuration(odd), undefined);
    assert.equal(parseNanos(odd), undefined);
  }
});
