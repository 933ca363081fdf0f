import assert from "node:assert/strict";
import { test } from "node:test";
import {
  classify,
  grpcFailure,
  hintOf,
  httpFailure,
  outcomeOf,
  Policy,
  parseDuration,
  parseNanos,
  retry,
} from "holdoff";
import "holdoff/policies";
import "holdoff/rules";
import { failure, VirtualClock } from "./virtual.mjs";

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
  all("transient", [new Error("no"), code, undefined, null, {}, () => {}]);
});

test("a thrown text or number is the reason of an abort", () => all("permanent", ["text", "", 0, 7]));

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

test("an error of the AWS SDK has its status in its metadata, and a throttled call whatever status", () => {
  const aws = (name, httpStatusCode, headers) =>
    Object.assign(new Error(name), { name, $metadata: { httpStatusCode }, $response: { headers } });
  all("permanent", [aws("ResourceNotFoundException", 404), aws("ValidationException", 400)]);
  all("transient", [aws("InternalServerError", 500), aws("NetworkingError", undefined)]);
  all("throttled", [aws("ThrottlingException", 400), aws("TooManyRequestsException", 429), aws("SlowDown", 503)]);
  all("throttled", [aws("ProvisionedThroughputExceededException", 400), aws("RequestLimitExceeded", 503)]);
  assert.equal(classify(aws("SlowDown", 503, { "retry-after": "3" })).hint, 3000);
});

test("a request that the caller canceled is permanent, whatever the client calls it", () => {
  const axios = Object.assign(new Error("canceled"), { name: "CanceledError", code: "ERR_CANCELED" });
  const got = Object.assign(new Error("Promise was canceled"), { name: "CancelError", code: "ERR_CANCELED" });
  all("permanent", [axios, got]);
  all("timeout", [Object.assign(new Error("timeout of 5ms exceeded"), { name: "AxiosError", code: "ECONNABORTED" })]);
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

test("whatever a server says about when to come back is read from its headers", () => {
  const at = Date.now() + 3_600_000;
  const date = new Date(at).toUTCString();
  for (const [headers, hint] of [
    [{ "retry-after-ms": "1500" }, 1500],
    [{ "X-Amz-Retry-After": 250 }, 250],
    [{ "ratelimit-remaining": "0", "ratelimit-reset": "30" }, 30_000],
    [{ "retry-after": ["soon", "7"] }, 7000],
    [new Map([["Retry-After", "2"]]), 2000],
    [[["Retry-After", "2"], "no pair", ["retry-after", Symbol("odd")]], 2000],
    [{ get: (name) => (name === "retry-after" ? "4" : null) }, 4000],
    [{ "retry-after": "5\u00e9" }, undefined],
    [null, undefined],
    ["retry-after: 5", undefined],
  ]) {
    assert.equal(classify({ status: 429, headers }).hint, hint, JSON.stringify(headers));
  }
  const { hint } = classify({ status: 503, headers: { "Retry-After": date } });
  assert.ok(hint > 3_590_000 && hint <= 3_600_000, String(hint));
  const ahead = new Date(at + 7_200_000).toUTCString();
  const later = new Date(at + 7_202_000).toUTCString();
  assert.equal(hintOf({ "Retry-After": later, Date: ahead }, { wall: at }), 2000);
  const answer = { get: (name) => ({ date: ahead, "retry-after": later })[name] };
  assert.equal(hintOf(answer, { wall: null }), 2000);
  assert.equal(hintOf({ "Retry-After": "0.503" }), 503);
  assert.equal(hintOf({ "Retry-After": date }, { wall: at - 5000 }), 5000 - (at % 1000));
  assert.equal(hintOf({ "Retry-After": date }, { wall: null }), undefined);
  assert.equal(hintOf({ "grpc-retry-pushback-ms": "-1" }), "never");
  assert.throws(() => hintOf({}, { wall: -1 }), /wall = -1/);
  assert.deepEqual(httpFailure(503, new Headers({ "retry-after-ms": "5" })), { kind: "transient", hint: 5 });
});

test("a gRPC status is judged when the error carries its metadata", () => {
  const metadata = { get: (name) => (name === "grpc-retry-pushback-ms" ? ["250"] : []) };
  assert.deepEqual(classify({ code: 14, metadata }), { kind: "transient", hint: 250 });
  assert.deepEqual(classify({ code: 5, metadata }), { kind: "permanent", hint: 250 });
  assert.deepEqual(classify({ code: 999, metadata: {} }), { kind: "permanent", hint: undefined });
  assert.equal(classify(new DOMException("late", "TimeoutError")).kind, "timeout");
  assert.deepEqual(grpcFailure(8, "-1"), { kind: "throttled", hint: "never" });
  assert.equal(grpcFailure(0), undefined);
  assert.deepEqual(grpcFailure(Number.NaN), { kind: "permanent", hint: undefined });
});

/** Rules that retry what these conditions hold for, and nothing else. */
const only = (...conditions) => [
  { if: conditions, retry: true },
  { if: {}, retry: false },
];

test("a policy's rules have the last word, but for a program's own mistakes", () => {
  const policy = new Policy({
    rules: only(
      { http: [404, "5xx"] },
      { patterns: ["try again", "\u00e9\ud83d\ude00", "\ud800"] },
      { kinds: ["throttled"] },
    ),
  });
  for (const [error, kind] of [
    [{ status: 404 }, "transient"],
    [{ status: 503 }, "transient"],
    [{ status: 400 }, "permanent"],
    [{ status: 429 }, "throttled"],
    [new Error("no"), "permanent"],
    [new Error("please try again"), "transient"],
    [new Error("Try Again"), "permanent"],
    [new Error("\u00e9\ud83d\ude00"), "transient"],
    ["try again", "transient"],
    [new TypeError("try again"), "permanent"],
    [new DOMException("try again", "AbortError"), "permanent"],
    [{ message: Symbol("odd") }, "permanent"],
    [undefined, "permanent"],
  ]) {
    assert.equal(policy.classify(error).kind, kind, String(error?.message ?? error));
  }
  const judged = policy.judge({ kind: "permanent", hint: "2s" }, { status: 404 });
  assert.deepEqual(judged, { kind: "transient", hint: 2000, rule: 1 });
  assert.deepEqual(new Policy().judge("permanent", { status: 404 }), { kind: "permanent", hint: undefined });
});

test("a message that throws when it is read has no pattern, and the error comes out", async () => {
  const own = Object.defineProperty(new Error(), "message", {
    get() {
      throw new Error("not yours");
    },
  });
  const policy = new Policy({ rules: only({ patterns: ["busy"] }) });
  assert.ok((await failure(policy.retry(() => Promise.reject(own)))) === own);
  assert.equal(outcomeOf(own).reason, "permanent");
});

class Declined extends Error {}
class CardDeclined extends Declined {}

test("a rule names the class of an error or one it derives from", () => {
  const never = (type) => new Policy({ rules: [{ if: { types: [type] }, retry: false }] });
  assert.equal(never("CardDeclined").classify(new CardDeclined()).kind, "permanent");
  assert.equal(never("Declined").classify(new CardDeclined()).kind, "permanent");
  assert.equal(never("CardDeclined").classify(new Declined()).kind, "transient");
  const named = Object.assign(new Error("no"), { name: "PaymentError" });
  assert.equal(never("PaymentError").classify(named).kind, "permanent");
});

test("a program's own mistake is retried only by a rule that names its class", () => {
  const rules = (condition) => new Policy({ rules: [{ if: condition, retry: true }] });
  assert.equal(rules({ types: ["TypeError"] }).classify(new TypeError("x")).kind, "transient");
  assert.equal(rules({ types: ["RangeError"] }).classify(new TypeError("x")).kind, "permanent");
  assert.equal(rules({}).classify(new TypeError("x")).kind, "permanent");
});

test("a rule names codes of an error or of what caused it", () => {
  const policy = new Policy({ rules: [{ if: { codes: ["ECONNRESET", "40001"] }, retry: false }] });
  const reset = Object.assign(new Error("reset"), { code: "ECONNRESET" });
  for (const error of [
    reset,
    new TypeError("fetch failed", { cause: reset }),
    new Error("outer", { cause: new Error("inner", { cause: reset }) }),
    Object.assign(new Error("deadlock"), { code: "ER_LOCK", sqlState: "40001" }),
  ]) {
    assert.equal(policy.classify(error).kind, "permanent", error.message);
  }
  assert.equal(policy.classify(Object.assign(new Error("pipe"), { code: "EPIPE" })).kind, "transient");
});

async function callsOf(policy, errors, options) {
  let count = 0;
  const clock = new VirtualClock();
  const work = () => {
    throw errors[Math.min(count++, errors.length - 1)];
  };
  await failure(clock.settled(policy.retry(work, { ...options, clock })));
  return count;
}

test("a rule with attempts counts the failures that it takes", async () => {
  const rules = [
    { if: { http: [503] }, attempts: 4, backoff: { initial: 1 } },
    { if: { http: [500] }, attempts: 2 },
  ];
  const policy = new Policy({ attempts: 2, backoff: { initial: 1 }, rules });
  const [busy, broken, lost] = [{ status: 503 }, { status: 500 }, new Error("lost")];
  assert.equal(await callsOf(policy, [busy]), 4);
  assert.equal(await callsOf(policy, [broken]), 2);
  assert.equal(await callsOf(policy, [lost]), 2);
  assert.equal(await callsOf(policy, [busy, lost, busy, busy, broken, busy]), 6);
});

test("an operation that may not run twice is retried after what is safe", async () => {
  const policy = new Policy({ backoff: { initial: 1 } });
  const once = { idempotent: false };
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  assert.equal(await callsOf(policy, [{ status: 503 }]), 3);
  assert.equal(await callsOf(policy, [{ status: 503 }], once), 1);
  assert.equal(await callsOf(policy, [new DOMException("late", "TimeoutError")], once), 1);
  assert.equal(await callsOf(policy, [{ status: 429 }], once), 3);
  assert.equal(await callsOf(policy, [new TypeError("fetch failed", { cause: refused })], once), 3);
  assert.equal(await callsOf(policy, [new Error("lost")], once), 1);
  assert.equal(await callsOf(policy, [new Error("lost")], { ...once, when: () => true }), 3);
  const named = new Policy({
    backoff: { initial: 1 },
    rules: [{ if: { idempotent: false, http: [503] }, retry: true }],
  });
  assert.equal(await callsOf(named, [{ status: 503 }], once), 3);
  assert.equal(await callsOf(named, [{ status: 500 }], once), 1);
  assert.equal((await failure(retry(() => 1, { idempotent: "no" }))).path, "idempotent");
});

test("what a server says about retries comes before the rules", async () => {
  const policy = new Policy({ backoff: { initial: 1 } });
  const said = (status, word) => ({ status, headers: { "X-Should-Retry": word } });
  assert.equal(await callsOf(policy, [said(429, "false")]), 1);
  assert.equal(await callsOf(policy, [said(404, "true")]), 3);
  assert.equal(await callsOf(policy, [said(404, "perhaps")]), 1);
  const rules = [{ if: { http: [404, 429] }, retry: false }];
  assert.equal(await callsOf(new Policy({ rules }), [said(404, "true")]), 1);
  assert.equal(await callsOf(new Policy({ rules: only({ http: [429] }) }), [said(429, "false")]), 1);
});

test("a deadline alone ends the attempts", async () => {
  const policy = new Policy({ deadline: "5m" });
  assert.ok((await callsOf(policy, [new Error("lost")])) > 50);
});

test("a deadline that aborts no attempt is no limit of the first one", async () => {
  const fields = { deadline: 20, attempts: 1, abortAtDeadline: false };
  assert.equal(new Policy(fields).firstLimit, Infinity);
  assert.equal(new Policy({ ...fields, attemptTimeout: 500 }).firstLimit, 500);
  for (const deadline of [20, 10]) {
    const slow = ({ signal }) => new Promise((resolve) => setTimeout(() => resolve(signal.aborted), 40));
    assert.equal(await retry(slow, { ...fields, deadline }), false);
  }
});

test("a deadline that aborts no attempt counts from the first one's beginning", async () => {
  const clock = new VirtualClock();
  const slow = async () => {
    await new Promise((resolve) => clock.setTimeout(resolve, 60));
    throw new Error("down");
  };
  const policy = new Policy({ deadline: 50, attempts: 5, abortAtDeadline: false, backoff: { initial: 0 } });
  const outcome = outcomeOf(await failure(clock.settled(policy.retry(slow, { clock }))));
  assert.deepEqual([outcome.reason, outcome.attempts], ["deadline", 1]);
});

test("delays and deadlines from the start count the first attempt", async () => {
  const backoff = { kind: "constant", initial: 20 };
  for (const [fields, taken, attempts] of [
    [{ delayFrom: "start" }, 10, 2],
    [{ deadline: 50, resetAfter: 50 }, 40, 1],
  ]) {
    const clock = new VirtualClock();
    const policy = new Policy({ ...fields, attempts: 3, backoff, jitter: "none" });
    let calls = 0;
    const work = async () => {
      if (++calls > 1) return;
      await new Promise((resolve) => clock.setTimeout(resolve, taken));
      throw new Error("down");
    };
    // Under a signal and under hooks the loop begins otherwise.
    for (const options of [{}, { signal: new AbortController().signal }, { onRetry() {} }]) {
      calls = 0;
      const began = clock.now();
      await clock.settled(policy.retry(work, { ...options, clock }).catch(() => {}));
      assert.deepEqual([calls, clock.now() - began], [attempts, Math.max(taken, 20)]);
    }
  }
});

test("an attempt over its limit is judged by the rules as well", async () => {
  const clock = new VirtualClock();
  const policy = new Policy({ attemptTimeout: 5, rules: only({ kinds: ["transient"] }) });
  const error = await failure(clock.settled(policy.retry(() => new Promise(() => {}), { clock })));
  assert.equal(outcomeOf(error).reason, "permanent");
});

test("an answer below 400 is a failure where a rule names its status", () => {
  const policy = new Policy({ rules: [{ if: { http: [202, "5xx"] }, retry: true }] });
  assert.deepEqual(
    [200, 202, 400, 503].map((status) => policy.isFailure(status)),
    [false, true, true, true],
  );
  assert.equal(new Policy().isFailure(202), false);
  assert.equal(policy.classify({ status: 202 }).kind, "transient");
  for (const odd of [Number.NaN, -1, 2 ** 40]) assert.equal(policy.isFailure(odd), false);
});

test("a header of any length is read from its end", () => {
  for (const piece of [",", "1,", "Mon,", "Sun, 06 Nov 1994 08:49:37 GMX,", "1ms", "9", '"\\', "x", " "]) {
    const line = piece.repeat(10_000_000 / piece.length);
    const { user, system } = process.cpuUsage();
    assert.equal(hintOf({ "retry-after": `${line}, 7` }, { status: 503 }), 7000);
    for (const name of ["retry-after", "ratelimit", "x-ratelimit-reset", "grpc-retry-pushback-ms", "date"])
      hintOf({ [name]: line }, { status: 503 });
    httpFailure(503, Array(95).fill(["retry-after", line.slice(0, 65_000)]));
    const took = process.cpuUsage({ user, system });
    assert.ok(took.user + took.system < 1_000_000, `${JSON.stringify(piece)}: ${took.user + took.system} us`);
  }
});
