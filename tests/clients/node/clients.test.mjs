// Plays each case of each JavaScript client (../javascript-*.json) with the client itself, against the flaky server of examples/demo.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import tls from "node:tls";
import { retry } from "../../../bindings-wasm/dist/esm/index-node.js";
import { adapters } from "./adapters.mjs";
import { play } from "./play.mjs";
import { asBase, authority, check, filled, here, named, origin, ports, read, seen, situations } from "./server.mjs";

// The server's authority, for all clients.
const { createSecureContext } = tls;
tls.createSecureContext = (options) => {
  const secure = createSecureContext(options);
  secure.context.addCACert(authority);
  return secure;
};

let next = 0;

const files = readdirSync(here("..")).filter((name) => /^javascript-.*\.json$/.test(name));
/** Plays one client alone, by the name of its file. */
const only = process.env.ONLY;

for (const file of files) {
  const { client, version, cases } = read(`../${file}`);
  const name = file.slice("javascript-".length, -".json".length);
  if (only && only !== name) continue;
  const adapter = adapters[name];
  if (adapter.package) {
    test(`${client} is version ${version}`, () =>
      assert.equal(read(`node_modules/${adapter.package}/package.json`).version, version));
  }
  for (const { situation: name, ...other } of cases) {
    const expected = { ...situations[name], ...other };
    test(`${client}: ${name}`, { timeout: 10_000 }, async () => {
      for (const idempotent of [true, false]) {
        const id = `node${++next}`;
        const url = expected.url && named(filled(expected.url), id);
        const request = {
          ...expected,
          name,
          url: url && (adapter.base ? asBase(url) : url),
          proxy: filled(expected.proxy),
          id,
          ports,
          origin,
        };
        const judged = await play(retry, adapter, request, idempotent, () => seen(id));
        check(expected, idempotent, judged, url?.includes(id) ? await seen(id) : undefined);
      }
    });
  }
}
