// Reads random policy documents as the core's own reader has read them: `node options.mjs FILE`, where FILE is what the program
// `options` of the conformance crate prints. A policy or a guard's configuration must be the same to the last bit, and an error the same
// but for the value shown.
import { readFileSync } from "node:fs";
import { ConfigError, Policy, Schedule } from "../../../bindings-wasm/dist/esm/index.js";
import "../../../bindings-wasm/dist/esm/guards.js";
import "../../../bindings-wasm/dist/esm/presets.js";

const WORD = (1n << 64n) - 1n;
const NAMES = ["budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge"];

/** FNV-1a of 64 bits over the fields of a policy in the order of their numbers (spec 12.3). */
function fingerprint(words) {
  const bytes = new DataView(words.buffer, words.byteOffset, words.byteLength);
  const long = (at) => bytes.getBigUint64(at * 4, true);
  const byte = (at) => BigInt(bytes.getUint8(at));
  const mixed = [];
  for (let stage = 0; stage < bytes.getUint8(248); stage++) {
    const at = stage * 8;
    mixed.push(long(at), long(at + 2), long(at + 4), BigInt(words[at + 6]), byte(at * 4 + 28), byte(at * 4 + 29));
  }
  for (let at = 48; at < 60; at += 2) mixed.push(long(at));
  mixed.push(BigInt(words[60]), byte(250), byte(251), byte(252), byte(253), byte(254));
  let hash = 0xcbf29ce484222325n;
  for (const word of mixed) {
    for (let shift = 0n; shift < 64n; shift += 8n) hash = ((hash ^ ((word >> shift) & 255n)) * 0x100000001b3n) & WORD;
  }
  return hash.toString();
}

function described(policy) {
  const delays = [];
  for (const delay of new Schedule(policy, 7n)) if (delays.push(String(delay)) === 8) break;
  return { fingerprint: fingerprint(policy.words), delays };
}

/** The configurations of a policy's guards as bytes. */
function configured({ guards }) {
  const bytes = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("hex");
  return Object.fromEntries(NAMES.filter((name) => guards?.[name]).map((name) => [name, bytes(guards[name].config)]));
}

function outcome(make, show) {
  try {
    return show(make());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { code, word, path, rule, nearest = null } = error;
    return { code, word, path, rule, nearest };
  }
}

let [alike, differences] = [0, 0];
for (const line of readFileSync(process.argv[2], "utf8").trim().split("\n")) {
  const { fields: plain, guards, document, code } = JSON.parse(line);
  const [fields, show] = guards ? [guards, configured] : [plain, described];
  const read = [outcome(() => Policy.fromJson(fields), show), outcome(() => new Policy(fields), show)];
  for (const [at, want] of [document, code].entries()) {
    const [wanted, got] = [want, read[at]].map((one) => JSON.stringify(Object.entries(one).sort()));
    if (wanted === got) alike++;
    else if (++differences <= 5) console.log(`${JSON.stringify(fields)}\n  core ${wanted}\n  here ${got}`);
  }
}
console.log(`${alike} alike, ${differences} different`);
process.exitCode = differences === 0 && alike > 0 ? 0 : 1;
