import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, OUTCOME, outcomeOf, Policy, retry, wrap } from "holdoff";
import { Schedule } from "holdoff/tools";
import "holdoff/rules";
import "holdoff/policies";
import { withoutBudgets } from "holdoff/testing";
import { failure, VirtualClock } from "./virtual.mjs";

// Calls of a process share one budget, and here most of them fail.
withoutBudgets();

/** Answers with these, one an attempt, and with the last one ever after; errors are thrown. */
const answers = (...values) => {
  let calls = 0;
  const fn = async () => {
    const value = values[Math.min(calls++, values.length - 1)];
    if (value instanceof Error) throw value;
    return value;
  };
  return Object.assign(fn, { calls: () => calls });
};
const notOk = (response) => !response.ok;
const answer = (status, headers = {}) => new Response(status === 204 ? null : "text", { status, headers });
const told = async (work, options) => {
  const clock = new VirtualClock();
  const infos = [];
  const result = await clock.settled(
    retry(work, { seed: 7, clock, ...options, onRetry: (info) => infos.push(info) }).catch((error) => ({ error })),
  );
  assert.equal(clock.timers.size, 0);
  return { result, infos };
};

test("a value that is a failure is retried with the delays of the schedule", async () => {
  const { result, infos } = await told(answers(1, 2, 3, 4), { attempts: 5, whenResult: (n) => n < 4 });
  assert.equal(result, 4);
  assert.deepEqual(
    infos.map(({ attempt, error, value, kind, hint, cause }) => [attempt, error, value, kind, hint, cause]),
    [1, 2, 3].map((n) => [n, undefined, n, "transient", undefined, "backoff"]),
  );
  const delays = [...new Schedule(new Policy({ attempts: 4 }), 7)];
  assert.deepEqual(
    infos.map(({ delayMs }) => Math.round(delayMs * 1e6)),
    delays,
  );
});

test("what answers nothing, or nothing true, is a success", async () => {
  for (const verdict of [undefined, null, false, 0, ""]) {
    const work = answers("first");
    assert.equal(await retry(work, { whenResult: () => verdict }), "first");
    assert.equal(work.calls(), 1);
  }
});

test("a first success that is asked about touches neither clock nor randomness", async () => {
  const never = () => assert.fail("touched");
  const clock = { now: never, setTimeout: never, clearTimeout: never };
  assert.equal(await retry(() => 1, { clock, whenResult: (n) => n !== 1 }), 1);
});

test("when the policy stops, the last value is the result", async () => {
  const last = answer(503);
  const { result, infos } = await told(answers(answer(503), answer(500), last), { whenResult: notOk });
  assert.equal(result, last);
  assert.equal(infos.length, 2);
  assert.equal(await last.text(), "text");
});

test("an object that was given up with knows its outcome, and is left as it was", async () => {
  const pending = Object.freeze({ state: "pending" });
  assert.equal((await told(answers(pending), { whenResult: () => true })).result, pending);
  assert.deepEqual(outcomeOf(pending), {
    outcome: "gave_up",
    reason: "attempts",
    attempts: 3,
    retryAt: undefined,
    lastError: undefined,
    lastResult: pending,
  });
  const open = {};
  await told(answers(open), { whenResult: () => true });
  assert.equal(Object.hasOwn(open, OUTCOME), false);
  assert.equal(outcomeOf(open).reason, "attempts");
});

test("a success has no outcome, not even when the same object was given up with before", async () => {
  const job = { done: false };
  const whenResult = ({ done }) => !done;
  await told(answers(job), { whenResult });
  assert.equal(outcomeOf(job).outcome, "gave_up");
  job.done = true;
  assert.equal(await retry(() => job, { whenResult }), job);
  assert.equal(outcomeOf(job), undefined);
});

test("an error that was a result first has the outcome of when it was thrown", async () => {
  const error = new TypeError("own");
  assert.equal(await retry(() => error, { attempts: 1, whenResult: () => true }), error);
  assert.equal(outcomeOf(error).reason, "attempts");
  assert.equal(await failure(retry(() => Promise.reject(error))), error);
  assert.equal(outcomeOf(error).reason, "permanent");
});

test("a value that is no object comes out like any other", async () => {
  for (const value of [undefined, null, 0, "pending", Symbol("s")]) {
    const { result } = await told(answers(value), { whenResult: () => true });
    assert.equal(result, value);
    assert.equal(outcomeOf(result), undefined);
  }
});

test("whichever way the last attempt failed is how the operation ends", async () => {
  const error = new Error("no");
  const whenResult = () => true;
  const thrown = await told(answers("value", error), { attempts: 2, whenResult });
  assert.equal(thrown.result.error, error);
  assert.deepEqual([outcomeOf(error).lastError, outcomeOf(error).lastResult], [error, undefined]);
  assert.equal(thrown.infos[0].value, "value");
  const value = {};
  const returned = await told(answers(error, value), { attempts: 2, whenResult });
  assert.equal(returned.result, value);
  assert.deepEqual([outcomeOf(value).lastError, outcomeOf(value).lastResult], [undefined, value]);
  assert.deepEqual([returned.infos[0].error, returned.infos[0].value], [error, undefined]);
});

test("an answer is judged by its status and its headers", async () => {
  for (const [status, headers, kind, hint] of [
    [503, { "Retry-After": "2" }, "transient", 2000],
    [429, { "retry-after-ms": "1500" }, "throttled", 1500],
    [408, {}, "timeout", undefined],
    [500, {}, "transient", undefined],
    // No failures of HTTP, but the predicate says so.
    [202, { "Retry-After": "3" }, "transient", 3000],
    [204, {}, "transient", undefined],
  ]) {
    for (const value of [
      answer(status, headers),
      { status, headers },
      { status, headers: new Map(Object.entries(headers)) },
    ]) {
      const { infos } = await told(answers(value), { attempts: 2, whenResult: () => true });
      assert.deepEqual([infos[0].kind, infos[0].hint], [kind, hint], `${status}`);
      if (hint) assert.ok(infos[0].delayMs >= hint && infos[0].cause === "hint");
    }
  }
});

test("an answer that no other try improves is the result at once", async () => {
  const missing = answer(404);
  const work = answers(missing);
  assert.equal(await retry(work, { attempts: 5, whenResult: true }), missing);
  assert.equal(work.calls(), 1);
  assert.equal(outcomeOf(missing).reason, "permanent");
});

/** Rules that retry what these conditions hold for, and nothing else. */
const only = (conditions) => [
  { if: conditions, retry: true },
  { if: {}, retry: false },
];

test("a predicate that says true is obeyed whatever the status is", async () => {
  const { infos } = await told(answers(answer(404)), { attempts: 3, rules: only({ http: [503] }), whenResult: notOk });
  assert.deepEqual(
    infos.map(({ kind }) => kind),
    ["transient", "transient"],
  );
});

test("true judges HTTP answers and lets every other value pass", async () => {
  const { result, infos } = await told(answers(answer(503, { "Retry-After": "2" }), answer(200)), { whenResult: true });
  assert.equal(result.status, 200);
  assert.deepEqual([infos.length, infos[0].hint], [1, 2000]);
  for (const value of [undefined, null, 0, "text", { status: 302 }, answer(302)]) {
    const work = answers(value);
    assert.equal(await retry(work, { whenResult: true }), value);
    assert.equal(work.calls(), 1);
  }
});

test("true knows the answers of all clients, and refuses an object that is none", async () => {
  const headers = { "retry-after": "2" };
  for (const [value, hint] of [
    [{ status: 503, headers: new Headers(headers) }, 2000],
    [{ statusCode: 503, headers }, 2000],
    [{ statusCode: 503, headers: Object.entries(headers) }, 2000],
    [{ status: 503, headers: new Map(Object.entries(headers)) }, 2000],
    [{ statusCode: 503 }, undefined],
    [{ status: 503, headers: null }, undefined],
  ]) {
    const { result, infos } = await told(answers(value), { attempts: 2, whenResult: true });
    assert.equal(result, value);
    assert.deepEqual(
      infos.map((info) => info.hint),
      [hint],
    );
  }
  for (const value of [{ ok: false }, [answer(503)], { status: "503" }]) {
    const work = answers(value);
    const error = await failure(retry(work, { whenResult: true }));
    assert.match(error.message, /whenResult: true = .*: must be an HTTP answer with a status/);
    assert.equal(work.calls(), 1);
  }
});

test("a function that returns nothing leaves the value to the default judgement", async () => {
  for (const nothing of [undefined, null]) {
    for (const whenResult of [() => nothing, async () => nothing]) {
      const work = answers(answer(503, { "retry-after": "2" }), { ok: false });
      const { result, infos } = await told(work, { whenResult });
      assert.deepEqual(result, { ok: false });
      assert.deepEqual(
        infos.map(({ kind, hint }) => [kind, hint]),
        [["transient", 2000]],
      );
      assert.equal((await told(answers(answer(404)), { whenResult })).infos.length, 0);
      const rules = only({ http: [404] });
      assert.equal((await told(answers(answer(404)), { whenResult, attempts: 2, rules })).infos.length, 1);
    }
  }
  const conflict = ({ status }) => (status === 409 ? "transient" : undefined);
  const { infos } = await told(answers(answer(409), answer(429), answer(200)), { whenResult: conflict });
  assert.deepEqual(
    infos.map(({ kind }) => kind),
    ["transient", "throttled"],
  );
});

test("what only looks like an answer is transient", async () => {
  class AbortError {
    name = "AbortError";
  }
  for (const value of [
    { status: 404 },
    { status: "404", headers: {} },
    { status: 404, headers: "none" },
    { response: { status: 404, headers: {} } },
    { code: 3, metadata: {} },
    new TypeError("own"),
    new AbortError(),
  ]) {
    const { infos } = await told(() => value, { whenResult: () => true });
    assert.deepEqual(
      infos.map(({ kind }) => kind),
      ["transient", "transient"],
    );
  }
});

test("a kind or a failure is taken as it is", async () => {
  const missing = answer(404);
  for (const [verdict, kind, hint] of [
    ["throttled", "throttled", undefined],
    ["timeout", "timeout", undefined],
    [{ kind: "transient" }, "transient", undefined],
    [{ kind: "throttled", hint: "1.5s" }, "throttled", 1500],
    [{ kind: "transient", hint: 1_500_000_000n }, "transient", 1500],
  ]) {
    const options = { attempts: 2, rules: only({ http: [500] }), whenResult: () => verdict };
    const { infos } = await told(answers(missing), options);
    assert.deepEqual([infos[0].kind, infos[0].hint], [kind, hint]);
  }
  for (const verdict of ["permanent", { kind: "permanent" }, { kind: "transient", hint: "never" }]) {
    const work = answers("value");
    assert.equal(await retry(work, { whenResult: () => verdict }), "value");
    assert.equal(work.calls(), 1);
  }
});

test("a policy's rules judge values as they judge errors", async () => {
  const calls = async (value, options) => {
    const work = answers(value);
    await told(work, { whenResult: true, ...options });
    return work.calls();
  };
  assert.equal(await calls(answer(404), { rules: only({ http: [404] }) }), 3);
  assert.equal(await calls(answer(503), { rules: only({ http: [404] }) }), 1);
  assert.equal(await calls(answer(202), { rules: only({ http: [202] }) }), 3);
  assert.equal(await calls(answer(202), { rules: only({ http: [503] }) }), 1);
  assert.equal(await calls(answer(503), { rules: only({ kinds: ["throttled"] }) }), 1);
  assert.equal(await calls(answer(503), { rules: only({ kinds: ["transient"] }) }), 3);
  assert.equal(await calls(answer(500), { rules: only({ patterns: ["pending"] }) }), 1);
  assert.equal(await calls(answer(503), { idempotent: false }), 1);
  assert.equal(await calls(answer(429), { idempotent: false }), 3);
  const rules = [{ if: { http: [503], idempotent: false }, retry: true }];
  assert.equal(await calls(answer(503), { rules, idempotent: false }), 3);
  assert.equal(await calls(answer(429, { "x-should-retry": "false" }), {}), 1);
});

test("a hint over its maximum gives up with the time of the next try", async () => {
  const before = Date.now();
  const busy = answer(503, { "Retry-After": "120" });
  assert.equal(await retry(() => busy, { whenResult: notOk }), busy);
  const { reason, retryAt, attempts } = outcomeOf(busy);
  assert.deepEqual([reason, attempts], ["hint", 1]);
  // `Date.now` drops the fraction of a millisecond.
  assert.ok(retryAt > before + 119_999 && retryAt <= Date.now() + 120_000);
});

test("a predicate that throws ends the operation with its error", async () => {
  const oops = new Error("oops");
  const work = answers(1);
  const throws = () => {
    throw oops;
  };
  const clock = new VirtualClock();
  assert.equal(await failure(retry(work, { whenResult: throws, clock, deadline: "1s" })), oops);
  assert.equal(work.calls(), 1);
  assert.equal(clock.timers.size, 0);
  assert.equal(outcomeOf(oops), undefined);
});

test("an answer that is no verdict is an error of the program", async () => {
  for (const verdict of ["often", 5, {}, { kind: "x" }, Promise.resolve("often"), { kind: "timeout", hint: "soon" }]) {
    const error = await failure(retry(() => 1, { whenResult: () => verdict }));
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(Object.hasOwn(error, "cause"), false);
  }
  const error = await failure(retry(() => assert.fail("ran"), { whenResult: "yes" }));
  assert.deepEqual([error.name, error.path], ["ConfigError", "whenResult"]);
});

test("errors are for the other predicate, and values for this one", async () => {
  const asked = [];
  const error = new RangeError("no");
  const options = {
    attempts: 4,
    when: (error) => asked.push(error) > 0,
    whenResult: (value) => asked.push(value) < 3,
  };
  assert.equal((await told(answers(error, "a", "b"), options)).result, "b");
  assert.deepEqual(asked, [error, "a", "b"]);
});

test("an attempt over its limit is a timeout, and its late value nobody's", async () => {
  const clock = new VirtualClock();
  const asked = [];
  const infos = [];
  const late = () => new Promise((resolve) => clock.setTimeout(() => resolve("late"), 1500));
  const options = { attempts: 2, attemptTimeout: "1s", backoff: { kind: "constant", delay: "1s" }, jitter: "none" };
  const whenResult = (value) => asked.push(value) > 0;
  const work = ({ attempt }) => (attempt === 1 ? late() : "second");
  const onRetry = (info) => infos.push(info);
  assert.equal(await clock.settled(retry(work, { ...options, clock, whenResult, onRetry })), "second");
  assert.deepEqual(asked, ["second"]);
  assert.equal(infos[0].kind, "timeout");
  assert.equal(infos[0].value, undefined);
});

test("a deadline ends values as it ends errors", async () => {
  const value = {};
  const options = { attempts: "forever", deadline: "10s", backoff: { kind: "constant", delay: "3s" }, jitter: "none" };
  const { result, infos } = await told(() => value, { ...options, whenResult: () => true });
  assert.equal(result, value);
  assert.equal(infos.length, 3);
  assert.equal(outcomeOf(value).reason, "deadline");
});

test("a signal cancels the sleep after a value, and the outcome knows the value", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const value = { state: "pending" };
  const onRetry = () => queueMicrotask(() => controller.abort());
  const { signal } = controller;
  const error = await failure(retry(() => value, { clock, signal, whenResult: () => true, onRetry }));
  assert.equal(error, signal.reason);
  const { outcome, attempts, lastError, lastResult } = outcomeOf(error);
  assert.deepEqual([outcome, attempts, lastError, lastResult], ["cancelled", 1, undefined, value]);
  assert.equal(clock.timers.size, 0);
  assert.equal(outcomeOf(value), undefined);
});

test("a predicate and the hook may cancel the operation", async () => {
  for (const verdict of [true, false]) {
    for (const name of ["whenResult", "onRetry"]) {
      if (name === "onRetry" && !verdict) continue;
      const clock = new VirtualClock();
      const controller = new AbortController();
      const { signal } = controller;
      const options = { clock, signal, whenResult: () => verdict, attemptTimeout: "1s" };
      options[name] = () => {
        controller.abort();
        return verdict;
      };
      if (name === "onRetry") options.whenResult = () => true;
      const work = answers(1);
      assert.equal(await failure(retry(work, options)), signal.reason);
      assert.equal(work.calls(), 1);
      assert.equal(clock.timers.size, 0);
    }
  }
});

test("predicates may retry things themselves", async () => {
  const inner = () => retry(() => Promise.reject(new TypeError("inner")), { seed: 1 }).catch(() => {});
  const whenResult = () => {
    inner();
    return true;
  };
  const value = {
    get status() {
      inner();
      return 503;
    },
    headers: { "retry-after": "0" },
  };
  const { infos } = await told(answers(value), { whenResult });
  assert.deepEqual(
    infos.map(({ delayMs }) => Math.round(delayMs * 1e6)),
    [...new Schedule(new Policy(), 7)],
  );
});

test("of answers that are tried again the bodies are read to their end, after the hook, and stay readable", async () => {
  const discarded = [answer(503), answer(503)];
  const last = answer(503);
  const clock = new VirtualClock();
  const open = [];
  const onRetry = ({ value }) => open.push(!value.bodyUsed && !value.body.locked);
  await clock.settled(retry(answers(...discarded, last), { clock, whenResult: notOk, onRetry }));
  assert.deepEqual(open, [true, true]);
  for (const { body } of discarded) assert.equal(body.locked, false);
  assert.deepEqual(await Promise.all(discarded.map((one) => one.text())), ["text", "text"]);
  assert.equal(await last.text(), "text");
});

test("a body that the hook reads is the hook's", async () => {
  const texts = [];
  const onRetry = ({ value }) => texts.push(value.text());
  const clock = new VirtualClock();
  await clock.settled(retry(answers(answer(503), answer(200)), { clock, whenResult: notOk, onRetry }));
  assert.deepEqual(await Promise.all(texts), ["text"]);
});

test("a body that cannot be cancelled changes nothing", async () => {
  const throws = () => {
    throw new Error("no");
  };
  const headers = {};
  const values = [
    answer(204),
    { status: 503, headers, body: { cancel: throws } },
    { status: 503, headers, body: { cancel: () => Promise.reject(new Error("no")) } },
    { status: 503, headers, body: "text" },
    {
      status: 503,
      headers,
      get body() {
        return throws();
      },
    },
    { body: { cancel: () => assert.fail("no answer") } },
  ];
  const { result } = await told(answers(...values, "done"), { attempts: 9, whenResult: (value) => value !== "done" });
  assert.equal(result, "done");
});

test("cancelling a body may cancel the operation", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const clock = new VirtualClock();
  const value = { status: 503, headers: {}, body: { cancel: () => controller.abort() } };
  assert.equal(await failure(retry(() => value, { clock, signal, whenResult: () => true })), signal.reason);
  assert.equal(clock.timers.size, 0);
});

test("wrapped functions and policies ask about values, too", async () => {
  const backoff = { kind: "constant", delay: 0 };
  const whenResult = (n) => n < 3;
  let n = 0;
  const next = wrap((by) => (n += by), { backoff, whenResult });
  assert.equal(await next(1), 3);
  n = 0;
  assert.equal(await new Policy({ backoff }).retry(() => ++n, { whenResult }), 3);
});
