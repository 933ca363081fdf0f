import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { ConfigError, outcomeOf, Policy, retry, wrap } from "holdoff";
import "holdoff/rules";
import "holdoff/policies";
import { withoutBudgets } from "holdoff/testing";
import { fromForm, Schedule, toJson } from "holdoff/tools";
import { failure } from "./virtual.mjs";

// Calls of a process share one budget, and here most of them fail.
withoutBudgets();

const refused = (fields) => {
  try {
    new Policy(fields);
  } catch (error) {
    assert.ok(error instanceof ConfigError && error instanceof TypeError);
    return error.message;
  }
  throw new Error("it was taken");
};

test("a wrong field is named with its value, its rule and its neighbour", () => {
  const duration = 'must be a time from 0 to 292 years with its unit, such as "250ms", "1.5s" or "2m"';
  const oneMore = "attempts count the first one: give one more than the retries";
  for (const [fields, message] of [
    [{ atempts: 3 }, 'atempts = 3: is not a field of a policy; did you mean "attempts"?'],
    [{ retries: 3 }, `retries = 3: is not a field of a policy; ${oneMore}; did you mean "attempts"?`],
    [{ maxRetries: 3 }, `maxRetries = 3: is not a field of a policy; ${oneMore}; did you mean "attempts"?`],
    [{ timeout: "5s" }, 'timeout = "5s": is not a field of a policy; did you mean "attemptTimeout"?'],
    [{ maxDelay: "5s" }, 'maxDelay = "5s": is not a field of a policy; did you mean "backoff.max"?'],
    [{ minTimeout: 100 }, 'minTimeout = 100: is not a field of a policy; did you mean "backoff.initial"?'],
    [{ shouldRetry: 1 }, 'shouldRetry = 1: is not a field of a policy; did you mean "when"?'],
    [{ onFailedAttempt: 1 }, 'onFailedAttempt = 1: is not a field of a policy; did you mean "onRetry"?'],
    [{ onDeadlin: "clip" }, 'onDeadlin = "clip": is not a field of a policy; did you mean "onDeadline"?'],
    [{ attempts: 0 }, 'attempts = 0: must be a whole number from 1 to 4294967294, or "forever"'],
    [{ attempts: -1 }, 'attempts = -1: must be a whole number from 1 to 4294967294, or "forever"'],
    [{ attempts: 2.5 }, 'attempts = 2.5: must be a whole number from 1 to 4294967294, or "forever"'],
    [{ attempts: 3n }, 'attempts = 3n: must be a whole number from 1 to 4294967294, or "forever"'],
    [{ attempts: [3] }, 'attempts = [...]: must be a whole number from 1 to 4294967294, or "forever"'],
    [{ deadline: Number.NaN }, `deadline = NaN: ${duration}`],
    [{ deadline: -5 }, `deadline = -5: ${duration}`],
    [{ deadline: Infinity }, `deadline = Infinity: ${duration}`],
    [{ deadline: "5" }, `deadline = "5": ${duration}`],
    [{ deadline: true }, `deadline = true: ${duration}`],
    [{ deadline: "5é" }, `deadline = "5é": ${duration}`],
    [{ deadline: new Date(0) }, `deadline = [object]: ${duration}`],
    [{ deadline: {} }, `deadline = [object]: ${duration}`],
    [{ deadline: 0 }, 'deadline = 0: must be more than 0, or "none"'],
    [
      { backoff: { factor: -1 } },
      "backoff.factor = -1: must be a finite number, 0 or more; for decorrelated backoff 1 or more",
    ],
    [
      { backoff: { factor: Infinity } },
      "backoff.factor = Infinity: must be a finite number, 0 or more; for decorrelated backoff 1 or more",
    ],
    [
      { preset: "kubernetes", backoff: { initial: "10s", max: "5s" } },
      'backoff.max = "5s": must not be below the stage\'s initial delay (it is 5s unless given)',
    ],
    [
      { backoff: { initial: 20, max: "10ms" } },
      'backoff.max = "10ms": must not be below the stage\'s initial delay (it is 5s unless given)',
    ],
    [
      { backoff: { max: { is: "5s" } } },
      'backoff.max.is = "5s": is not a field of a policy; did you mean "backoff.max"?',
    ],
    [
      { jitter: "ful" },
      'jitter.kind = "ful": must be one of none, full, equal, additive, proportional, bounded, subtractive; did you mean "full"?',
    ],
    [
      { attempts: "x".repeat(5000) },
      `attempts = "${"x".repeat(40)}...": must be a whole number from 1 to 4294967294, or "forever"`,
    ],
    [{ atempts: null }, 'atempts = null: is not a field of a policy; did you mean "attempts"?'],
    [{ atempts: undefined }, 'atempts: is not a field of a policy; did you mean "attempts"?'],
    [{ limitz: {} }, 'limitz = [object]: is not a field of a policy; did you mean "limits"?'],
    [{ rules: [{ retry: 1 }] }, "rules[0].retry = 1: must be true or false"],
    [{ backoff: { floor: "9s" } }, /^backoff.floor = "9s": must not be above/],
    [{ seed: 7 }, "seed = 7: is not a field of a policy"],
    [5, "policy = 5: must be an object of fields, or the name of a preset"],
    [new Policy(), "policy = [object]: must be an object of fields, or the name of a preset"],
    [null, "policy = null: must be an object of fields, or the name of a preset"],
    [[], "policy = [...]: must be an object of fields, or the name of a preset"],
  ]) {
    if (message instanceof RegExp) assert.match(refused(fields), message);
    else assert.equal(refused(fields), message);
  }
});

test("an error can be read by programs", () => {
  try {
    new Policy({ jitter: { kind: "ful" } });
    assert.fail();
  } catch ({ name, code, word, path, rule, nearest }) {
    const rest = { code: 102, word: "unknown_word", path: "jitter.kind", nearest: "full" };
    assert.deepEqual({ code, word, path, nearest }, rest);
    assert.equal(name, "ConfigError");
    assert.match(rule, /^must be one of/);
  }
});

test("odd objects are refused and never hang", async () => {
  const loop = {};
  loop.backoff = loop;
  assert.match(refused(loop), /backoff.backoff/);
  assert.match((await failure(retry(() => 1, loop))).message, /backoff.backoff/);
  assert.match(refused({ ["n".repeat(10_000)]: 1 }), /is not a field of a policy$/);
  assert.match(refused({ __proto__: null, x: 1 }), /is not a field/);
  assert.match(refused({ "\u{1f600}": 1 }), /is not a field/);
});

test("names are camelCase or snake_case, and null is not given", () => {
  const one = new Policy({ attemptTimeout: "2s", minAttempt: 1, deadline: "9s", onDeadline: "clip", attempts: null });
  const two = new Policy({ attempt_timeout: 2000, min_attempt: "1ms", deadline: 9000, on_deadline: "clip" });
  assert.deepEqual(one, two);
  assert.equal(one.firstLimit, 2000);
  assert.equal(new Policy().firstLimit, Infinity);
});

test("a getter may make a policy while its own is read", () => {
  const policy = new Policy({
    attempts: 4,
    get deadline() {
      return new Policy({ attemptTimeout: 5 }).firstLimit * 20;
    },
  });
  assert.deepEqual(policy, new Policy({ attempts: 4, deadline: 100 }));
});

test("an empty object is a group of fields, and a list is none", async () => {
  assert.deepEqual(new Policy({ backoff: {}, jitter: {}, hint: {} }), new Policy());
  assert.equal(await retry(() => 1, { backoff: {} }), 1);
  for (const odd of [[], new Map(), new Date(0), Object(5)]) {
    const error = await failure(retry(() => 1, { backoff: odd }));
    assert.equal(error.path, "backoff.kind");
  }
});

test("another copy of the package has policies of its own", async () => {
  const other = createRequire(import.meta.url)("holdoff");
  const error = await failure(retry(() => 1, { policy: new other.Policy() }));
  assert.equal(error.message, "policy = [object]: must be an object of fields, or the name of a preset");
  const thrown = await failure(other.retry(() => Promise.reject(new Error("no")), { attempts: 1 }));
  assert.equal(outcomeOf(thrown).reason, "attempts");
});

test("an error about an option says what is wanted", async () => {
  const policy = new Policy();
  for (const [options, message] of [
    [policy, "options = [object]: must be an object, such as { policy } or { attempts: 5 }"],
    [{ onRetry: 5 }, "onRetry = 5: must be a function"],
    [{ whenResult: "x" }, 'whenResult = "x": must be true or a function'],
    [{ signal: 1 }, "signal = 1: must be an AbortSignal"],
    [{ idempotent: 1 }, "idempotent = 1: must be true or false"],
    [{ policy, onretry: null, onretri: 1 }, "onretri = 1: is not a field of a policy"],
  ]) {
    assert.equal((await failure(retry(() => assert.fail("ran"), options))).message, message);
  }
  assert.equal((await failure(retry("x"))).message, 'fn = "x": must be a function');
});

test("wrong options reject before the operation runs", async () => {
  const ran = () => assert.fail("ran");
  for (const [options, path] of [
    [{ seed: -1 }, "seed"],
    [{ seed: 1.5 }, "seed"],
    [{ seed: "7" }, "seed"],
    [{ seed: Number.NaN }, "seed"],
    [{ seed: 2 ** 53 }, "seed"],
    [{ seed: 1n << 64n }, "seed"],
    [{ seed: -1n }, "seed"],
    [{ when: 3 }, "when"],
    [{ onRetry: {} }, "onRetry"],
    [{ signal: {} }, "signal"],
    [{ clock: {} }, "clock"],
    [{ onretry: ran }, "onretry"],
    [{ policy: new Policy(), attempts: 0 }, "attempts"],
    [{ policy: 5 }, "policy"],
    [{ policy: { attempts: 0 } }, "attempts"],
    [{ attempts: 0 }, "attempts"],
    [5, "options"],
    [null, "options"],
    [[], "options"],
    [new Map(), "options"],
  ]) {
    // Whatever was remembered before must not hide it.
    await retry(() => 1, { seed: 1 });
    const error = await failure(retry(ran, options));
    assert.ok(error instanceof ConfigError, String(error));
    assert.equal(error.path, path);
    assert.throws(() => wrap(ran, options), ConfigError);
  }
  assert.equal((await failure(retry(5))).path, "fn");
});

test("options are read anew when they have changed", async () => {
  const attempts = async (options) => {
    let seen = 0;
    const work = () => {
      seen++;
      throw new Error("no");
    };
    await failure(retry(work, options));
    return seen;
  };
  const backoff = { kind: "constant", delay: 0 };
  const options = { attempts: 2, backoff };
  assert.equal(await attempts(options), 2);
  options.attempts = 4;
  assert.equal(await attempts(options), 4);
  backoff.max = "1s";
  assert.match((await failure(retry(() => 1, options))).message, /backoff.max/);
  assert.equal(await attempts({ policy: new Policy({ attempts: 1 }) }), 1);
  assert.equal(await attempts({ policy: { attempts: 2, backoff: { initial: 0 } } }), 2);
  for (let i = 1; i < 40; i++) assert.equal(await attempts({ attempts: i, backoff: { initial: 0 } }), i);
});

test("a schedule shows a policy's delays", () => {
  const policy = new Policy({ jitter: "none", attempts: 4 });
  assert.deepEqual([...new Schedule(policy, 0)], [1e8, 2e8, 4e8]);
  assert.deepEqual([...new Schedule(policy, 0n)], [100_000_000n, 200_000_000n, 400_000_000n]);
  assert.equal(Schedule.baseAt(policy, 100), 5e9);
});

test("a preset is a policy by its name, and where other fields start", () => {
  const kubernetes = { backoff: { initial: 10, factor: 5, max: "none" }, jitter: { kind: "additive", factor: 0.1 } };
  const spelt = new Policy({ ...kubernetes, cap: "before_jitter", attempts: 4, budget: "none" });
  assert.deepEqual(new Policy("kubernetes").words, spelt.words);
  assert.deepEqual(new Policy({ preset: "kubernetes" }), new Policy("kubernetes"));
  assert.deepEqual(
    new Policy({ preset: "kubernetes", attempts: 9 }).words,
    new Policy({ ...kubernetes, cap: "before_jitter", attempts: 9, budget: "none" }).words,
  );
  assert.match(refused("kubernets"), /^preset = "kubernets": .*did you mean "kubernetes"\?$/);
  assert.match(refused({ preset: "polly", jitter: "full" }), /^jitter.kind/);
});

test("a preset's name is taken wherever a policy is", async () => {
  let calls = 0;
  const work = () => {
    calls++;
    throw new Error("no");
  };
  await failure(retry(work, { policy: "langgraphgo", clock: new ImmediateClock() }));
  assert.equal(calls, 3);
  assert.equal((await failure(retry(work, { policy: "langgraf" }))).path, "preset");
});

/** Sleeps take no time. */
class ImmediateClock {
  time = 0;
  now = () => this.time;
  setTimeout = (callback, ms) => {
    this.time += ms;
    queueMicrotask(callback);
  };
  clearTimeout = () => {};
}

test("stages and lists are told by their places", () => {
  const chain = [
    { kind: "constant", delay: "1s", times: 1 },
    { kind: "exponential", initial: "2s", max: "9s" },
  ];
  const policy = new Policy({ backoff: chain, jitter: "none", attempts: "forever" });
  assert.deepEqual([...first(new Schedule(policy, 0), 5)], [1e9, 2e9, 4e9, 8e9, 9e9]);
  const list = new Policy({ backoff: { delays: [5, "10ms", 20] }, jitter: "none" });
  assert.deepEqual([...new Schedule(list, 0)], [5e6, 1e7, 2e7]);
  for (const [fields, message] of [
    [{ backoff: [chain[0], { max: "1ms" }] }, /^backoff\[1\].max = "1ms": must not be below/],
    [{ backoff: [{ delay: -1, kind: "constant" }] }, /^backoff\[0\].initial = -1: must be a time/],
    [{ backoff: { delays: [1, "x"] } }, /^backoff.delays\[1\] = "x": must be a time/],
    [{ backoff: [{}, {}] }, /^backoff\[0\].times: is needed/],
    [
      { backoff: [{ factr: 2 }] },
      /^backoff\[0\].factr = 2: is not a field of a policy; did you mean "backoff.factor"\?/,
    ],
    [{ rules: [{ if: { http: [999] } }] }, /^rules\[0\].if.http\[0\] = 999: must be a status/],
    [{ rules: [{ if: [{ grpc: ["UNAVAILABEL"] }] }] }, /did you mean "UNAVAILABLE"\?/],
    [{ rules: [{ if: { patterns: "timeout" } }] }, /^rules\[0\].if.patterns = "timeout": must be a list/],
    [{ retryOn: { http: [503] } }, /^retryOn.http\[0\] = 503: is a rule: "rules": \[\{"if": \{"http"/],
  ]) {
    assert.match(refused(fields), message);
  }
});

function* first(iterator, count) {
  for (let i = 0; i < count; i++) yield iterator.next().value;
}

test("a document is JSON with names in snake_case and times with a unit", () => {
  const document = {
    version: 1,
    backoff: [
      { kind: "constant", delay: "1s", times: 1 },
      { kind: "exponential", initial: "2s", max: "1m" },
    ],
    min_attempt: "1s",
    deadline: "2m",
    rules: [{ if: [{ http: [408, "5xx"] }, { patterns: ["timeout"] }], retry: true, attempts: 9 }],
  };
  assert.deepEqual(Policy.fromJson(JSON.stringify(document)), Policy.fromJson(document));
  assert.deepEqual(Policy.fromJson(document), new Policy(document));
  for (const [given, code, path] of [
    [{ deadline: 5 }, "not_a_duration", "deadline"],
    [{ minAttempt: "1s" }, "unknown_field", "minAttempt"],
    [{ version: 2 }, "document_version", "version"],
    ["{", "not_json", ""],
    ["[]", "not_an_object", ""],
    ["null", "not_an_object", ""],
    [new Map(), "not_an_object", ""],
  ]) {
    assert.throws(() => Policy.fromJson(given), { word: code, path });
  }
});

test("options with lists are remembered by what they say", async () => {
  const only = { patterns: [] };
  const rules = [
    { if: only, retry: true },
    { if: {}, retry: false },
  ];
  const options = { backoff: [{ kind: "constant", delay: 0, times: 1 }, { initial: 0 }], rules };
  const error = await failure(retry(() => Promise.reject(new Error("no")), options));
  assert.equal(outcomeOf(error).reason, "permanent");
  only.patterns.push("no");
  const again = await failure(retry(() => Promise.reject(new Error("no")), options));
  assert.equal(outcomeOf(again).reason, "attempts");
  only.patterns = { 0: "no" };
  assert.equal((await failure(retry(() => 1, options))).path, "rules[0].if.patterns.0");
});

test("a policy's JSON makes the same policy elsewhere", () => {
  for (const fields of [
    {},
    { attempts: 5, deadline: 2500, jitter: "none", hint: { max: "none" } },
    { backoff: [{ kind: "constant", delay: 5, times: 1 }, { initial: "1s" }], minAttempt: 5, deadline: "1m" },
    { backoff: { kind: "list", delays: [1, "2s", 3] }, jitter: null, hint: {} },
    {
      preset: "kubernetes",
      rules: [{ if: [{ http: [404] }, { patterns: ["busy"], idempotent: false }], retry: true }],
    },
  ]) {
    const policy = new Policy(fields);
    const text = JSON.stringify(policy);
    assert.deepEqual(new Policy(JSON.parse(text)), policy, text);
    assert.equal(JSON.stringify(new Policy(JSON.parse(text))), text);
  }
  assert.equal(JSON.stringify(new Policy("grpc")), '{"preset":"grpc"}');
  const document = { backoff: { kind: "linear", initial: "1s", increment: "5ms" }, on_deadline: "stop" };
  const read = Policy.fromJson(document);
  assert.deepEqual(new Policy(JSON.parse(JSON.stringify(read))), read);
  const { policy } = fromForm("grpc", {
    methodConfig: [
      {
        name: [{}],
        retryPolicy: {
          maxAttempts: 4,
          initialBackoff: "0.1s",
          maxBackoff: "1s",
          backoffMultiplier: 2,
          retryableStatusCodes: ["UNAVAILABLE"],
        },
      },
    ],
  });
  assert.deepEqual(new Policy(JSON.parse(JSON.stringify(policy))), policy);
  assert.deepEqual(JSON.parse(toJson(policy)), JSON.parse(JSON.stringify(policy)));
});
