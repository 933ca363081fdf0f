import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Policy, retry } from "holdoff";
import "holdoff/policies";
import "holdoff/rules";

const status = (status) => Object.assign(new Error("no"), { status });

test("rules judge failures without `holdoff/classify`", async () => {
  const rules = [
    { if: { types: ["CardDeclined"] }, retry: false },
    { if: [{ http: [404, "2xx"] }, { grpc: ["not_found", 3], kinds: ["permanent"] }], retry: true },
    { if: { patterns: ["lock timeout"], idempotent: false }, retry: true },
  ];
  const policy = new Policy({ rules, backoff: { initial: 1 }, attempts: 2, budget: "none" });
  let calls = 0;
  const fail = () => Promise.reject(status(++calls && 404));
  await assert.rejects(policy.retry(fail), { message: "no" });
  assert.equal(calls, 2);
  assert.deepEqual(policy.classify(status(404)), { kind: "transient", hint: undefined, rule: 2 });
  assert.deepEqual(policy.judge("permanent", { grpc: 5 }), { kind: "transient", hint: undefined, rule: 2 });
  const locked = { message: "a lock timeout", idempotent: false };
  assert.deepEqual(policy.judge("transient", locked), { kind: "transient", hint: undefined, rule: 3 });
  assert.equal(policy.judge("transient", { types: ["CardDeclined"] }).kind, "permanent");
  assert.deepEqual(
    [202, 302].map((code) => policy.isFailure(code)),
    [true, false],
  );
  assert.equal(await retry(() => 1, { rules }), 1);
});

test("own rules take the place of those of a preset", () => {
  const preset = "aws-standard-2.1";
  assert.throws(() => new Policy({ preset }), { code: 147, rule: 'needs import "holdoff/classify"' });
  const policy = new Policy({ preset, rules: [{ retry: false }] });
  assert.deepEqual(policy.classify(status(429)), { kind: "permanent", hint: undefined, rule: 1 });
});

test("rules are read as the core reads them", async () => {
  await import("holdoff/classify");
  const words =
    "1xx 5xx 6xx 5XX xx5 UNAVAILABLE unavailable unavailble OK transient timeout timeuot permanentt EPIPE  a ſ".split(
      " ",
    );
  const numbers = [0, 1, 5, 16, 17, 99, 100, 404, 599, 600, -1, 1.5, Number.NaN, Infinity, -0, 2 ** 32, 2 ** 32 + 100];
  const any = fc.constantFrom(...words, ...numbers, null, undefined, true, false, {}, [], 5n);
  const mostly = (usual, rarely) => fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: rarely });
  const list = (...entries) =>
    mostly(
      fc.array(fc.constantFrom(...entries), { maxLength: 3 }),
      mostly(fc.array(any, { minLength: 1, maxLength: 3 }), any),
    );
  const flag = mostly(fc.boolean(), any);
  const fields = (names) => fc.record(names, { requiredKeys: [] });
  const conditions = {
    http: list(503, "5xx", 429, "4xx", 100, 599),
    grpc: list("UNAVAILABLE", 14, "ok", 0, 16),
    kinds: list("transient", "throttled", "timeout", "permanent"),
    codes: list("EPIPE", "a", "b"),
    types: list("TypeError", "X"),
    patterns: list("x", "no", ""),
    idempotent: flag,
    unsent: flag,
  };
  const odd = [{ htp: [1] }, { http_: [503] }, { "http[0]": 5 }, { "[0]": { http: [5] } }, { types: { a: 1 } }];
  const condition = mostly(fields(conditions), fc.constantFrom(...odd, { http: [[503]] }, { unsent: [true] }, 5, null));
  const conditioned = mostly(
    fc.oneof(condition, fc.array(condition, { maxLength: 4 })),
    fc.array(fields({ http: fc.constant([503]), unsent: fc.boolean() }), { maxLength: 20 }),
  );
  const others = [
    { iff: {} },
    { retri: true },
    { "if.http[0]": 503 },
    { deadline: 5 },
    { "if[1]": {} },
    { retry: [1] },
  ];
  const rule = mostly(
    fields({ if: conditioned, retry: flag }),
    fc.constantFrom(...others, { "retry.x": 1 }, 5, null, []),
  );
  const rules = mostly(
    fc.array(rule, { maxLength: 4 }),
    mostly(fc.array(fields({ retry: fc.boolean() }), { maxLength: 12 }), any),
  );
  const preset = fc.constantFrom("kubernetes", "aws-standard-2.1", "polly");
  const rest = {
    attempts: fc.constantFrom(3, 0),
    "rules[12]": fc.constantFrom({}, 5),
    "rules.x": any,
    "rules[0][1]": any,
  };
  const document = mostly(fields({ preset, rules }), fields({ ...rest, preset, rules }));
  const read = (fields, isDocument) => {
    try {
      const { rules } = isDocument ? Policy.fromJson(fields) : new Policy(fields);
      return rules && { words: [...rules.words], texts: rules.texts };
    } catch ({ code, word, path, message, nearest }) {
      return { code, word, path, message, nearest };
    }
  };
  const codes = new Set();
  for (const fields of fc.sample(document, 2000)) {
    for (const isDocument of [false, true]) {
      const here = read(fields, isDocument);
      // With one field more the core reads the policy.
      const there = read({ ...fields, [isDocument ? "delay_from" : "delayFrom"]: "start" }, isDocument);
      assert.deepEqual(here, there);
      codes.add(here?.code);
    }
  }
  for (const code of [undefined, 100, 101, 120, 121, 122, 123, 124, 174, 180]) assert.ok(codes.has(code), `${code}`);
});
