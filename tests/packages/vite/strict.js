// On a page that forbids wasm: a success needs none, a failure comes out as it was thrown; `holdoff/js` and `holdoff/lite` retry.
import { outcomeOf, retry } from "/node_modules/holdoff/dist/esm/index.js";
import * as translated from "/node_modules/holdoff/dist/esm/js.js";
import * as lite from "/node_modules/holdoff/dist/esm/lite.js";

const failing =
  (times) =>
  ({ attempt }) => {
    if (attempt <= times) throw new Error("busy");
    return attempt;
  };
const soon = { backoff: { initial: 1 }, seed: 7 };
const error = await retry(failing(2), soon).catch((error) => error);
const { attempts, engineError } = outcomeOf(error);
document.title = JSON.stringify({
  success: await retry(failing(0), soon),
  refused: [error.message, attempts, engineError.name],
  retried: await translated.retry(failing(2), soon),
  small: await lite.retry(failing(2), soon),
});
