// Serves the built page and its flaky neighbour, opens it in a real browser, and compares what the page says.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const types = { ".html": "text/html", ".js": "text/javascript" };
let calls = 0;

const server = createServer(async (request, response) => {
  switch (request.url) {
    case "/flaky":
      calls++;
      if (calls === 1) return response.writeHead(503, { "retry-after": "0" }).end();
      if (calls === 2) return request.socket.destroy();
      return response.end("fresh");
    case "/missing":
      return response.writeHead(404).end();
    case "/slow":
      return;
    case "/strict":
      response.writeHead(200, { "content-type": "text/html", "content-security-policy": "script-src 'self'" });
      return response.end(
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/strict.js"></script>',
      );
    default: {
      const path = request.url === "/" ? "/index.html" : request.url;
      const folder = /^\/(node_modules|strict)/.test(path) ? "." : "dist";
      const file = await readFile(join(folder, path)).catch(() => undefined);
      response.writeHead(file ? 200 : 404, { "content-type": types[extname(path)] ?? "text/plain" }).end(file);
    }
  }
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
  const { lite, wrapped, mistake, open, body, missing, slow, refused, delays, gate, rows, seen } = JSON.parse(
    await page.textContent("#result"),
  );
  assert.deepEqual([lite, wrapped, mistake], [3, 404, [104, "attempts = 0: attempts range"]]);
  assert.deepEqual(
    seen.splice(0, 2).map(({ attempt, failure }) => [attempt, failure]),
    [1, 2].map((attempt) => [attempt, "transient"]),
  );
  assert.deepEqual(open, ["Refused", "breaker"]);
  assert.equal(body, "fresh");
  assert.deepEqual([gate, rows], [1_000_000_000, 3]);
  assert.deepEqual(seen[0], { attempt: 1, failure: "transient", hint: 0, cause: "backoff" });
  assert.equal(missing.reason, "permanent");
  assert.equal(slow.reason, "attempts");
  assert.match(slow.lastError, /TimeoutError/);
  assert.equal(refused.reason, "attempts");
  assert.deepEqual(delays, [29650168, 195638392]);
  assert.equal(await page.evaluate(() => document.title), "done");
  await page.goto(`http://127.0.0.1:${server.address().port}/strict`);
  await page.waitForFunction(() => document.title !== "", undefined, { timeout: 20_000 });
  assert.deepEqual(JSON.parse(await page.title()), {
    success: 1,
    refused: ["busy", 1, "CompileError"],
    retried: 3,
  });
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
