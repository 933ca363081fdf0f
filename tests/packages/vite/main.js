import { outcomeOf, Policy, retry } from "holdoff";
import { Guards } from "holdoff/guards";
import * as lite from "holdoff/lite";
import { Gates, Schedule } from "holdoff/tools";

const seen = [];
const onRetry = ({ attempt, kind, hint, cause }) => seen.push({ attempt, kind, hint, cause });

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

/** Says its attempt from the third one on; the two failures before it are a server's. */
function third({ attempt }) {
  if (attempt < 3) throw Object.assign(new Error("busy"), { status: 503 });
  return attempt;
}
const soon = { backoff: { initial: 1 }, seed: 7, deadline: 5000, onRetry };

const result = {
  // The small entry is compiled while the page waits for it: a browser's limit for that does not stop it.
  lite: await lite.retry(third, soon),
  wrapped: await lite.wrap(() => fetch("/missing").then(({ status }) => status), soon)(),
  mistake: await lite.retry(third, { attempts: 0 }).catch(({ code, message }) => [code, message]),
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
