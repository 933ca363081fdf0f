// Four kilobytes for a page: the same decisions as holdoff makes for the same options and seed.
import { retry } from "holdoff";
import { retry as small } from "holdoff/lite";

async function delays(run) {
  const seen = [];
  const work = ({ attempt }) => (attempt < 4 ? Promise.reject(new Error("not yet")) : "done");
  const options = {
    attempts: 5,
    backoff: { initial: 2, max: 20 },
    seed: 42,
    onRetry: ({ delayMs }) => seen.push(delayMs),
  };
  console.log(await run(work, options), seen);
  return String(seen);
}

if ((await delays(small)) !== (await delays(retry))) throw new Error("they differ");
