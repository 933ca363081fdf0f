import { outcomeOf, retry, wrap } from "holdoff/lite";

const attempts: number = await retry(({ attempt }) => attempt, {
  attempts: 2,
  backoff: { kind: "linear", increment: 5 },
});
const length: (text: string) => Promise<number> = wrap((text: string) => text.length, { jitter: "none" });
// @ts-expect-error a text is no time here
retry(() => 1, { deadline: "30s" });

export { attempts, length, outcomeOf };
