// A call that leaves a log behind, from which another process goes on with it.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Policy } from "holdoff";
import { Event, Recorder, ReplayError, replay } from "holdoff/tools";

const file = join(mkdtempSync(join(tmpdir(), "holdoff-")), "charge.jsonl");
const policy = new Policy({ attempts: 5, deadline: "1h", backoff: { initial: "10s", max: "5m" } });
const now = () => BigInt(Date.now()) * 1_000_000n;

/** Writes down what has happened, before anything is done about it. */
function write({ step, events }) {
  for (const event of events) appendFileSync(file, `${JSON.stringify(event)}\n`);
  return step;
}

// The first process makes an attempt, which fails, and is gone.
const [recorder, first] = Recorder.begin(policy, 42, now(), { task: "charge" });
const { ticket } = write(first);
const sleep = write(recorder.fail(ticket, now(), "throttled", "too many requests"));
console.log(readFileSync(file, "utf8"));

// Another one reads the log, and sleeps as long as the first one would have.
const lines = readFileSync(file, "utf8").trim().split("\n");
const replayed = replay(policy, lines, { mode: "verify" });
assert.deepEqual(write(replayed.resume(now())), sleep);
const again = write(replayed.tick(sleep.until));
assert.equal(again.attempt, 2);

// It dies in the attempt; the next one runs the same attempt again.
const events = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => Event.fromJson(line));
const third = replay(policy, events);
const { attempt } = write(third.resume(sleep.until));
assert.equal(attempt, 2);
console.log(write(third.succeed(2, sleep.until + 5_000_000n)));

// As bytes a log is shorter, and damage is noticed.
const bytes = Buffer.concat(events.map((event) => Event.toBytes(event)));
console.log(`${events.length} events in ${bytes.length} bytes`);
bytes[20] ^= 1;
assert.throws(() => replay(policy, bytes), ReplayError);
