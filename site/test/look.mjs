// Opens built pages in a browser: axe finds no violation, nothing is wider than a screen of 320 pixels, nothing is asked of another
// host, the keyboard reaches everything, the choice of a language is kept, and the search finds a page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { serve } from "../serve.mjs";
import { idOf, markdown } from "../src/pages.mjs";

const require = createRequire(import.meta.url);
const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const PAGES = ["/no-such-page/", "/", ...markdown().map((name) => `/${idOf(name)}/`)];

/** Pages that have each kind of content: their colours are looked at, in light and in dark, which takes most of axe's time. */
const COLOURED = ["/", "/start/", "/which-policy/", "/concepts/jitter/", "/concepts/breaker/", "/coming-from/", "/faq/", "/no-such-page/"];
const COLOURS = "color-contrast";

/** Printed by the tools of each language: they must work offline. Their looks are those tools' own. */
const PRINTED = ["/api/rust/holdoff/index.html", "/api/javascript/index.html", "/api/python/holdoff.html"];

const { address, stop } = await serve();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const elsewhere = new Set();
const failures = [];

/** Opens a page, and notes each request to another host and each error. */
async function open(path, options) {
  const page = await browser.newPage(options);
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${address}/`)) elsewhere.add(request.url());
  });
  page.on("pageerror", (error) => failures.push(`${path}: ${error.stack}`));
  await page.goto(address + path);
  return page;
}

/** Axe finds nothing by some of its rules, and the page fits a narrow screen. */
async function accessible(path, colorScheme, rules) {
  const page = await open(path, { colorScheme });
  await page.evaluate(AXE);
  const { violations } = await page.evaluate((rules) => axe.run(rules), rules);
  for (const { id, nodes } of violations) {
    failures.push(`${path} in ${colorScheme}: ${id}: ${nodes.map((node) => node.html).join("\n  ")}`);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  if (width > 320) failures.push(`${path} is ${width} pixels wide on a screen of 320`);
  await page.close();
}

/** By the keyboard alone: the link past the navigation, tabs of languages, and the search up to a page that it found. */
async function keyboard() {
  const page = await open("/start/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(new URL(page.url()).hash, "#_top");

  await page.getByRole("tab", { name: "JavaScript" }).first().press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Python");
  await page.goto(`${address}/tasks/http/`);
  assert.equal(await page.getByRole("tab", { selected: true }).textContent(), "Python");
  assert.ok(await page.getByRole("tabpanel", { name: "Python" }).isVisible());
  assert.equal(await page.getByRole("tabpanel").count(), 1);

  await page.keyboard.press("Control+k");
  const search = page.getByPlaceholder("Search");
  // The search loads when the browser is idle, and on a busy machine one without a screen is idle only after an event.
  for (let x = 0; x < 300 && (await search.count()) === 0; x++) {
    await page.mouse.move(x, 0);
    await page.waitForTimeout(100);
  }
  await search.pressSequentially("idempotency key");
  await page.locator(".pagefind-ui__result-link").first().waitFor();
  await page.locator(".pagefind-ui__result-link").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/tasks/http/");
  await page.close();
}

try {
  const looks = [
    ...PAGES.map((path) => [path, "light", { rules: { [COLOURS]: { enabled: false } } }]),
    ...COLOURED.flatMap((path) => ["light", "dark"].map((scheme) => [path, scheme, { runOnly: [COLOURS] }])),
  ];
  await Promise.all(
    [0, 1].map(async () => {
      for (let look = looks.shift(); look; look = looks.shift()) await accessible(...look);
    }),
  );
  await keyboard();
  for (const path of PRINTED) {
    const page = await open(path);
    await page.waitForLoadState("networkidle");
    await page.close();
  }
} finally {
  await browser.close();
  await stop();
}
assert.deepEqual([...elsewhere], [], "requests to other hosts");
for (const failure of failures) console.error(failure);
console.log(`${PAGES.length} pages in a browser, ${failures.length} failures`);
process.exit(failures.length > 0 ? 1 : 0);
