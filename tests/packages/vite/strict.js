// On a page that forbids wasm: `holdoff` says so before the first attempt; `holdoff/lite` retries.
import { retry } from "/node_modules/holdoff/dist/esm/index.js";
import * as lite from "/node_modules/holdoff/dist/esm/lite.js";

const failing =
  (times) =>
  ({ attempt }) => {
    if (attempt <= times) throw new Error("busy");
    return attempt;
  };
const soon = { backoff: { initial: 1 }, seed: 7 };
let calls = 0;
const error = await retry(() => ++calls, soon).catch((error) => error);
document.title = JSON.stringify({
  refused: [calls, error.name, error.path, error.cause.name],
  retried: await lite.retry(failing(2), soon),
});
