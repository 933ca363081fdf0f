// The option `delay`: a function that chooses the delay after a failure.
import assert from "node:assert/strict";
import { test } from "node:test";
import "holdoff/policies";
import "holdoff/rules";
import { attempts, ConfigError, classify, HookError, outcomeOf, Policy, retry, wrap } from "holdoff";
import { Bulkhead, Guards } from "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const lost = () => Object.assign(new Error("lost"), { code: "ECONNRESET" });
const fails = async () => {
  throw lost();
};
const guardsOf = {
  "without guards": () => undefined,
  "under guards": () => new Guards({ bulkhead: 4, budget: "none" }),
};

for (const [where, guards] of Object.entries(guardsOf)) {
  test(`the answer is the delay, however long a hint may be, ${where}`, async () => {
    const policies = {
      ignore: { attempts: 5, hint: { mode: "ignore", max: "30s" } },
      floor: { attempts: 5, jitter: "full", hint: { mode: "floor", max: "30s", reach: "5s" } },
      rules: {
        attempts: 5,
        backoff: [{ kind: "constant", delay: "1s", hint: "ignore" }],
        rules: [{ if: { kinds: ["transient"] }, hint: "floor" }],
        hint: { max: "30s" },
      },
    };
    for (const [name, fields] of Object.entries(policies)) {
      const clock = new VirtualClock();
      const answers = [7000, "1500ms", "2m", 0];
      const asked = [];
      const told = [];
      const delay = ({ operation, attempt, elapsedMs, error, kind, hint }) => {
        // What it judges itself is of no account.
        classify({ status: 503, headers: { "retry-after": "9" } });
        asked.push([operation, attempt, elapsedMs, error.message, kind, hint]);
        return answers[attempt - 1];
      };
      const onRetry = ({ delayMs, cause }) => told.push([delayMs, cause]);
      const options = { policy: new Policy(fields), guards: guards(), clock, name: "load", delay, onRetry };
      await failure(clock.settled(retry(fails, options)));
      const delays = [7000, 1500, 120000, 0];
      assert.deepEqual(
        told,
        delays.map((ms) => [ms, "hint"]),
        name,
      );
      const starts = [0, 7000, 8500, 128500, 128500];
      const facts = (at, index) => ["load", index + 1, at, "lost", "transient", undefined];
      assert.deepEqual(asked, starts.map(facts), name);
    }
  });

  test(`it may stop the operation, ${where}`, async () => {
    const clock = new VirtualClock();
    const delay = ({ attempt }) => attempt === 1 && 1000;
    const ended = await failure(
      clock.settled(retry(fails, { policy: { hint: "ignore" }, guards: guards(), clock, delay })),
    );
    const { attempts, reason } = outcomeOf(ended);
    assert.deepEqual([attempts, reason], [2, "permanent"]);
  });

  test(`what fails in it is named and gives everything back, ${where}`, async () => {
    const bulkhead = new Bulkhead(1);
    const wrong = [true, -1, "soon", {}, Number.NaN, Number.POSITIVE_INFINITY, 5n, Promise.resolve(1)];
    for (const answer of wrong) {
      const clock = new VirtualClock();
      const all = where === "under guards" ? new Guards({ bulkhead }) : undefined;
      const error = await failure(clock.settled(retry(fails, { guards: all, clock, delay: () => answer })));
      assert.ok(error instanceof ConfigError);
      assert.equal(error.path, "delay");
      assert.match(error.message, /^delay = /);
      assert.equal(error.cause.message, "lost");
      assert.equal(bulkhead.running, 0);
      assert.equal(clock.timers.size, 0);
    }
    const clock = new VirtualClock();
    const thrown = new RangeError("of the function");
    const all = where === "under guards" ? new Guards({ bulkhead }) : undefined;
    const delay = () => {
      throw thrown;
    };
    const error = await failure(clock.settled(retry(fails, { guards: all, clock, delay })));
    assert.ok(error instanceof HookError);
    assert.deepEqual([error.hook, error.cause, error.lastError.message], ["delay", thrown, "lost"]);
    assert.equal(error.message, "delay: of the function");
    assert.equal(bulkhead.running, 0);
  });
}

test("without an answer the policy and the hint decide", async () => {
  const clock = new VirtualClock();
  const told = [];
  const hints = [];
  const options = {
    clock,
    when: () => ({ kind: "throttled", hint: "9s" }),
    delay: ({ hint }) => void hints.push(hint),
    onRetry: ({ delayMs, cause }) => told.push([delayMs >= 9000, cause]),
  };
  await failure(clock.settled(retry(fails, options)));
  assert.deepEqual(told, [
    [true, "hint"],
    [true, "hint"],
  ]);
  assert.deepEqual(hints, [9000, 9000, 9000]);
});

test("limits hold, and a permanent failure is not asked about", async () => {
  const clock = new VirtualClock();
  const late = await failure(clock.settled(retry(fails, { deadline: "10s", clock, delay: () => "11s" })));
  assert.equal(outcomeOf(late).reason, "deadline");
  const delay = () => assert.fail("asked");
  const wrong = async () => {
    throw new TypeError("of the program");
  };
  assert.ok((await failure(retry(wrong, { clock, delay }))) instanceof TypeError);
  assert.throws(() => wrap(fails, { delay: 100 }), /^ConfigError: delay = 100: /);
});

test("it is told the value that counts as a failure, also in a loop", async () => {
  const clock = new VirtualClock();
  const seen = [];
  const delay = ({ value, error }) => {
    seen.push(value ?? error.message);
    return 5;
  };
  const options = { attempts: 2, clock, whenResult: (value) => value === 503, delay };
  assert.equal(await clock.settled(retry(() => 503, options)), 503);
  const looped = async () => {
    for await (const attempt of attempts({ attempts: 2, clock, delay })) await attempt(fails);
  };
  await failure(clock.settled(looped()));
  assert.deepEqual(seen, [503, 503, "lost", "lost"]);
});

test("a function that cancels the operation ends it so", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const delay = () => controller.abort(new Error("enough"));
  const error = await failure(clock.settled(retry(fails, { clock, signal: controller.signal, delay })));
  assert.equal(error.message, "enough");
  assert.equal(clock.timers.size, 0);
});
