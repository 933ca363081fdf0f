// Runs the crate without a page in Node, then with the page's clock and timers in a real browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { browse, sendFile } from "./browser.mjs";

const clockless = await WebAssembly.instantiate(await readFile("clockless.wasm"), {});
assert.equal(clockless.instance.exports.slept(), 40); // two sleeps of 20 ms, and no import to wait by

const answer = ({ url }, response) => sendFile(response, url === "/" ? "index.html" : url.slice(1));
await browse(answer, async (visit) => {
  const page = await visit("/");
  const { made, took, silence } = JSON.parse(await page.textContent("#result"));
  assert.equal(made, 3);
  assert.ok(took >= 40, `two sleeps of 20 ms took ${took} ms`);
  assert.match(silence, /attempt/);
});
