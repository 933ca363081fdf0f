// A page whose policy forbids wasm: wrong options are named as elsewhere, and every other call is told before its first attempt.
import { retry } from "holdoff";

let calls = 0;
const checked = await retry(() => ++calls, { atempts: 2 }).catch(({ word, nearest }) => [word, nearest]);
const refused = await retry(() => ++calls, { attempts: 3, deadline: "1s" }).catch(({ word, path }) => [word, path]);
document.title = JSON.stringify({ calls, checked, refused });
