// A log of a call becomes a test that fails as the call did.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withGlobal } from "@sinonjs/fake-timers";
import { outcomeOf, Policy, retry } from "holdoff";
import { VirtualClock } from "holdoff/testing";
import { Event, incident, RecordedError, Recorder } from "holdoff/tools";
import { failure } from "./virtual.mjs";

const OLD = new Policy({ attempts: 3 });
const NEW = new Policy({ attempts: 4 });
const SECOND = 1_000_000_000n;

/** The log of a call that gave up under the old policy; each attempt took a quarter of a second. */
function logged() {
  let now = 1_700_000_000n * SECOND;
  let [recorder, { step, events }] = Recorder.begin(OLD, 7, now);
  const log = [...events];
  for (const failed of ["transient", { kind: "throttled", hint: 1n }, "transient"]) {
    if (step.kind === "sleep") {
      now = step.until;
      ({ step, events } = recorder.tick(now));
      log.push(...events);
    }
    now += SECOND / 4n;
    ({ step, events } = recorder.fail(step.ticket, now, failed, "down"));
    log.push(...events);
  }
  return log;
}

const lines = (log) => log.map((event) => `${JSON.stringify(event)}\n`).join("");
const delays = (log) =>
  log.filter(({ type }) => type === "RETRY_SCHEDULED").map(({ at, until }) => Number(BigInt(until) - BigInt(at)));

test("the policy of the incident decides the same again, whatever the form of its log", async () => {
  const log = logged();
  const bytes = Buffer.concat(log.map((event) => Event.toBytes(event)));
  for (const form of [log, lines(log), Buffer.from(lines(log)), bytes, lines(log).trim().split("\n")]) {
    const recorded = incident(form);
    const clock = new VirtualClock();
    const slept = [];
    const onRetry = ({ delayMs }) => void slept.push(Math.round(delayMs * 1e6));
    const work = recorded.work("ok", clock);
    const error = await failure(clock.settled(retry(work, { ...recorded.options, policy: OLD, clock, onRetry })));
    assert.ok(error instanceof RecordedError);
    assert.deepEqual([error.message, outcomeOf(error).reason, outcomeOf(error).attempts], ["down", "attempts", 3]);
    assert.deepEqual(slept, delays(log));
  }
});

test("another policy survives the same incident", async () => {
  const recorded = incident(logged());
  const clock = new VirtualClock();
  const result = retry(recorded.work("ok", clock), { ...recorded.options, policy: NEW, clock });
  assert.equal(await clock.settled(result), "ok");
});

test("an incident happens again under fake timers", async () => {
  const fake = withGlobal(globalThis).install({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const recorded = incident(logged());
    const result = retry(recorded.work("ok"), { ...recorded.options, policy: NEW });
    await fake.tickAsync(60_000);
    assert.equal(await result, "ok");
  } finally {
    fake.uninstall();
  }
});

test("an incident knows its attempts", () => {
  const { attempts, options } = incident(logged());
  assert.equal(options.seed, 7n);
  assert.deepEqual(attempts, [
    { tookMs: 250, failure: { kind: "transient" }, text: "down" },
    { tookMs: 250, failure: { kind: "throttled", hint: 1n }, text: "down" },
    { tookMs: 250, failure: { kind: "transient" }, text: "down" },
  ]);
  assert.equal(options.when(new Error("other")), undefined);
});

test("a log without an attempt that ended is refused", () => {
  for (const log of ["", [], new Uint8Array(), logged().slice(0, 1)]) {
    assert.throws(() => incident(log), /^ConfigError: log: has no attempt that ended/);
  }
  assert.throws(() => incident(Uint8Array.of(0xf5, 1)), { name: "ReplayError" });
});
