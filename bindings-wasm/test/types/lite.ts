import { retry, wrap, outcomeOf } from "holdoff/lite";
const n: number = await retry(({ attempt }) => attempt, { attempts: 2, backoff: { kind: "linear", increment: 5 } });
const w: (a: string) => Promise<number> = wrap((a: string) => a.length, { jitter: "none" });
// @ts-expect-error a text is no time here
retry(() => 1, { deadline: "30s" });
export { n, w, outcomeOf };
