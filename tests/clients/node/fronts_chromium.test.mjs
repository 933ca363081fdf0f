// The fronts of fetch in a page of Chromium: the one that CHROMIUM names or that is installed.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { script } from "./script.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { chromium } = createRequire(here("../../../bindings-wasm/package.json"))("playwright-core");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath))
  throw new Error(`no Chromium is installed at ${executablePath}; CHROMIUM names another`);

const imports = { holdoff: "/index.js" };
const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`;
const server = createServer(({ url }, response) => {
  const file = here(`../../../bindings-wasm/dist/esm${url}`);
  const isModule = url.endsWith(".js") && existsSync(file);
  response.writeHead(200, { "content-type": isModule ? "text/javascript" : "text/html" });
  response.end(isModule ? readFileSync(file) : html);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
after(() => server.close());
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--no-proxy-server"] });
after(() => browser.close());
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);

/** A step of a script that pages of other origins may read. */
const shared = ({ headers, ...step } = {}) => ({
  ...step,
  headers: { "access-control-allow-origin": "*", "access-control-allow-methods": "*", ...headers },
});

/** Asks by a front in the page. `what` is how the request is made. */
const inPage = async ([entry, url, method, what]) => {
  const { resilientFetch } = await import(`/${entry}.js`);
  const user = new AbortController();
  const abort = () => what === "abort" && queueMicrotask(() => user.abort(new Error("enough")));
  const fetch = resilientFetch({ backoff: { initial: 10, max: 20 }, onRetry: () => void abort() });
  const body = { bytes: "data", stream: () => new Blob(["data"]).stream() }[what];
  const init = { method, signal: user.signal, ...(body && { body: typeof body === "string" ? body : body() }) };
  if (what === "stream") init.duplex = "half";
  try {
    const answer = await fetch(url, init);
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    return { error: error.message };
  }
};

for (const entry of ["fetch", "lite-fetch"]) {
  const ask = (played, method = "GET", what = "") => page.evaluate(inPage, [entry, played.url, method, what]);
  const refused = shared({ status: 503 });

  test(`${entry}: a GET is tried again after a 503, and its body is read`, async () => {
    const played = script(refused, refused, shared());
    assert.deepEqual(await ask(played), { status: 200, text: "answer 3" });
    assert.equal(played.log.length, 3);
  });

  test(`${entry}: a POST is sent once`, async () => {
    const played = script(refused, shared());
    assert.equal((await ask(played, "POST", "bytes")).status, 503);
    assert.deepEqual(
      played.log.map(({ body }) => body),
      ["data"],
    );
  });

  test(`${entry}: Retry-After counts where the server exposes it`, async () => {
    const headers = { "retry-after": "1", "access-control-expose-headers": "Retry-After" };
    const played = script(shared({ status: 503, headers }), shared());
    assert.equal((await ask(played)).status, 200);
    assert.ok(played.gaps[0] >= 1000);
  });

  test(`${entry}: Retry-After that is not exposed is not seen`, async () => {
    const played = script(shared({ status: 503, headers: { "retry-after": "3600" } }), shared());
    assert.equal((await ask(played)).status, 200);
  });

  test(`${entry}: an abort ends a sleep`, async () => {
    const headers = { "retry-after": "30", "access-control-expose-headers": "Retry-After" };
    const played = script(shared({ status: 503, headers }), shared());
    assert.deepEqual(await ask(played, "GET", "abort"), { error: "enough" });
    assert.equal(played.log.length, 1);
  });

  test(`${entry}: a body that breaks off is tried again`, async () => {
    const torn = shared({ headers: { "content-length": "1000" }, parts: ["partial", { wait: 20 }, { reset: true }] });
    const played = script(torn, shared());
    assert.deepEqual(await ask(played), { status: 200, text: "answer 2" });
  });

  test(`${entry}: Chromium sends no stream over HTTP/1.1, and the error comes out`, async () => {
    const played = script(shared());
    assert.match((await ask(played, "PUT", "stream")).error, /fetch/);
    assert.equal(played.log.filter(({ method }) => method === "PUT").length, 0);
  });
}
