// What a program does with every entry of the package, in whatever runs it: the answers.
import { outcomeOf, Policy, retry } from "holdoff";
import { Guards } from "holdoff/guards";
import { Timers } from "holdoff/timers";
import { Event, explain, Gates, Recorder, replay } from "holdoff/tools";

function third({ attempt }) {
  if (attempt < 3) throw new Error("busy");
  return attempt;
}
const soon = { backoff: { initial: 1 }, seed: 7 };

export async function answers() {
  const guards = new Guards({ breaker: { failures: 1 } });
  const down = () => Promise.reject(new Error("down"));
  const lost = await retry(down, { attempts: 2, ...soon }).catch((error) => error);
  await retry(down, { attempts: 1, guards }).catch(() => {});
  const timers = new Timers();
  await timers.sleep(1);
  const policy = { attempts: 2, jitter: "none" };
  const recorded = new Policy(policy);
  const [recorder, { events }] = Recorder.begin(recorded, 7n, 0n, { task: "größer" });
  const log = [...events, ...recorder.fail(1, 5n, "transient", "boom ✗").events];
  return {
    attempt: await retry(third, soon),
    lost: [lost.message, outcomeOf(lost).reason, outcomeOf(lost).attempts],
    open: await retry(down, { guards }).catch(({ name }) => name),
    gate: new Gates({ initial: "1s" }).failure("host", 0),
    lines: String(explain(policy)).split("\n")[1],
    task: log[0].payload.taskId,
    text: Event.readAll(Event.toBytes(log[1]))[0].failureReason,
    replayed: replay(recorded, log, { mode: "verify" }).sequence,
    mistake: await retry(third, { attempts: 0 }).catch(({ code, path }) => [code, path]),
    foreign: (() => {
      try {
        return Recorder.begin({}, 7n, 0n);
      } catch ({ name, word, path }) {
        return [name, word, path];
      }
    })(),
  };
}

export const expected = {
  attempt: 3,
  lost: ["down", "attempts", 2],
  open: "Refused",
  gate: 1_000_000_000,
  lines: "2 attempts, no deadline",
  task: "größer",
  text: "boom ✗",
  replayed: 3,
  mistake: [104, "attempts"],
  foreign: ["ConfigError", "wrong_type", "policy"],
};
