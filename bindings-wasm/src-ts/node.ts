/**
 * Tells the retries inside an attempt about it, through whatever runs inside it. For runtimes that have `AsyncLocalStorage`: Node,
 * Deno, Bun.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { around, type Mark } from "./around.js";

const attempts = new AsyncLocalStorage<Mark>();
around.current = () => attempts.getStore();
around.run = (attempt, fn) => attempts.run(attempt, fn);

export { currentToken } from "./guards/index.js";
