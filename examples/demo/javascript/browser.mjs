// The browser host: opens the page in a headless browser, hands it the plan, and prints what it brings back.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  page.on("console", (message) => console.error(message.text()));
  await page.goto(new URL("/app/page.html", plan.base).href);
  await page.waitForFunction(() => globalThis.trace !== undefined);
  console.log(JSON.stringify(await page.evaluate((given) => globalThis.trace("browser", given), plan)));
} finally {
  await browser.close();
}
