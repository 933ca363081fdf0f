/**
 * Hands the tokens of nested retries down by itself, through whatever runs inside an attempt. For runtimes that have
 * `AsyncLocalStorage`: Node, Deno, Bun.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { carryTokensBy, type Token } from "./guards/index.js";

const tokens = new AsyncLocalStorage<Token>();
carryTokensBy({
  current: () => tokens.getStore(),
  run: (token, fn) => tokens.run(token, fn),
});

export { currentToken } from "./guards/index.js";
