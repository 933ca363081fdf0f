import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ConfigError, Policy } from "holdoff";
import {
  explain,
  fromForm,
  lintNested,
  lints,
  presets,
  toForm,
  toJson,
  totalWait,
  totalWaitNanos,
} from "holdoff/tools";

test("every preset is explained, row by row and as a table", () => {
  assert.equal(presets().length, 16);
  for (const name of presets()) {
    const { rows, lints: found } = explain(name, { rows: 3 });
    const policy = new Policy(name);
    assert.ok(rows.length > 0 && rows.length <= 3, name);
    for (const { min, typical, max } of rows) assert.ok(min <= typical && typical <= max, name);
    assert.deepEqual(found, lints(policy));
    assert.match(String(explain(policy)), /^.*backoff.*\n.*attempts.*\nhints: /);
  }
});

test("rows are milliseconds", () => {
  const fields = { backoff: { kind: "linear", initial: "1s" }, jitter: "equal", attempts: 3, deadline: "2s" };
  assert.deepEqual(explain(fields).rows[1], {
    retry: 2,
    min: 1000,
    typical: 1500,
    max: 1999.999999,
    minTotal: 1500,
    typicalTotal: 2250,
    maxTotal: 2999.999998,
    inTime: "sometimes",
  });
  const long = new Policy({ attempts: 300 });
  assert.equal(explain(long).rows.length, 100);
  assert.equal(explain(long, { rows: 1000 }).rows.length, 299);
  assert.equal(explain("aws-standard-2.1", { after: "throttled" }).rows[0].typical, 500);
  assert.match(String(explain("aws-standard-2.1")), /^budget: 500 tokens, a retry costs 14/m);
  assert.match(String(explain({ breaker: { failures: 3 } })), /^breaker: opens after 3 failures in a row/m);
  assert.deepEqual(
    lints({ attempts: "forever", jitter: "full", budget: "ratio" }).map((lint) => lint.word),
    lints({ attempts: 3, jitter: "full", budget: "ratio" }).map((lint) => lint.word),
  );
  assert.throws(() => explain("default", { rows: -1 }), ConfigError);
  assert.throws(() => explain("default", { after: "often" }), ConfigError);
});

test("a lint has a number, a word and what it found", () => {
  const [{ code, word, text, found, limit }] = lints({ attempts: 12, backoff: { initial: 1, max: 5 } });
  assert.deepEqual([code, word, found, limit], [304, "many_attempts", 12, 10]);
  assert.match(text, /^warning 304 many_attempts: .* \(12, limit 10\)$/);
  assert.deepEqual(lints({}), []);
});

test("sleeps are held against the time that somebody waits", () => {
  const policy = { attempts: 4, backoff: { initial: "1s", max: "none" } };
  assert.deepEqual(lints(policy, { within: 7000 }), []);
  const [lint] = lints(policy, { within: "6s" });
  assert.deepEqual([lint.code, lint.word, lint.found, lint.limit], [316, "wait_above_timeout", 7000, 6000]);
  assert.match(lint.text, /the sleeps alone take longer than the caller waits, without jitter \(7s, limit 6s\)$/);
  assert.equal(explain(policy).lints.length, 0);
  assert.throws(() => lints(policy, { within: -1 }), { path: "within" });
});

test("retries inside retries are counted", () => {
  const three = new Policy({ attempts: 3 });
  const { code, word, text, found, limit } = lintNested([three, "default", { attempts: 3 }]);
  assert.deepEqual([code, word, found, limit], [317, "nested_retries", 27, undefined]);
  assert.equal(text, "warning 317 nested_retries: a retry inside a retry multiplies attempts (at most 27 in all)");
  assert.match(lintNested([three, "temporal"]).text, /\(without an end\)$/);
  for (const quiet of [[], [three], [three, { attempts: 3, nested: "outermost" }], [{ nested: "innermost" }, three]]) {
    assert.equal(lintNested(quiet), undefined);
  }
  assert.equal(lintNested(Array(200).fill(new Policy({ attempts: 1 }))), undefined);
  assert.throws(() => lintNested("default"), { word: "wrong_type", path: "policies" });
  assert.throws(() => lintNested([{ attempts: 0 }]), { word: "attempts_range", path: "attempts" });
});

test("the total wait is milliseconds, or exact nanoseconds", () => {
  const policy = { attempts: 4, backoff: { initial: "1s", max: "none" } };
  assert.deepEqual([totalWait(policy), totalWaitNanos(policy)], [7000, 7_000_000_000n]);
  assert.deepEqual([totalWait("temporal"), totalWaitNanos("temporal")], [undefined, undefined]);
  assert.equal(totalWaitNanos({ attempts: 3, backoff: { kind: "constant", delay: "2000000h" } }), 2n ** 63n - 1n);
});

test("a policy is written as a document that reads back to the same", () => {
  const policies = [
    ...presets().map((name) => new Policy(name)),
    new Policy({
      rules: [
        { if: { types: ["CardDeclined"], codes: ["EPIPE"] }, retry: false },
        {
          if: [{ http: ["5xx"] }, { patterns: ['a"b', "é"] }],
          attempts: 9,
          backoff: { initial: "1s" },
          jitter: "none",
        },
        { if: { idempotent: false, patterns: ["c"], kinds: [] }, retry: true },
      ],
    }),
    new Policy({
      backoff: [
        { initial: 5, times: 2, floor: 1, jitter: "equal" },
        { delays: [1, "2s"], repeat: true },
      ],
    }),
    new Policy({ attempts: 5, deadline: "30s", limits: "last", total: 9, resetAfter: "1m", abortAtDeadline: false }),
    new Policy({ deadline: "1.5s", minAttempt: 1, onDeadline: "clip", hint: { mode: "exact", reach: 7 } }),
  ];
  for (const policy of policies) {
    const again = Policy.fromJson(toJson(policy));
    const { guardFields: guards, numbers: _, ...read } = again;
    const { guardFields: given, numbers: __, ...all } = policy;
    assert.deepEqual(read, all);
    assert.deepEqual(again.words, policy.words);
    assert.equal(guards === undefined, given === undefined);
    assert.equal(toJson(Policy.fromJson(toJson(policy))), toJson(policy));
  }
});

test("other systems' forms are read and written", () => {
  const config = {
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
  };
  const { policy } = fromForm("grpc", JSON.stringify(config));
  assert.equal(policy.judge("permanent", { grpc: 14 }).kind, "transient");
  assert.deepEqual(fromForm("grpc", toForm("grpc", policy)).policy, policy);
  const temporal = fromForm("temporal", { nonRetryableErrorTypes: ["Bad"] });
  assert.deepEqual(temporal.errorTypes, ["Bad"]);
  assert.deepEqual(fromForm("temporal", toForm("temporal", temporal.policy, temporal)), temporal);
  assert.deepEqual(
    fromForm("kubernetes", toForm("kubernetes", new Policy("kubernetes"))).policy.words,
    new Policy("kubernetes").words,
  );
  const graph = fromForm("langgraphgo-graph", { MaxRetries: 3, BackoffStrategy: 1, RetryableErrors: ["timeout"] });
  assert.equal(graph.policy.judge("permanent", { message: "a timeout" }).kind, "transient");
  assert.deepEqual(fromForm("langgraphgo-graph", toForm("langgraphgo-graph", graph.policy)), graph);
  const misspelt = { methodConfig: [{ name: [{}], retryPolicy: { maxAttemptz: 4 } }] };
  assert.throws(() => fromForm("grpc", misspelt), {
    word: "unknown_form_field",
    path: "methodConfig[0].retryPolicy.maxAttemptz",
    nearest: "maxAttempts",
  });
  for (const entry of [-1, 0.5, Number.NaN, "0"]) {
    assert.throws(() => fromForm("grpc", config, { entry }), { word: "wrong_type", path: "entry" });
  }
  for (const policy of [{ attempts: 2 }, undefined]) {
    assert.throws(() => toForm("grpc", policy), { word: "wrong_type", path: "policy" });
    assert.throws(() => toJson(policy), { word: "wrong_type", path: "policy" });
  }
  assert.throws(() => toForm("temporal", temporal.policy, { errorTypes: "Bad" }), { path: "errorTypes" });
  assert.throws(() => fromForm("spring", {}), { word: "unknown_word", path: "form" });
  assert.throws(() => fromForm("grpc", "{"), { word: "not_json" });
  assert.throws(() => toForm("aster", new Policy({ deadline: "1s" })), { word: "not_in_form" });
});

test("true and false of a form are read, and nothing else for them", () => {
  const jitter = (form) => JSON.parse(toJson(fromForm("polly", form).policy)).jitter;
  assert.equal(jitter({ UseJitter: false }), "none");
  assert.notEqual(jitter('{"UseJitter": true}'), "none");
  assert.throws(() => fromForm("polly", { UseJitter: 1 }), /UseJitter = 1: must be true or false/);
});

test("no document and no form does anything but read or be refused", () => {
  const forms = fc.constantFrom("grpc", "temporal", "kubernetes", "langgraphgo", "langgraphgo-graph", "aster");
  const names = fc.constantFrom("backoff", "MaxAttempts", "Duration", "initialInterval", "retryPolicy", "methodConfig");
  const value = fc.oneof(fc.jsonValue(), fc.dictionary(names, fc.jsonValue()));
  fc.assert(
    fc.property(forms, value, fc.dictionary(names, value), (form, odd, fields) => {
      for (const attempt of [
        () => fromForm(form, fields),
        () => fromForm(form, JSON.stringify(odd)),
        () => toJson(Policy.fromJson(JSON.stringify(odd))),
        () => Policy.fromJson(fields),
      ]) {
        try {
          attempt();
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test("a text without an end is read once", () => {
  for (const text of [`"${'\\"'.repeat(1e6)}`, '"\\', `{"${"a".repeat(1e7)}`, `{"${"a".repeat(1e7)}": 1 2}`])
    assert.throws(() => fromForm("grpc", text), { name: "ConfigError", code: 141 });
  const quoted = '{ "maximumAttempts": 4, "note": "a\\"1234567890123456789\\\\" }';
  assert.throws(() => fromForm("temporal", quoted), {
    name: "ConfigError",
    message: /^note = "a\\"1234567890123456789\\\\": /,
  });
});
