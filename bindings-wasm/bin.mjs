#!/usr/bin/env node
// npx holdoff: look at policies without writing a program.
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { ConfigError, Policy } from "./esm/index.js";
import { explain, presets } from "./esm/tools.js";

const USAGE = `usage: holdoff explain NAME [--rows N]   what a preset or a policy document does: a file, or - for the standard input
       holdoff presets                   the names of the presets`;

/** A preset first, so that no file in the way changes what a name means. */
function policyOf(name) {
  if (name === "-") return Policy.fromJson(readFileSync(0, "utf8"));
  if (!presets().includes(name) && extname(name) === ".json") return Policy.fromJson(readFileSync(name, "utf8"));
  return new Policy(name);
}

function run([command, name, ...options]) {
  if (command === "presets" && name === undefined) return presets().join("\n");
  if (command !== "explain" || name === undefined) return undefined;
  if (options.length === 0) return String(explain(policyOf(name)));
  const [flag, rows] = options;
  return flag === "--rows" && options.length === 2 && /^\d+$/.test(rows)
    ? String(explain(policyOf(name), { rows: Number(rows) }))
    : undefined;
}

try {
  const text = run(process.argv.slice(2));
  if (text === undefined) console.error(USAGE);
  else console.log(text);
  process.exitCode = text === undefined ? 2 : 0;
} catch (error) {
  if (!(error instanceof ConfigError || error?.code?.startsWith("E"))) throw error;
  console.error(`holdoff: ${error.message}`);
  process.exitCode = 2;
}
