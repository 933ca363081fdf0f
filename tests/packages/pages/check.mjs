// Serves the pages, opens each in a real browser, and compares what it says.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const entries = ["", "/guards", "/tools"].map((name) => [
  `holdoff${name}`,
  `/node_modules/holdoff/dist/esm/${name.slice(1) || "index"}.js`,
]);
const imports = JSON.stringify({ imports: Object.fromEntries(entries) });
const page = (script, before = "") => `<!doctype html>${before}<script type="module" src="${script}"></script>`;
const pages = {
  "/esbuild": page("/dist/esbuild.js"),
  "/webpack": page("/dist/webpack.js"),
  "/plain": page("/main.js", `<script type="importmap">${imports}</script>`),
  "/worker": page("/starts.js"),
  "/strict": page("/dist/strict.js"),
};

const server = createServer(async ({ url }, response) => {
  if (url === "/strict") response.setHeader("content-security-policy", "script-src 'self'");
  if (pages[url]) return response.setHeader("content-type", "text/html").end(pages[url]);
  const path = url === "/worker.js" ? "/dist/worker.js" : url;
  const file = await readFile(join(".", path)).catch(() => undefined);
  response.writeHead(file ? 200 : 404, { "content-type": "text/javascript" }).end(file);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
const all = { attempt: 3, open: "Refused", gate: 1_000_000_000, rows: 3 };
const expected = { "/strict": { success: 7, checked: ["unknown_field", "attempts"], failed: "down" } };
try {
  for (const path in pages) {
    const tab = await browser.newPage();
    const errors = [];
    tab.on("pageerror", (error) => errors.push(error));
    await tab.goto(`http://127.0.0.1:${server.address().port}${path}`);
    await tab
      .waitForFunction(() => document.title !== "", undefined, { timeout: 20_000 })
      .catch((error) => {
        throw errors[0] ?? error;
      });
    assert.deepEqual(JSON.parse(await tab.title()), expected[path] ?? all, path);
    await tab.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
