// Ten thousand retries that wait, on one timer of the host's.
import assert from "node:assert/strict";
import { retry } from "holdoff";
import { Timers, Wheel } from "holdoff/timers";

const timers = new Timers();
let attempts = 0;
async function work({ attempt }) {
  attempts++;
  if (attempt < 3) throw new Error("not yet");
}
// So many failures at once would spend the budget for retries.
const options = { attempts: 3, backoff: { initial: "20ms" }, budget: "none", clock: timers };
await Promise.all(Array.from({ length: 10_000 }, () => retry(work, options)));
assert.equal(attempts, 30_000);

// Sleeps of one's own, which a signal ends.
const controller = new AbortController();
const sleep = timers.sleep("1h", { signal: controller.signal });
controller.abort(new Error("enough"));
console.log(await sleep.catch(({ message }) => message), timers.size);

// The wheel below it, for a loop and a clock of one's own.
const wheel = new Wheel();
const key = wheel.insert(2_000);
wheel.insert(1_000);
console.log(wheel.nextWake, wheel.pop(1_500), wheel.cancel(key), wheel.nextWake);
