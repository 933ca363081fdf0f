// Opens built pages in a browser: axe finds no violation in light and dark, nothing is wider than a screen of 320 pixels, nothing is
// asked of another host, the choice of a language is kept, and the search finds a page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { serve } from "../serve.mjs";

const require = createRequire(import.meta.url);
const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PAGES = ["/", "/start/", "/which-policy/", "/tasks/http/", "/concepts/jitter/", "/concepts/breaker/", "/coming-from/", "/policy/"];

const { address, stop } = await serve();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const elsewhere = new Set();

/** Opens a page, and notes each request to another host and each error. */
async function open(path, options) {
  const page = await browser.newPage(options);
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${address}/`)) elsewhere.add(request.url());
  });
  page.on("pageerror", (error) => assert.fail(`${path}: ${error.stack}`));
  await page.goto(address + path);
  return page;
}

try {
  for (const path of PAGES) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(path, { colorScheme });
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => axe.run());
      const shown = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n  ")}`);
      assert.deepEqual(shown, [], `${path} in ${colorScheme}`);
      await page.close();
    }
    const narrow = await open(path, { viewport: { width: 320, height: 640 } });
    assert.ok((await narrow.evaluate(() => document.documentElement.scrollWidth)) <= 320, `${path} is wider than 320 pixels`);
    await narrow.close();
  }

  const page = await open("/start/");
  await page.getByRole("tab", { name: "JavaScript" }).press("ArrowRight");
  await page.goto(`${address}/tasks/http/`);
  assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Python");
  assert.ok(await page.getByRole("tabpanel", { name: "Python" }).isVisible());
  assert.equal(await page.getByRole("tabpanel").count(), 1);

  await page.getByRole("button", { name: "Search" }).first().click();
  await page.getByPlaceholder("Search").fill("idempotency key");
  await page.locator(".pagefind-ui__result-link").first().waitFor();
  assert.deepEqual([...elsewhere], [], "requests to other hosts");
} finally {
  await browser.close();
  await stop();
}
console.log(`${PAGES.length} pages, in light, in dark and on 320 pixels`);
process.exit();
