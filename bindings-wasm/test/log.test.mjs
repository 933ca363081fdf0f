import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { ConfigError, Policy } from "holdoff";
import "holdoff/rules";
import "holdoff/policies";
import { Guards } from "holdoff/guards";
import { Call, Event, Recorder, ReplayError, replay, save } from "holdoff/tools";

const START = 1_700_000_000_000_000_000n;
const second = 1_000_000_000n;
const failing = new Policy({ attempts: 3, backoff: { initial: "1s" }, jitter: "none" });

/** A call that fails until it stops: its recorder and its log. */
function exhausted(policy = failing, options = { task: "charge" }) {
  let [recorder, { step, events }] = Recorder.begin(policy, 7, START, options);
  const log = [...events];
  let now = START;
  while (step.kind !== "stop") {
    if (step.kind === "attempt") ({ step, events } = recorder.fail(step.ticket, (now += second), "transient", "boom"));
    else ({ step, events } = recorder.tick((now = step.until)));
    log.push(...events);
  }
  return { recorder, log };
}

const bytesOf = (log) => Buffer.concat(log.map((event) => Event.toBytes(event)));

function wrong(run) {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ReplayError, String(error));
    return error;
  }
  throw new Error("nothing is wrong");
}

test("an event is a frozen object with the names that workflow engines have", () => {
  const { log } = exhausted();
  const [started, failed, scheduled, resumed] = log;
  assert.deepEqual(
    { ...started, policy: "" },
    {
      version: 1,
      sequence: 1,
      type: "STARTED",
      at: "1700000000000000000",
      attemptNumber: 1,
      payload: { taskId: "charge" },
      policy: "",
      seed: "7",
      guarded: 0,
    },
  );
  assert.deepEqual(failed, {
    version: 1,
    sequence: 2,
    type: "ATTEMPT_FAILED",
    at: "1700000001000000000",
    attemptNumber: 1,
    failureReason: "boom",
    payload: { taskId: "charge", reason: "boom" },
    failure: "transient",
    hint: "none",
  });
  assert.equal(
    JSON.stringify(scheduled),
    '{"version":1,"sequence":3,"type":"RETRY_SCHEDULED","at":"1700000001000000000","attemptNumber":2,' +
      '"backoffDelayMs":1000,"failureReason":"boom","payload":{"taskId":"charge","reason":"boom"},' +
      '"until":"1700000002000000000","cause":"backoff"}',
  );
  assert.deepEqual(resumed, {
    version: 1,
    sequence: 4,
    type: "RESUMED",
    at: "1700000002000000000",
    attemptNumber: 2,
    payload: { taskId: "charge" },
  });
  assert.deepEqual(
    log.map(({ type }) => type),
    ["STARTED", ...Array(2).fill(["ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED"]).flat(), "ATTEMPT_FAILED", "GAVE_UP"],
  );
  assert.equal(log.at(-1).reason, "attempts");
  assert.ok(log.every((event) => Object.isFrozen(event) && Object.isFrozen(event.payload)));
  assert.equal(Object.getPrototypeOf(started), Object.prototype);
});

test("a log reads the same as objects, as JSON and as bytes", () => {
  const { log, recorder } = exhausted();
  const json = log.map((event) => JSON.stringify(event));
  assert.deepEqual(
    json.map((line) => Event.fromJson(line)),
    log,
  );
  assert.deepEqual(Event.fromJson(log[1]), log[1]);
  const bytes = bytesOf(log);
  assert.deepEqual(bytesOf(json.map((line) => JSON.parse(line))), bytes);
  const texts = Event.readAll(bytes);
  assert.deepEqual(
    texts.map(({ payload: _, ...event }) => event),
    log.map(({ payload: _, ...event }) => event),
  );
  for (const form of [log, json, json.map((line) => JSON.parse(line)), new Set(log).values(), bytes]) {
    const replayed = replay(failing, form, { mode: "verify" });
    assert.deepEqual(replayed.step, recorder.step);
    assert.deepEqual(save(replayed.call, START), save(recorder.call, START));
  }
});

const input = fc.record({
  op: fc.constantFrom("succeed", "fail", "fail", "fail", "abandon", "tick", "tick", "tick", "cancel"),
  after: fc.oneof(fc.constant(0n), fc.bigInt(0n, 20n * second)),
  ticket: fc.integer({ min: 0, max: 5 }),
  failure: fc.record({
    kind: fc.constantFrom("transient", "throttled", "timeout", "permanent"),
    hint: fc.option(fc.bigInt(0n, 10n * second), { nil: undefined }),
  }),
});
const policies = [{}, { attempts: "forever", deadline: "40s" }, { preset: "temporal" }, { attemptTimeout: "1s" }];

test("a recorded call takes the steps of a call, and its log makes the same recorder at any moment", () => {
  fc.assert(
    fc.property(fc.nat(3), fc.bigInt(0n, 2n ** 64n - 1n), fc.array(input, { maxLength: 30 }), (which, seed, inputs) => {
      const policy = new Policy(policies[which]);
      const [call, first] = Call.begin(policy, seed, START);
      const [recorder, { step, events }] = Recorder.begin(policy, seed, START);
      assert.deepEqual(step, first);
      const log = [...events];
      let now = START;
      for (const { op, after, ticket, failure } of inputs) {
        now += after;
        let plain;
        let recorded;
        if (op === "fail") {
          [plain, recorded] = [call.fail(ticket, now, failure), recorder.fail(ticket, now, failure)];
        } else if (op === "succeed") {
          [plain, recorded] = [call.succeed(ticket, now), recorder.succeed(ticket, now)];
        } else if (op === "abandon") {
          [plain, recorded] = [call.fail(ticket, now, "permanent"), recorder.abandon(ticket, now)];
        } else {
          [plain, recorded] = [call[op](now), recorder[op](now)];
        }
        assert.deepEqual(recorded.step, plain);
        log.push(...recorded.events);
        const replayed = replay(policy, bytesOf(log), { mode: "verify" });
        assert.deepEqual(replayed.step, recorder.step);
        assert.deepEqual(save(replayed.call, now), save(recorder.call, now));
        assert.deepEqual(
          [replayed.sequence, replayed.attempt, replayed.reruns, replayed.started],
          [recorder.sequence, recorder.attempt, recorder.reruns, recorder.started],
        );
        assert.equal(replayed.sequence, log.length);
      }
    }),
    { numRuns: 200 },
  );
});

test("an attempt that was interrupted runs again under its number, and only so often", () => {
  const [, { events }] = Recorder.begin(failing, 1, START, { task: "charge" });
  const log = [...events];
  let now = START;
  for (const reruns of [1, 2]) {
    const recorder = replay(failing, log);
    const { step, events } = recorder.resume((now += second), 2);
    assert.equal(step.kind, "attempt");
    assert.equal(step.attempt, 1);
    assert.equal(recorder.reruns, reruns);
    assert.deepEqual(
      events.map(({ type, payload }) => [type, payload?.taskId]),
      [["RESUMED", "charge"]],
    );
    log.push(...events);
  }
  const { step, events: failed } = replay(failing, log).resume((now += second), 2);
  assert.equal(step.kind, "sleep");
  assert.deepEqual(
    failed.map(({ type, failure }) => [type, failure]),
    [
      ["ATTEMPT_FAILED", "timeout"],
      ["RETRY_SCHEDULED", undefined],
    ],
  );
});

test("a log that was cut before its decision gets the decision first", () => {
  const { log } = exhausted();
  const recorder = replay(failing, log.slice(0, 2));
  const { step, events } = recorder.resume(START + 5n * second);
  assert.equal(step.kind, "sleep");
  assert.deepEqual(
    events.map(({ failureReason: _, payload: __, ...event }) => event),
    [log[2]].map(({ failureReason: _, payload: __, ...event }) => event),
  );
});

test("what is wrong with a log is said of the event that it is about", () => {
  const { log } = exhausted();
  const of = (events, options) => {
    const { word, sequence } = wrong(() => replay(failing, events, options));
    return `${sequence}: ${word}`;
  };
  assert.equal(of([]), "1: log_empty");
  assert.equal(of(log.slice(1)), "1: log_start");
  assert.equal(of([log[0], log[2]]), "2: log_gap");
  assert.equal(of([log[0], log[1], log[1]]), "2: log_twice");
  assert.equal(of([...log.slice(0, 4), log[1]]), "2: log_order");
  assert.equal(of([log[0], { ...log[3], sequence: 2 }]), "2: log_impossible");
  assert.equal(of([log[0], { ...log[1], at: "5" }]), "2: log_time");
  assert.equal(of([{ ...log[0], policy: "5" }]), "1: log_policy");
  assert.equal(replay(failing, [{ ...log[0], policy: "5" }], { anyPolicy: true }).sequence, 1);
  const bytes = bytesOf(log);
  const second = Event.toBytes(log[0]).length;
  assert.equal(of(bytes.subarray(0, second + 5)), "2: event_cut");
  const damaged = Uint8Array.from(bytes);
  damaged[second + 4] ^= 1;
  assert.equal(of(damaged), "2: event_damaged");
  const later = Uint8Array.from(bytes);
  later[1] = 9;
  assert.equal(of(later), "1: event_version");
});

test("a decision that the policy would not make is followed, or an error that shows both", () => {
  const { log } = exhausted();
  const promised = { ...log[2], until: "1700000009000000000" };
  const events = [log[0], log[1], promised];
  const { step } = replay(failing, events);
  assert.equal(step.until, START + 9n * second);
  const error = wrong(() => replay(failing, events, { mode: "verify" }));
  assert.equal(error.word, "log_diverged");
  assert.equal(error.recorded.until, promised.until);
  assert.equal(error.recorded.payload.taskId, "charge");
  assert.equal(error.computed.until, log[2].until);
  assert.match(error.message, /^event 3: .*the log says RETRY_SCHEDULED, attempt 2, in 8s \(backoff\); the policy/);
});

test("a field that is wrong is named, with the nearest one", () => {
  const { log } = exhausted();
  const of = (event) => {
    const { word, path, nearest } = wrong(() => Event.fromJson(event));
    return [path, word, nearest];
  };
  const [started, , scheduled] = log;
  assert.deepEqual(of({ ...started, sequense: 2 }), ["sequense", "unknown_event_field", "sequence"]);
  assert.deepEqual(of({ ...started, seed: "x" }), ["seed", "wrong_type", undefined]);
  assert.deepEqual(of({ ...started, type: "STARTD" }), ["type", "unknown_word", "STARTED"]);
  assert.deepEqual(of({ ...started, cause: "hint" }), ["cause", "not_for_kind", undefined]);
  assert.deepEqual(of({ ...started, payload: { tasksId: "" } }), [
    "payload.tasksId",
    "unknown_event_field",
    "payload.taskId",
  ]);
  assert.deepEqual(of({ ...started, version: 2 }), ["version", "event_version", undefined]);
  assert.deepEqual(of({ ...started, payload: [] }), ["payload", "wrong_type", undefined]);
  const { seed: _, ...without } = started;
  assert.deepEqual(of(without), ["seed", "missing_event_field", undefined]);
  assert.deepEqual(of("{"), ["", "not_json", undefined]);
  assert.deepEqual(of([]), ["", "not_an_object", undefined]);
  // Either of the two says when, and the exact one counts.
  const { until: __, ...rounded } = scheduled;
  assert.deepEqual(Event.fromJson(rounded), scheduled);
  assert.equal(Event.fromJson({ ...scheduled, backoffDelayMs: 5 }).backoffDelayMs, 1000);
});

test("texts of any length and any letters go with an event", () => {
  const { log } = exhausted();
  const read = (text) => Event.readAll(Event.toBytes(log[1], text))[0].failureReason;
  for (const text of ["", "ü😀\u0000\n", "x".repeat(65_535)]) assert.equal(read(text) ?? "", text);
  const cut = read("😀".repeat(20_000));
  assert.equal(cut, "😀".repeat(16_383));
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (text) => (read(text) ?? "") === text));
});

test("bytes that are no log never do more than throw", () => {
  const bytes = bytesOf(exhausted().log);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 3 }), (changes) => {
      const changed = Uint8Array.from(bytes);
      for (const [at, byte] of changes) changed[at] = byte;
      try {
        assert.deepEqual(replay(failing, changed, { mode: "verify" }).sequence, 9);
        assert.deepEqual(changed, Uint8Array.from(bytes));
      } catch (error) {
        assert.ok(error instanceof ReplayError);
      }
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (noise) => {
      wrong(() => Event.readAll(noise));
    }),
  );
});

test("a recorded call asks its guards, and its log holds what they said", () => {
  const guards = new Guards({ breaker: { failures: 1, openFor: "10s", refusal: "wait" }, seed: 1, now: START });
  const [recorder, { step, events }] = Recorder.begin(failing, 1, START, { guards });
  const log = [...events];
  log.push(...recorder.fail(step.ticket, START + second, "transient").events);
  assert.deepEqual(
    log.map(({ type, cause }) => cause ?? type),
    ["STARTED", "ATTEMPT_FAILED", "breaker"],
  );
  assert.equal(recorder.isGuarded, true);
  const elsewhere = new Guards({ breaker: { failures: 1, openFor: "10s", refusal: "wait" }, seed: 1, now: START });
  const replayed = replay(failing, log, { mode: "verify", guards: elsewhere });
  assert.deepEqual(save(replayed.call, START), save(recorder.call, START));
  // There the breaker is closed: the call asks at once and runs.
  const { step: asked } = replayed.resume(START + 3n * second);
  assert.equal(asked.kind, "sleep");
  assert.equal(replayed.tick(START + 3n * second).step.kind, "attempt");
});

test("what goes into a log can be read again", () => {
  const begun = () => Recorder.begin(failing, 7, START)[0];
  for (const reason of [new Error("down"), 503, {}, true]) {
    const recorder = begun();
    const { sequence, step } = recorder;
    assert.throws(() => recorder.fail(1, START, "transient", reason), ConfigError);
    assert.deepEqual([recorder.sequence, recorder.step], [sequence, step]);
    assert.throws(() => recorder.abandon(1, START, reason), ConfigError);
    assert.throws(() => Event.toBytes(recorder.fail(1, START, "transient").events[0], reason), ConfigError);
  }
  // Half a character is what a text that was cut to a length ends with; other languages take no such JSON.
  const [recorder, { events }] = Recorder.begin(failing, 7, START, { task: "\udc00 charge" });
  const [failed] = recorder.fail(1, START, "transient", "no \u{1f600}, \ud83d").events;
  assert.equal(events[0].payload.taskId, "\ufffd charge");
  assert.equal(failed.failureReason, "no \u{1f600}, \ufffd");
});

test("a text goes into the bytes from whatever form an event has", () => {
  const recorder = Recorder.begin(failing, 7, START)[0];
  const [failed] = recorder.fail(1, START, "transient", "down").events;
  const { failureReason: _, ...other } = JSON.parse(JSON.stringify(failed));
  for (const form of [failed, JSON.stringify(failed), other]) {
    assert.deepEqual(Event.toBytes(form), Event.toBytes(failed, "down"));
  }
});

test("bytes of another realm are bytes, and what is no bytes is no empty log", () => {
  const { log } = exhausted();
  const bytes = bytesOf(log);
  const foreign = runInNewContext("new Uint8Array(length)", { length: bytes.length });
  foreign.set(bytes);
  assert.deepEqual(Event.readAll(foreign), Event.readAll(bytes));
  assert.deepEqual(replay(failing, foreign).step, replay(failing, bytes).step);
  for (const wrong of [bytes.buffer, new DataView(bytes.buffer), new Uint16Array(8), {}, [...bytes], "", undefined]) {
    assert.throws(() => Event.readAll(wrong), ConfigError);
  }
});

test("a line that is no event is named by its place in the log", () => {
  const lines = exhausted().log.map((event) => JSON.stringify(event));
  for (const [wrong, word] of [
    ["", "not_json"],
    [null, "not_an_object"],
    ["{}", "missing_event_field"],
  ]) {
    assert.throws(() => replay(failing, [...lines, wrong]), { name: "ReplayError", word, sequence: lines.length + 1 });
  }
});

test("what is no option is refused", () => {
  const refused = (run) => assert.throws(run, ConfigError);
  refused(() => Recorder.begin({}, 1, START));
  refused(() => Recorder.begin(failing, -1, START));
  refused(() => Recorder.begin(failing, 1, START, { guards: {} }));
  refused(() => Recorder.begin(failing, 1, START, { task: 5 }));
  refused(() => replay(failing, "[]"));
  refused(() => replay(failing, [], { mode: "folow" }));
  const [recorder] = Recorder.begin(failing, 1, START);
  refused(() => recorder.resume(START, -1));
  refused(() => recorder.fail(1, START, "bad"));
});

test("times may be numbers, which come back as such", () => {
  const [recorder, { step }] = Recorder.begin(failing, 1, 1000);
  assert.equal(step.abortAt, Infinity);
  assert.equal(recorder.fail(1, 2000, "transient").step.until, 1_000_002_000);
  assert.equal(recorder.step.until, 1_000_002_000n);
});
