import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, Policy, retry } from "holdoff";
import "holdoff/classify";
import "holdoff/presets";
import { currentToken, Guards, Token } from "holdoff/guards";
import { VirtualClock } from "./virtual.mjs";

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

test("in Node tokens find their own way down", async () => {
  await import("holdoff/node");
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
