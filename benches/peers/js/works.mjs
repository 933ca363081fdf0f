/** The works that are measured in one process each, by their names; started by itself, a process that measures one. */
import "./time.mjs";
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

export const WORKS = {
  "0 failures": async (ours) => (await import("./loops.mjs")).loops(0, ours),
  "0 failures, a method": async (ours) => (await import("./loops.mjs")).methods(ours),
  "1 failures": async (ours) => (await import("./loops.mjs")).loops(1, ours),
  "3 failures": async (ours) => (await import("./loops.mjs")).loops(3, ours),
  breaker: async (ours) => (await import("./breakers.mjs")).breakers("breaker", ours),
  "breaker, 100 calls": async (ours) => (await import("./breakers.mjs")).breakers("breaker, 100 calls", ours),
  "breaker, a minute": async (ours) => (await import("./breakers.mjs")).breakers("breaker, a minute", ours),
  "4 guards": async (ours) => (await import("./breakers.mjs")).guarded(ours),
  "delay step": async (ours) => (await import("./delays.mjs")).delays(ours),
};

/** The entries of the package in this folder. */
async function entries(folder) {
  const load = (name) => import(pathToFileURL(`${folder}/dist/esm/${name}.js`).href);
  const lite = existsSync(`${folder}/dist/esm/lite.js`) ? await load("lite") : undefined;
  return { index: await load("index"), guards: await load("guards"), lite };
}

const [, script, folder, work, milliseconds] = process.argv;
if (script === import.meta.filename && work !== undefined) {
  const { samples } = await import("./sampler.mjs");
  const functions = await WORKS[work](await entries(folder));
  process.stdout.write(JSON.stringify(await samples(functions, Number(milliseconds))), () => process.exit());
}
