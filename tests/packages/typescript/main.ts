import { type Outcome, outcomeOf, Policy, type RetryOptions, retry, wrap } from "holdoff";

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
if (attempt !== 2 || error !== "Error: no" || outcome !== undefined) throw new Error("wrong");
