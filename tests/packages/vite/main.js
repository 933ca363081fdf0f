import { outcomeOf, Policy, retry, Schedule } from "holdoff";
import { Guards } from "holdoff/guards";
import { Gates } from "holdoff/machines";

const seen = [];
const onRetry = ({ attempt, failure, hint, cause }) => seen.push({ attempt, failure, hint, cause });

async function load(path, options) {
  return retry(
    async ({ signal }) => {
      const response = await fetch(path, { signal });
      if (!response.ok) throw response;
      return response.text();
    },
    { backoff: { initial: "1ms" }, onRetry, ...options },
  );
}

// The page asks one server: what it learns about it is for all its calls.
const guards = new Guards({ breaker: { failures: 2, openFor: "1m" }, hedge: { delay: "20s" } });
await load("http://127.0.0.1:1/", { attempts: 2, guards }).catch(() => {});

const result = {
  open: await load("/flaky", { guards }).catch(({ name, reason }) => [name, reason]),
  body: await load("/flaky", { attempts: 5 }),
  missing: outcomeOf(await load("/missing").catch((error) => error)),
  slow: outcomeOf(await load("/slow", { attemptTimeout: 50, attempts: 2 }).catch((error) => error)),
  refused: outcomeOf(await load("http://127.0.0.1:1/", { attempts: 2 }).catch((error) => error)),
  delays: [...new Schedule(new Policy(), 7)],
  gate: new Gates({ initial: "1s" }).failure("host", 0),
  // Only those who look at it load what explains a policy.
  rows: (await import("holdoff/tools")).explain("kubernetes").rows.length,
  seen,
};
document.querySelector("#result").textContent = JSON.stringify(result, (name, value) =>
  name === "lastError" ? String(value) : value,
);
document.title = "done";
