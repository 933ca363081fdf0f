// The flaky server of examples/demo, the addresses of situations, and whether a situation was judged as its file says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const read = (path) => JSON.parse(readFileSync(here(path), "utf8"));

const flaky = spawn(process.env.FLAKY ?? here("../../../target/debug/flaky"), { stdio: ["pipe", "pipe", "inherit"] });
const [line] = await once(createInterface(flaky.stdout), "line");
export const { ports, authority } = JSON.parse(line);
// With the server the connections that agents keep end, too.
after(() => flaky.kill());

const TLS = ["https", "h2", "self_signed", "expired", "wrong_name", "tls_cut", "tls_reset"];
export const origin = (name) =>
  TLS.includes(name) ? `https://localhost:${ports[name]}` : `http://127.0.0.1:${ports[name]}`;
export const filled = (text) => text?.replace(/\{(\w+)\}/g, (_, name) => origin(name));

/** The address with an id, in the query or in the segment of settings. */
export const named = (url, id) => {
  if (!url.startsWith(origin("http")) && !url.startsWith(origin("h2"))) return url;
  if (url.includes("/;")) return url.replace("/;", `/;id=${id}&`);
  return `${url}${url.includes("?") ? "&" : "?"}id=${id}`;
};

/** The address with its settings as a segment, for a client that adds a path. */
export const asBase = (url) => (url.includes("/;") || !url.includes("?") ? url : `${url.replace("?", "/;")}/`);

export const seen = async (id) => (await (await fetch(`${origin("http")}/seen/${id}`)).json()).requests;

export const situations = read("../situations.json");

/** Compares how a situation was judged, and how many requests the server saw, with what is expected. */
export function check(expected, idempotent, judged, requests) {
  const { kind, again, hint_ms: hint } = expected;
  const isAgain = again === "always" || (again === "idempotent" && idempotent);
  const told = `idempotent ${idempotent}: ${judged.told}`;
  const permanent = kind === "cancelled" || (!idempotent && !isAgain && kind !== "success") ? "permanent" : kind;
  assert.equal(judged.kind, permanent, `kind, ${told}`);
  assert.equal(judged.attempts, isAgain ? 2 : 1, `attempts, ${told}`);
  if (requests !== undefined && /\/status\//.test(expected.url)) {
    assert.equal(requests, judged.attempts, "requests that the server saw");
  }
  if (isAgain && !(hint === undefined && judged.hint === undefined)) {
    // A date has whole seconds.
    const slack = /date/.test(expected.url ?? "") ? 2000 : 0;
    assert.ok(Math.abs(judged.hint - hint) <= slack, `hint ${judged.hint}, not ${hint}`);
  }
}
