// The machine without the host: time is a number, so an hour of retries takes no time.
import { Policy } from "holdoff";
import { Call, Schedule } from "holdoff/tools";

const policy = new Policy({ backoff: { initial: "1s", max: "1m" }, attempts: 8, deadline: "1h" });
console.log("delays in seconds:", [...new Schedule(policy, 7)].map((nanos) => (nanos / 1e9).toFixed(1)).join(" "));

let now = 0;
let [call, step] = Call.begin(policy, 7, now);
while (step.kind !== "stop") {
  if (step.kind === "attempt") {
    step = call.fail(step.ticket, now, "transient");
  } else {
    now = step.until;
    step = call.tick(now);
  }
}
console.log(`${step.outcome} after ${(now / 1e9).toFixed(1)} s: ${step.reason}`);
