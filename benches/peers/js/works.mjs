/**
 * The works by their names. Started by itself, it is a process that measures a group of one of them: all code in a process
 * has a say in what the compiler makes of the rest, so works that no program has together are in different groups, each
 * beside the base of the work.
 */
import "./time.mjs";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

const loops = (failures) => async (ours) => (await import("./loops.mjs")).loops(failures, ours);
const breakers = (work) => async (ours) => (await import("./breakers.mjs")).breakers(work, ours);

/** How many groups each has, and what makes them. */
export const WORKS = {
  "0 failures": [3, loops(0)],
  "0 failures, a method": [1, async (ours) => (await import("./loops.mjs")).methods(ours)],
  "1 failures": [3, loops(1)],
  "3 failures": [3, loops(3)],
  breaker: [2, breakers("breaker")],
  "breaker, 100 calls": [2, breakers("breaker, 100 calls")],
  "breaker, a minute": [2, breakers("breaker, a minute")],
  "4 guards": [1, async (ours) => (await import("./breakers.mjs")).guarded(ours)],
  "delay step": [1, async (ours) => (await import("./delays.mjs")).delays(ours, await ours.load("tools"))],
};

/** The entries of the package in this folder. */
async function entries(folder) {
  const load = (name) => import(pathToFileURL(`${folder}/dist/esm/${name}.js`).href);
  const lite = existsSync(`${folder}/dist/esm/lite.js`) ? await load("lite") : undefined;
  return { load, index: await load("index"), guards: await load("guards"), lite };
}

const [, script, folder, work, group, milliseconds] = process.argv;
if (script === import.meta.filename && work !== undefined) {
  const { samples } = await import("./sampler.mjs");
  const groups = await WORKS[work][1](await entries(folder));
  const taken = await samples(groups[Number(group)], Number(milliseconds));
  process.stdout.write(JSON.stringify(taken), () => process.exit());
}
