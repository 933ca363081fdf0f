// Web pages in a real browser, for the checks of the projects beside this file, into which it is copied.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";

const { chromium } = createRequire(join(process.env.TOOLS, "x"))("playwright-core");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };

/** Answers with a file, or that there is none. */
export async function sendFile(response, path) {
  const file = await readFile(path).catch(() => undefined);
  response.writeHead(file ? 200 : 404, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(file);
}

/**
 * Serves pages by `answer`. `check` gets a function that opens one and waits until it has a title; an error that the page throws
 * before that comes out.
 */
export async function browse(answer, check) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const quiet = ["first-run", "sandbox"].map((name) => `--no-${name}`);
  const off = ["gpu", "quic", "background-networking", "component-update", "sync"].map((name) => `--disable-${name}`);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", ...quiet, ...off],
  });
  try {
    await check(async (path) => {
      const page = await browser.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(error));
      await page.goto(`http://127.0.0.1:${server.address().port}${path}`);
      await page
        .waitForFunction(() => document.title !== "", undefined, { timeout: 20_000 })
        .catch((error) => {
          throw errors[0] ?? error;
        });
      return page;
    });
  } finally {
    await browser.close();
    server.closeAllConnections();
    server.close();
  }
}
