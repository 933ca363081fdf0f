// What the tests of the lab's pages have in common: a browser, and axe.
import axe from "axe-core";
import { chromium } from "playwright-core";

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-first-run", "--no-sandbox", "--disable-gpu"],
});

/** The rules of accessibility that a page breaks, with the elements. */
export async function violations(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
}

/** The screens on which the pages are looked at. */
export const SCREENS = ["light", "dark"].flatMap((colorScheme) => [
  { name: `${colorScheme}-1366`, colorScheme, viewport: { width: 1366, height: 768 } },
  { name: `${colorScheme}-400`, colorScheme, viewport: { width: 400, height: 800 } },
]);

/** Runs checks by their names; the process fails if one does. */
export async function runChecks(checks) {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`  ${name}`);
    } catch (error) {
      process.exitCode = 1;
      console.error(`  FAILED ${name}: ${error.stack.slice(0, 2000)}`);
    }
  }
  await browser.close();
}
