// Reads random policy documents as the core's own reader has read them: `node options.mjs FILE`, where FILE is what the program
// `options` of the conformance crate prints. A policy or a guard's configuration must be the same to the last bit, and an error the same
// but for the value shown.
import { readFileSync } from "node:fs";
import "../../../bindings-wasm/dist/esm/guards.js";
import { ConfigError, Policy } from "../../../bindings-wasm/dist/esm/index.js";
import "../../../bindings-wasm/dist/esm/policies.js";
import "../../../bindings-wasm/dist/esm/rules.js";
import { RULES_WORDS } from "../../../bindings-wasm/dist/esm/shared.js";
import { Retry, Schedule, saveJson } from "../../../bindings-wasm/dist/esm/tools.js";

const NAMES = ["budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge", "pause"];

/** The fingerprint of a policy, which is in every saved state (spec 12.3). */
const fingerprint = (policy) => JSON.parse(saveJson(new Retry(policy, 0, 0), 0)).policy;

function described(policy) {
  const delays = [];
  for (const delay of new Schedule(policy, 7n)) if (delays.push(String(delay)) === 8) break;
  const words = policy.rules?.words ?? new Uint32Array(RULES_WORDS);
  return { fingerprint: fingerprint(policy), delays, rules: bytes(words) };
}

const bytes = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("hex");

/** The configurations of a policy's guards as bytes. */
function configured({ guards }) {
  return Object.fromEntries(NAMES.filter((name) => guards?.[name]).map((name) => [name, bytes(guards[name].config)]));
}

function outcome(make, show) {
  try {
    return show(make());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { code, word, path, rule, nearest } = error;
    // A program is told the option's name as JavaScript has it.
    return {
      code,
      word,
      path,
      rule,
      nearest:
        (word === "unknown_field" ? nearest?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : nearest) ??
        null,
    };
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
