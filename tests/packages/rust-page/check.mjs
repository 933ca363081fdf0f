// Runs the crate without a page in Node, then with the page's clock and timers in a real browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

const clockless = await WebAssembly.instantiate(await readFile("clockless.wasm"), {});
assert.equal(clockless.instance.exports.slept(), 40); // two sleeps of 20 ms, and no import to wait by

const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const server = createServer(async (request, response) => {
  const path = request.url === "/" ? "index.html" : request.url.slice(1);
  const file = await readFile(path).catch(() => undefined);
  response.writeHead(file ? 200 : 404, { "content-type": types[extname(path)] ?? "text/plain" }).end(file);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page
    .waitForFunction(() => document.title === "done", undefined, { timeout: 20_000 })
    .catch((error) => {
      throw errors[0] ?? error;
    });
  const { made, took, silence } = JSON.parse(await page.textContent("#result"));
  assert.equal(made, 3);
  assert.ok(took >= 40, `two sleeps of 20 ms took ${took} ms`);
  assert.match(silence, /attempt/);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
