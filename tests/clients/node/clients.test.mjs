// Plays each case of each JavaScript client (../javascript-*.json) with the client itself, against the flaky server of examples/demo.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import tls from "node:tls";
import { fileURLToPath } from "node:url";
import { outcomeOf, retry } from "../../../bindings-wasm/dist/esm/index-node.js";
import { adapters } from "./adapters.mjs";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => JSON.parse(readFileSync(here(path), "utf8"));

const flaky = spawn(process.env.FLAKY ?? here("../../../target/debug/flaky"), { stdio: ["pipe", "pipe", "inherit"] });
const [line] = await once(createInterface(flaky.stdout), "line");
const { ports, authority } = JSON.parse(line);
// With the server the connections that agents keep end, too.
after(() => flaky.kill());

// The server's authority, for all clients.
const { createSecureContext } = tls;
tls.createSecureContext = (options) => {
  const secure = createSecureContext(options);
  secure.context.addCACert(authority);
  return secure;
};

const TLS = ["https", "h2", "self_signed", "expired", "wrong_name", "tls_cut", "tls_reset"];
const origin = (name) => (TLS.includes(name) ? `https://localhost:${ports[name]}` : `http://127.0.0.1:${ports[name]}`);
const filled = (text) => text?.replace(/\{(\w+)\}/g, (_, name) => origin(name));

/** The address with an id, in the query or in the segment of settings. */
const named = (url, id) => {
  if (!url.startsWith(origin("http")) && !url.startsWith(origin("h2"))) return url;
  if (url.includes("/;")) return url.replace("/;", `/;id=${id}&`);
  return `${url}${url.includes("?") ? "&" : "?"}id=${id}`;
};

/** The address with its settings as a segment, for a client that adds a path. */
const asBase = (url) => (url.includes("/;") || !url.includes("?") ? url : `${url.replace("?", "/;")}/`);

const seen = async (id) => (await fetch(`${origin("http")}/seen/${id}`)).json();

/** A clock on which no time passes: sleeps end at once. */
const clock = { now: () => 0, setTimeout: (callback) => setImmediate(callback), clearTimeout: clearImmediate };

let next = 0;

/** Plays a situation twice if there is another attempt. Returns how the attempts were judged. */
async function play(adapter, situation, idempotent) {
  const id = `node${++next}`;
  const url = situation.url && named(filled(situation.url), id);
  const controller = new AbortController();
  const judged = { attempts: 0, kind: "success", hint: undefined };
  const work = async () => {
    judged.attempts++;
    if (situation.abort) {
      (async () => {
        while ((await seen(id)).requests < judged.attempts) await new Promise(setImmediate);
        controller.abort(situation.reason);
      })();
    }
    const request = {
      ...situation,
      url: url && (adapter.base ? asBase(url) : url),
      proxy: filled(situation.proxy),
      signal: situation.abort ? controller.signal : undefined,
      id,
      ports,
      origin,
    };
    return adapter.play(request);
  };
  const hooks = {
    onRetry: ({ hint }) => {
      judged.hint = hint;
    },
    onGiveUp: ({ kind, reason, error }) => Object.assign(judged, { kind, reason, error }),
  };
  const options = { attempts: 2, jitter: "none", budget: "none", idempotent, clock, ...hooks };
  const result = await retry(work, adapter.answers ? { ...options, whenResult: true } : options).catch(
    (error) => error,
  );
  if (adapter.answers) judged.outcome = outcomeOf(result);
  judged.requests = url?.includes(id) ? (await seen(id)).requests : undefined;
  return judged;
}

const situations = read("../situations.json");
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
      const { kind, again, hint_ms: hint, raises } = expected;
      for (const idempotent of [true, false]) {
        const judged = await play(adapter, { ...expected, name, raises }, idempotent);
        const isAgain = again === "always" || (again === "idempotent" && idempotent);
        const told = `${judged.error?.name} ${judged.error?.code} ${judged.error?.message}`;
        const permanent = kind === "cancelled" || (!idempotent && !isAgain && kind !== "success") ? "permanent" : kind;
        assert.equal(judged.kind, permanent, `kind, idempotent ${idempotent}: ${told}`);
        assert.equal(judged.attempts, isAgain ? 2 : 1, `attempts, idempotent ${idempotent}: ${told}`);
        if (judged.requests !== undefined && /\/status\//.test(expected.url)) {
          assert.equal(judged.requests, judged.attempts, "requests that the server saw");
        }
        if (isAgain && !(hint === undefined && judged.hint === undefined)) {
          // A date has whole seconds.
          const slack = /date/.test(expected.url ?? "") ? 2000 : 0;
          assert.ok(Math.abs(judged.hint - hint) <= slack, `hint ${judged.hint}, not ${hint}`);
        }
      }
    });
  }
}
