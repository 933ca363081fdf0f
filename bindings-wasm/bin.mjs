#!/usr/bin/env node
// npx holdoff: look at policies and logs without writing a program.
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { ConfigError, outcomeOf, Policy, retry } from "./esm/guards.js";
import { VirtualClock, withoutBudgets } from "./esm/testing.js";
import { explain, incident, presets, ReplayError } from "./esm/tools.js";

const USAGE = `usage: holdoff explain NAME [--rows N]   what a preset or a policy document does: a file, or - for the standard input
       holdoff presets                   the names of the presets
       holdoff replay LOG [--policy NAME]
                                         the attempts of a logged call, and how a policy takes its failures`;

/** A preset first, so that no file in the way changes what a name means. */
function policyOf(name) {
  if (name === "-") return Policy.fromJson(readFileSync(0, "utf8"));
  if (!presets().includes(name) && extname(name) === ".json") return Policy.fromJson(readFileSync(name, "utf8"));
  return new Policy(name);
}

const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(3)} s`;

/** The attempts of a log, and the decisions of a policy about their failures. */
async function replay(file, policy) {
  const recorded = incident(readFileSync(file));
  const lines = recorded.attempts.map(
    ({ tookMs, failure, text }, at) =>
      `attempt ${at + 1} took ${seconds(tookMs)}: ${failure?.kind ?? "success"}${text && ` (${text})`}`,
  );
  if (policy === undefined) return lines.join("\n");
  const clock = new VirtualClock();
  const onRetry = ({ attempt, elapsedMs, kind, delayMs, cause }) =>
    void lines.push(
      `attempt ${attempt} failed at ${seconds(elapsedMs)}: ${kind}; sleep ${seconds(delayMs)} (${cause})`,
    );
  withoutBudgets();
  lines.push("");
  try {
    await clock.settled(retry(recorded.work(true, clock), { ...recorded.options, policy, clock, onRetry }));
    lines.push(`success at ${seconds(clock.time)}`);
  } catch (error) {
    if (!outcomeOf(error)) throw error;
    lines.push(`gave up at ${seconds(clock.time)}: ${outcomeOf(error).reason}`);
    process.exitCode = 1;
  }
  return lines.join("\n");
}

function run([command, name, ...options]) {
  if (command === "presets" && name === undefined) return presets().join("\n");
  if (command === "replay" && name !== undefined) {
    if (options.length === 0) return replay(name);
    return options[0] === "--policy" && options.length === 2 ? replay(name, policyOf(options[1])) : undefined;
  }
  if (command !== "explain" || name === undefined) return undefined;
  if (options.length === 0) return String(explain(policyOf(name)));
  const [flag, rows] = options;
  return flag === "--rows" && options.length === 2 && /^\d+$/.test(rows)
    ? String(explain(policyOf(name), { rows: Number(rows) }))
    : undefined;
}

try {
  const text = await run(process.argv.slice(2));
  if (text === undefined) console.error(USAGE);
  else console.log(text);
  if (text === undefined) process.exitCode = 2;
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof ReplayError || error?.code?.startsWith("E"))) throw error;
  console.error(`holdoff: ${error.message}`);
  process.exitCode = 2;
}
