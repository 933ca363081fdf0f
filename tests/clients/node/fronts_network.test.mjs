// What was never sent, certificates and HTTP/2: the situations of the client files, through the fronts.
import assert from "node:assert/strict";
import { test } from "node:test";
import tls from "node:tls";
import { createFetch } from "ofetch";
import * as undici from "undici";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";
import { authority, filled, named, origin, ports, read, seen, situations } from "./server.mjs";

const { createSecureContext } = tls;
tls.createSecureContext = (options) => {
  const secure = createSecureContext(options);
  secure.context.addCACert(authority);
  return secure;
};

let attempts = 0;
const options = {
  attempts: 2,
  budget: "none",
  backoff: { initial: 10 },
  onAttempt: () => {
    attempts++;
  },
};
const plain = resilientFetch(options);
const ofetch = createFetch({ fetch: plain, defaults: { retry: 0 } });
const http2 = new undici.Agent({ allowH2: true }).compose(retries(options));
const http1 = new undici.Agent().compose(retries(options));
const fronts = {
  fetch: ["fetch", (url, init) => plain(url, init)],
  ofetch: ["ofetch", (url, init) => ofetch(url, init)],
  undici: [
    "undici",
    (url, init) => undici.request(url, { ...init, dispatcher: url.startsWith(origin("h2")) ? http2 : http1 }),
  ],
};
const NAMES =
  /^(refused|tls-(cut|reset)|refused-stream|goaway|stream-error|self-signed|expired|wrong-name|status-\d+|retry-after-ms|should-retry.*)$/;

for (const [name, [file, call]] of Object.entries(fronts)) {
  const { cases } = read(`../javascript-${file}.json`);
  for (const { situation, ...other } of cases) {
    const { url, again } = { ...situations[situation], ...other };
    if (!NAMES.test(situation) || (name !== "undici" && /h2/.test(url))) continue;
    test(`${name}: ${situation}`, { timeout: 20_000 }, async () => {
      for (const method of ["GET", "POST"]) {
        const id = `${name}${situation}${method}`;
        const to = named(filled(url).replace("{closed}", `http://127.0.0.1:${ports.closed}`), id);
        attempts = 0;
        await call(to, { method }).catch(() => {});
        const isAgain = again === "always" || (again === "idempotent" && method === "GET");
        assert.equal(attempts, isAgain ? 2 : 1, method);
        if (/\/status\//.test(url) && url.startsWith("{http}")) assert.equal(await seen(id), attempts, "requests");
      }
    });
  }
}
