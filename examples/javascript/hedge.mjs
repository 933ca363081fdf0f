// Hedging: a second attempt beside a slow one; the first success wins, and the other attempt is aborted.

import { Guards, retry } from "holdoff/guards";

const guards = new Guards({ hedge: { delay: "20ms", percentile: 0.95 } });

const answer = await retry(
  ({ attempt, signal }) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(`attempt ${attempt} was first`), attempt === 1 ? 500 : 10);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        console.log(`attempt ${attempt} is aborted`);
        reject(signal.reason);
      });
    }),
  { guards },
);
console.log(answer);
