// The usual case: a call that fails now and then.
import { outcomeOf, retry } from "holdoff";

let calls = 0;
async function load(path) {
  calls++;
  if (calls < 3) throw new Error("connection reset");
  return `${path} at call ${calls}`;
}

const page = await retry(({ attempt }) => load(`/page?attempt=${attempt}`), {
  attempts: 5,
  backoff: { initial: "10ms", max: "1s" },
  deadline: "30s",
  onRetry: ({ attempt, error, delayMs }) =>
    console.log(`attempt ${attempt}: ${error.message}, next in ${delayMs.toFixed(1)} ms`),
});
console.log(page);

// The last error comes out as it was thrown, with the reason attached.
try {
  await retry(() => load(undefined.path), { attempts: 5 });
} catch (error) {
  console.log(`${error.name}: ${outcomeOf(error).reason} after ${outcomeOf(error).attempts} attempt`);
}
