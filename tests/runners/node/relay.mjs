// A call that goes from language to language: each reads its log, makes one attempt, and leaves it asleep.
// tests/vectors/README.md says what a leg is.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { Event, Recorder, replay } from "../../../bindings-wasm/dist/esm/tools.js";

const SEED = 7;
const BEGAN = 1_700_000_000_000_000_000n;
const SECOND = 1_000_000_000n;
const FAILURES = ["transient", { kind: "throttled", hint: 2_500_000_000n }, "timeout"];

/** Goes on with the call whose log is in a file of lines, and in one of bytes beside it; begins it when there is none. */
export function leg(path) {
  const policy = new Policy({ attempts: 20 });
  const bytes = path.replace(/\.[^.]*$/, ".bin");
  const write = ({ step, events }) => {
    for (const event of events) {
      appendFileSync(path, `${JSON.stringify(event)}\n`);
      appendFileSync(bytes, Event.toBytes(event, event.type === "ATTEMPT_FAILED" ? event.failureReason : ""));
    }
    return step;
  };
  let now = BEGAN;
  let [call, recorded] = [undefined, undefined];
  if (existsSync(path)) {
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    assert.ok(lines.every((line) => Event.fromJson(line).payload.taskId === "relay"));
    call = replay(policy, lines, { mode: "verify" });
    const ofBytes = replay(policy, readFileSync(bytes), { mode: "verify", task: "relay" });
    const resumed = call.resume(BEGAN);
    assert.deepEqual(ofBytes.resume(BEGAN), resumed);
    now = resumed.step.until;
    recorded = call.tick(now);
    assert.deepEqual(ofBytes.tick(now), recorded);
  } else {
    [call, recorded] = Recorder.begin(policy, SEED, BEGAN, { task: "relay" });
  }
  const { ticket, attempt } = write(recorded);
  const text = `attempt ${attempt}: "größer" → \\ 東京\n`;
  write(call.fail(ticket, now + SECOND, FAILURES[attempt % 3], text));
}
