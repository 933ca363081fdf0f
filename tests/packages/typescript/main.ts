import { type Outcome, outcomeOf, Policy, type RetryOptions, retry, wrap } from "holdoff";
import { type BreakerState, Guards, type GuardsOptions, Refused } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { type GiveUpEvent, listen } from "holdoff/telemetry";
import { Timers, type TimersOptions } from "holdoff/timers";
import {
  Event,
  type Explanation,
  explain,
  type GateState,
  Gates,
  type Recorded,
  Recorder,
  type ReplayOptions,
  replay,
} from "holdoff/tools";

interface Page {
  title: string;
}

const options: RetryOptions = { attempts: 4, backoff: { initial: "1ms" }, when: (error) => error instanceof Error };
const load = wrap(async (title: string): Promise<Page> => ({ title }), options);
const page: Page = await load("holdoff");
const attempt: number = await retry(({ attempt }) => {
  if (attempt < 2) throw new Error(page.title);
  return attempt;
}, options);
const error: unknown = await new Policy({ attempts: 1 }).retry(() => Promise.reject(new Error("no"))).catch(String);
const outcome: Outcome | undefined = outcomeOf(error);
const remove: () => void = listen({ onGiveUp: ({ reason, refusedBy }: GiveUpEvent) => console.log(reason, refusedBy) });
remove();
const gates = new Gates<string>({ initial: "1s" });
const closed: bigint = gates.failure("host", 0n);
const state: GateState = gates.look("host", 0);
const explained: Explanation = explain("kubernetes");
const described: GuardsOptions = { breaker: { failures: 1, openFor: "1m" }, bulkhead: 2 };
const guards = new Guards(described);
const refused: unknown = await retry(() => 1, { guards, fallback: () => 2 });
const breaker: BreakerState | undefined = guards.breaker?.state();
const [, began]: [Recorder, Recorded<bigint>] = Recorder.begin(new Policy(), 7, 0n, { task: page.title });
const reading: ReplayOptions = { mode: "verify" };
const again: Recorder = replay(
  new Policy(),
  began.events.map((event: Event) => Event.toBytes(event))[0] ?? [],
  reading,
);
const small: lite.RetryOptions = { attempts: 3, backoff: { kind: "constant", delay: 1 }, when: () => "transient" };
const twice: (this: unknown, count: number) => Promise<number> = lite.wrap(async (count: number) => 2 * count, small);
const ended: lite.Outcome | undefined = lite.outcomeOf(error);
const unref: TimersOptions = { unref: true };
if (again.attempt !== 1 || new Timers(unref).size !== 0) throw new Error("wrong");
if ((await twice(await lite.retry(({ attempt }) => attempt))) !== 2 || ended) throw new Error("wrong");
if (refused !== 1 || breaker !== "closed" || error instanceof Refused) throw new Error("wrong");
if (closed !== 1_000_000_000n || state.isOpen || explained.rows.length !== 3) throw new Error("wrong");
if (attempt !== 2 || error !== "Error: no" || outcome !== undefined) throw new Error("wrong");
