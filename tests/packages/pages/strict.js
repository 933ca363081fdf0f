// A page whose policy forbids wasm: a success needs none, and the program's own error comes out of a failure.
import { retry } from "holdoff";

const checked = await retry(() => 5, { atempts: 2 }).catch(({ word, nearest }) => [word, nearest]);
const failed = await retry(() => Promise.reject(new Error("down")), { attempts: 2, backoff: { initial: 1 } }).catch(
  ({ message }) => message,
);
document.title = JSON.stringify({ success: await retry(() => 7, { attempts: 3, deadline: "1s" }), checked, failed });
