// Opens built pages in a browser: axe finds no violation, nothing is wider than a screen of 320 pixels, nothing is asked of another
// host or refused by the page's own policy, the keyboard reaches everything, the choice of a language is kept, and the search finds the
// page of a task or a concept first.
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

/** Pages that a newcomer meets, on a phone. */
const NARROW = ["/", "/tasks/http/", "/guide-python/", "/policy/"];
const WIDTH = 400;

/** The most bytes of llms.txt. */
const LLMS = 40_000;

/** What readers search for, and the pages that come first. */
const SEARCHES = {
  "circuit breaker": "/concepts/breaker/",
  "Retry-After": "/tasks/http/",
  llm: "/tasks/llm/",
  openai: "/tasks/llm/",
  tenacity: "/coming-from/tenacity/",
  timeout: "/concepts/limits/",
  budget: "/concepts/budgets/",
  idempotent: "/tasks/payment/",
};

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
  page.on("console", (message) => {
    if (/content security policy/i.test(message.text())) failures.push(`${path}: ${message.text()}`);
  });
  await page.goto(address + path);
  return page;
}

/** Axe finds nothing by some of its rules, and the page fits a narrow screen. */
async function accessible(path, colorScheme, rules, wide = 1280) {
  const page = await open(path, { colorScheme, viewport: { width: wide, height: 800 } });
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

/** Every page but those of other tools forbids inline scripts and styles. */
async function strict() {
  for (const path of PAGES) {
    const html = await (await fetch(address + path)).text();
    const [, policy] = /<meta http-equiv="content-security-policy" content="([^"]*)">/.exec(html) ?? [];
    if (!policy?.includes("script-src 'self'") || policy.includes("unsafe-inline")) failures.push(`${path}: its policy is ${policy}`);
    if (/<script(?![^>]*(src=|json))[^>]*>|<style|<[a-z][^<>]* style="/.test(html)) failures.push(`${path}: has an inline script or style`);
  }
}

/** The search finds the right page first. */
async function search() {
  const page = await open("/");
  for (const [words, expected] of Object.entries(SEARCHES)) {
    const first = await page.evaluate(async (words) => {
      const { search } = await import("/pagefind/pagefind.js");
      const { results } = await search(words);
      return (await results[0]?.data())?.url;
    }, words);
    if (first !== expected) failures.push(`the search for "${words}" finds ${first} first, not ${expected}`);
  }
  const { length } = Buffer.from(await (await fetch(`${address}/llms.txt`)).arrayBuffer());
  if (length > LLMS) failures.push(`llms.txt has ${length} bytes, more than ${LLMS}`);
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
    ...PAGES.map((path) => [path, "light", { rules: { [COLOURS]: { enabled: false }, "duplicate-id": { enabled: true } } }]),
    ...NARROW.flatMap((path) => ["light", "dark"].map((scheme) => [path, scheme, { rules: { "duplicate-id": { enabled: true } } }, WIDTH])),
    ...COLOURED.flatMap((path) => ["light", "dark"].map((scheme) => [path, scheme, { runOnly: [COLOURS] }])),
  ];
  await Promise.all(
    [0, 1].map(async () => {
      for (let look = looks.shift(); look; look = looks.shift()) await accessible(...look);
    }),
  );
  await keyboard();
  await strict();
  await search();
  for (const path of PRINTED) {
    const page = await open(path);
    await page.waitForLoadState("networkidle");
    if ((await page.locator('a[href="/"]').count()) === 0) failures.push(`${path} does not lead back to the site`);
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
