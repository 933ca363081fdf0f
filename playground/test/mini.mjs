// Puts the lab of the start page into a page whose policy allows no inline script or style, served as a site would.
//
// `node test/mini.mjs <folder of the build> <folder for screenshots>`
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { browser, runChecks, SCREENS, violations } from "./browser.mjs";

const [, , dist, shots] = process.argv;
const TYPES = { js: "text/javascript", css: "text/css", html: "text/html; charset=utf-8" };
const PAGE = `<!doctype html><html lang="en"><head><title>Start</title><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><link rel="stylesheet" href="mini.css"><link rel="stylesheet" href="page.css">
<script type="module" src="mini.js"></script></head>
<body><main><h1>Start</h1><div data-holdoff-mini data-lab="lab/"><p id="before">A picture.</p></div></main></body></html>`;

/** The site's own style: it says what is behind the lab, and what colour its links have. */
const STYLE =
  ":root{background:light-dark(#fff,#17181c);color:light-dark(#111,#eee)}a{color:light-dark(#1457b8,#86b6ff)}";
const FILES = { "index.html": PAGE, "page.css": STYLE };
for (const name of ["mini.js", "mini.css"]) FILES[name] = readFileSync(join(dist, name));

const server = createServer(({ url }, response) => {
  const name = url.slice(1) || "index.html";
  const text = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
  response.writeHead(text === undefined ? 404 : 200, {
    "Content-Type": TYPES[name.split(".").pop()] ?? "text/plain",
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src data:; worker-src 'self'",
  });
  response.end(text);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;

async function open({ without, ...options } = {}) {
  const page = await browser.newPage(options);
  if (without) await page.addInitScript((name) => delete globalThis[name], without);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url)) faults.push(request.url());
  });
  await page.goto(url);
  return { page, faults };
}

const drawn = (page) => page.waitForSelector(".holdoff-mini svg");

await runChecks({
  async "it runs at once, and again when the slider moves"() {
    const { page, faults } = await open({ reducedMotion: "reduce" });
    await drawn(page);
    assert.equal(await page.locator("#before").count(), 0);
    assert.match(await page.textContent("li.without"), /never recovers/);
    assert.match(await page.textContent("li.with"), /recovers at once/);
    await page.focus("input[type=range]");
    await page.keyboard.press("Home");
    assert.equal(await page.textContent(".holdoff-mini output"), "1 s");
    await page.waitForFunction(() => !/never/.test(document.querySelector("li.without").textContent));
    assert.deepEqual(faults, []);
    await page.close();
  },

  async "the curves run, and end"() {
    const { page, faults } = await open();
    await drawn(page);
    const shown = () => page.$eval(".holdoff-mini clipPath rect", (rect) => Number(rect.getAttribute("width")));
    const first = await shown();
    await page.waitForFunction((first) => {
      return Number(document.querySelector(".holdoff-mini clipPath rect").getAttribute("width")) > first + 20;
    }, first);
    await page.waitForSelector(".holdoff-mini .head[hidden]", { state: "attached" });
    assert.deepEqual(faults, []);
    await page.close();
  },

  async "without WebAssembly the page keeps what it has"() {
    const { page, faults } = await open({ without: "WebAssembly" });
    await page.waitForLoadState("load");
    assert.equal(await page.textContent("#before"), "A picture.");
    assert.deepEqual(faults, []);
    await page.close();
  },

  async "accessibility and screens"() {
    for (const { name, ...options } of SCREENS) {
      const { page, faults } = await open({ reducedMotion: "reduce", ...options });
      await drawn(page);
      assert.deepEqual(await violations(page), [], name);
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(wide, 0, `${name}: the page is ${wide} px too wide`);
      await page.screenshot({ path: join(shots, `mini-${name}.png`) });
      assert.deepEqual(faults, []);
      await page.close();
    }
  },
});
server.close();
