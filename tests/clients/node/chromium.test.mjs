// Plays each case of ../fetch-chromium.json by the fetch of a page, in the Chromium that CHROMIUM names or that is installed.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import tls from "node:tls";
import { check, filled, here, named, origin, ports, read, seen, situations } from "./server.mjs";

const { chromium } = createRequire(here("../../../bindings-wasm/package.json"))("playwright-core");
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath))
  throw new Error(`no Chromium is installed at ${executablePath}; CHROMIUM names another`);

const folders = ["../../../bindings-wasm/dist/esm/", "./"];
const server = createServer(({ url }, response) => {
  const file = folders
    .map((folder) => here(`${folder}${url.slice(1)}`))
    .find((path) => url.endsWith("js") && existsSync(path));
  response.writeHead(200, { "content-type": file ? "text/javascript" : "text/html" });
  response.end(file ? readFileSync(file) : "<!doctype html>");
});
await once(server.listen(0, "127.0.0.1"), "listening");
after(() => server.close());

/** The key of the certificate at a port, as Chromium's option names it. */
async function keyOf(port) {
  const socket = tls.connect({ port, host: "localhost", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const key = socket.getPeerX509Certificate().publicKey.export({ type: "spki", format: "der" });
  socket.destroy();
  return createHash("sha256").update(key).digest("base64");
}

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    `--ignore-certificate-errors-spki-list=${await keyOf(ports.h2)}`,
  ],
});
after(() => browser.close());
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);

/** Plays a situation in the page. */
const inPage = async ([request, idempotent, seenAt]) => {
  const [{ retry }, { default: adapter }, { play }] = await Promise.all(
    ["/index.js", "/fetch.mjs", "/play.mjs"].map((path) => import(path)),
  );
  const requests = async () => (await (await fetch(seenAt)).json()).requests;
  const { kind, attempts, hint, told } = await play(retry, adapter, request, idempotent, requests);
  return { kind, attempts, hint, told };
};

const { client, cases } = read("../fetch-chromium.json");
let next = 0;
for (const { situation: name, ...other } of cases) {
  const expected = { ...situations[name], ...other };
  test(`${client}: ${name}`, { timeout: 10_000 }, async () => {
    for (const idempotent of [true, false]) {
      const id = `page${++next}`;
      const url = expected.url && named(filled(expected.url), id);
      const judged = await page.evaluate(inPage, [
        { ...expected, name, url },
        idempotent,
        `${origin("http")}/seen/${id}`,
      ]);
      // Chromium itself sends a request again whose kept connection answers 408.
      const counts = url?.includes(id) && name !== "status-408";
      check(expected, idempotent, judged, counts ? await seen(id) : undefined);
    }
  });
}
