/**
 * Tells the retries inside an attempt about it, through whatever runs inside it. For runtimes that have `AsyncLocalStorage`: Node,
 * Deno, Bun.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { type AttemptToken, around } from "./host.js";

const attempts = new AsyncLocalStorage<AttemptToken>();
around.current = () => attempts.getStore();
around.run = (attempt, fn) => attempts.run(attempt, fn);

export { currentToken } from "./host.js";
