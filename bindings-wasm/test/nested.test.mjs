import assert from "node:assert/strict";
import { test } from "node:test";
import { givenUp, outcomeOf, Policy, retry } from "holdoff";
import "holdoff/rules";
import "holdoff/policies";
import { currentToken, Guards, Token } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const steady = { jitter: "none", backoff: { kind: "constant", delay: 0 } };

/** How many attempts the inner of two retries makes in all, when everything fails. */
async function count(outer, inner, hand = (token) => ({ token })) {
  const clock = new VirtualClock();
  let calls = 0;
  const innermost = () => {
    calls++;
    throw new Error("down");
  };
  const [around, within] = [outer, inner].map((nested) => new Policy({ ...steady, attempts: 3, nested }));
  const error = await clock
    .settled(around.retry(({ token }) => within.retry(innermost, { clock, ...hand(token) }), { clock }))
    .catch((error) => error);
  return [calls, outcomeOf(error).reason];
}

test("retries inside retries multiply, unless one of them says otherwise", async () => {
  assert.deepEqual(await count("allow", "allow"), [9, "attempts"]);
  assert.deepEqual(await count("allow", "outermost"), [3, "attempts"]);
  assert.deepEqual(await count("innermost", "allow"), [3, "permanent"]);
  assert.deepEqual(await count("allow", { mode: "cap", cap: 6 }), [6, "attempts"]);
  assert.deepEqual(await count("allow", "outermost", () => ({})), [9, "attempts"]);
});

test("a token says where an attempt is, in the words of headers too", () => {
  const outer = Token.child(undefined, 2, 3);
  const token = Token.child(outer, 1, Infinity);
  assert.deepEqual(
    [token.attempt, token.allowed, token.depth, token.header, token.grpc],
    [1, Infinity, 2, "1", undefined],
  );
  assert.deepEqual([outer.header, outer.grpc], ["2", "1"]);
  assert.equal(Token.fromHeader(" 4 ").attempt, 4);
  assert.equal(Token.fromGrpc("4").attempt, 5);
  assert.equal(Token.fromHeader("four"), undefined);
  assert.deepEqual([Token.HEADER, Token.GRPC], ["x-retry-attempt", "grpc-previous-rpc-attempts"]);
  assert.throws(() => Token.fromHeader(4), { word: "wrong_type" });
});

test("what is said of nesting needs no policy that many calls share", async () => {
  const outer = Token.child(undefined, 1, 3);
  let calls = 0;
  const down = () => {
    calls++;
    throw new Error("down");
  };
  const clock = new VirtualClock();
  for (let n = 0; n < 2; n++) {
    const call = retry(down, { ...steady, preset: "kubernetes", nested: "outermost", token: outer, clock });
    assert.equal(outcomeOf(await clock.settled(call.catch((error) => error))).attempts, 1);
  }
  assert.equal(calls, 2);
});

test("without `nested` there is no token", async () => {
  assert.equal(await retry(({ token }) => token, { guards: new Guards({ stretch: 2 }) }), undefined);
  await assert.rejects(
    retry(() => 1, { token: "x" }),
    { path: "token" },
  );
});

/** How often the innermost function of two retries runs; `sdk` wraps what the inner one throws or returns. */
async function wrapped({ outer, inner, sdk, work, hand = (token) => ({ token }) }) {
  const clock = new VirtualClock();
  let calls = 0;
  const innermost = async (context) => {
    calls++;
    return work(context, calls);
  };
  const around = new Policy({ ...steady, attempts: 3, nested: "innermost", ...outer });
  const within = new Policy({ ...steady, attempts: 3, ...inner });
  const call = ({ token }) => sdk(() => within.retry(innermost, { clock, whenResult: true, ...hand(token) }));
  const result = await clock.settled(around.retry(call, { clock, whenResult: true }).catch((error) => error));
  return [calls, outcomeOf(result)?.reason];
}

const down = async () => {
  throw Object.assign(new Error("down"), { status: 503 });
};
const refused = async () => new Response("busy", { status: 503 });
const plain = (call) => call();
/** As every SDK does: an error of its own for an answer, and one without the cause for a lost connection. */
const sdk = async (call) => {
  const response = await call().catch(() => {
    throw new Error("Connection error.");
  });
  if (response.ok === false) throw Object.assign(new Error(`${response.status} busy`), { status: response.status });
  return response;
};

const cases = [
  [{ sdk: plain, work: down }, [3, "permanent"]],
  [{ sdk: plain, work: refused }, [3, "permanent"]],
  [{ sdk, work: down }, [3, "permanent"]],
  [{ sdk, work: refused }, [3, "permanent"]],
  [{ sdk, work: refused, inner: { nested: "allow" } }, [3, "permanent"]],
  [{ sdk, work: refused, inner: { breaker: { failures: 9 } } }, [3, "permanent"]],
  [{ sdk, work: refused, outer: { nested: "allow" } }, [9, "attempts"]],
  // A failure that no inner retry has given up on is tried again.
  [{ sdk: (call) => call().then(() => down()), work: () => "fine" }, [3, "attempts"]],
];

test("what an inner retry has given up on stays so, whoever wraps it: the token carries a mark", async () => {
  for (const [given, wanted] of cases) assert.deepEqual(await wrapped(given), wanted, String(given.sdk));
  // An inner success later in the same attempt takes the mark away.
  const clock = new VirtualClock();
  const outer = new Policy({ ...steady, attempts: 3, nested: "innermost" });
  const inner = new Policy({ ...steady, attempts: 2 });
  let calls = 0;
  const work = async ({ token }) => {
    calls++;
    await inner.retry(down, { clock, token }).catch(() => {});
    await inner.retry(() => 1, { clock, token });
    throw new Error("after");
  };
  assert.equal(outcomeOf(await failure(clock.settled(outer.retry(work, { clock })))).reason, "attempts");
  assert.equal(calls, 3);
});

test("an outcome is known along causes and in answers", async () => {
  const options = { ...steady, attempts: 1 };
  const error = await failure(retry(down, options));
  const response = await retry(refused, { ...options, whenResult: true });
  for (const given of [
    error,
    response,
    new Error("wrapped", { cause: error }),
    new Error("twice", { cause: new Error("wrapped", { cause: error }) }),
    Object.assign(new Error("503"), { response }),
    new Error("wrapped", { cause: Object.assign(new Error("503"), { response }) }),
  ])
    assert.equal(givenUp(given), true);
  const loop = new Error("loop");
  loop.cause = loop;
  const proxy = new Proxy(new Error("proxy"), {
    get() {
      throw new Error("trap");
    },
  });
  for (const other of [undefined, null, 5, "text", new Error("other"), new Response(), loop, proxy])
    assert.equal(givenUp(other), false);
  const cancelled = await failure(retry(down, { signal: AbortSignal.abort(new Error("no")) }));
  assert.equal(givenUp(cancelled), false);
  // For other retries' predicates.
  const retries = [];
  await failure(
    (async () => {
      for (let n = 0; n < 3; n++) {
        const failed = await failure(retry(down, options));
        retries.push(failed);
        if (givenUp(new Error("sdk", { cause: failed }))) throw failed;
      }
    })(),
  );
  assert.equal(retries.length, 1);
});

test("in Node tokens find their own way down", async () => {
  await import("holdoff/node");
  const hand = () => ({});
  for (const [given, wanted] of cases) assert.deepEqual(await wrapped({ ...given, hand }), wanted, String(given.sdk));
  assert.equal(currentToken(), undefined);
  assert.deepEqual(await count("allow", "outermost", () => ({})), [3, "attempts"]);
  const policy = new Policy({ nested: "allow" });
  const seen = await policy.retry(async () => {
    await new Promise(setImmediate);
    return currentToken().header;
  });
  assert.equal(seen, "1");
  assert.equal(currentToken(), undefined);
});

test("what is no token, and no number of attempts, is refused", async () => {
  const wrong = (path) => ({ name: "ConfigError", path });
  const nested = new Policy({ ...steady, nested: "outermost" });
  await assert.rejects(
    nested.retry(() => 1, { token: {} }),
    wrong("token"),
  );
  assert.throws(() => Token.child({}, 1, 2), wrong("token"));
  for (const count of [0, -1, 1.5, NaN, "2", 2 ** 32]) {
    assert.throws(() => Token.child(undefined, count, 3), wrong("attempt"));
    assert.throws(() => Token.child(undefined, 1, count), wrong("attempts"));
  }
});
