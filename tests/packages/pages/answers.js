// What a page or a worker does with the package: the answers.
import { retry } from "holdoff";
import { Guards } from "holdoff/guards";
import { explain, Gates } from "holdoff/tools";

function third({ attempt }) {
  if (attempt < 3) throw new Error("busy");
  return attempt;
}

export async function answers() {
  const guards = new Guards({ breaker: { failures: 1 } });
  const down = () => Promise.reject(new Error("down"));
  await retry(down, { attempts: 1, guards }).catch(() => {});
  return {
    attempt: await retry(third, { backoff: { initial: 1 } }),
    open: await retry(down, { guards }).catch(({ name }) => name),
    gate: new Gates({ initial: "1s" }).failure("host", 0),
    rows: explain({ attempts: 4 }).rows.length,
  };
}
