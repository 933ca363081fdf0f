// Failures and delays on purpose.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Policy, retry } from "../dist/esm/index.js";
import { chaos, withChaos } from "../dist/esm/tools.js";

const outcomes = async (options) => {
  const ask = chaos(options)(() => "answer");
  const seen = [];
  for (let call = 0; call < 1000; call++)
    seen.push(
      await ask().then(
        () => true,
        () => false,
      ),
    );
  return seen;
};

test("the same seed fails the same calls again", async () => {
  const first = await outcomes({ seed: 7, failureRate: 0.3 });
  assert.deepEqual(await outcomes({ seed: 7, failureRate: 0.3 }), first);
  assert.notDeepEqual(await outcomes({ seed: 8, failureRate: 0.3 }), first);
  const succeeded = first.filter(Boolean).length;
  assert.ok(succeeded > 650 && succeeded < 750, `${succeeded}`);
});

test("retries see the kind and the hint", async () => {
  const delays = [];
  const ask = chaos({ failureRate: 1, kind: "throttled", retryAfter: "20ms" })(() => "answer");
  const options = {
    attempts: 2,
    backoff: { initial: 1 },
    onRetry: ({ kind, delayMs }) => delays.push([kind, delayMs >= 20]),
  };
  await assert.rejects(retry(ask, options), /throttled failure on purpose/);
  assert.deepEqual(delays, [["throttled", true]]);
});

test("fake timers end a latency", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const answer = chaos({ latency: "1h" })(() => 5)();
    mock.timers.tick(3_600_000);
    assert.equal(await answer, 5);
  } finally {
    mock.timers.reset();
  }
});

test("a document with chaos is read by tests alone", async () => {
  const document = { attempts: 4, chaos: { seed: 3, failure_rate: 1, latency: ["1us", "2us"] } };
  assert.throws(() => Policy.fromJson(document), /chaos/);
  const { policy, chaos: wrap } = withChaos(JSON.stringify(document));
  assert.deepEqual(policy.toJSON(), Policy.fromJson({ attempts: 4 }).toJSON());
  await assert.rejects(wrap(() => 1)(), /transient failure on purpose/);
});

test("mistakes are named", () => {
  for (const [options, words] of [
    [{ failureRate: 1.5 }, /failure_?[rR]ate.* = 1.5: must be a number from 0 to 1/],
    [{ latency: ["2s", "1s"] }, /latency = 1000ms: must not be below the shortest latency/],
    [{ latency: "soon" }, /shortest = "soon"/],
    [{ kind: "odd" }, /kind = "odd": must be one of/],
    [{ retryAfter: -1 }, /retryAfter = -1/],
    [{ failures: 1 }, /chaos\.failures/],
  ]) {
    assert.throws(() => chaos(options), words);
  }
});
