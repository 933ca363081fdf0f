#!/usr/bin/env node
// npx holdoff: the command line is a WebAssembly module; this file gives it files and a terminal.
import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { initSync, run } from "./dist/bindgen/cli.js";

const WIDTH = 80;

function read(path) {
  try {
    return readFileSync(path === "-" ? 0 : path);
  } catch (error) {
    throw error.code === "ENOENT" ? new Error("there is no such file") : error;
  }
}

function write(stream, text) {
  // A reader that has gone away, such as `head`, is no error.
  stream.on("error", () => {});
  stream.write(stream.hasColors?.() ? text : stripVTControlCharacters(text));
}

initSync({ module: readFileSync(new URL("./cli.wasm", import.meta.url)) });
const width = Number(process.env.COLUMNS) || process.stdout.columns || WIDTH;
const { out, err, code } = run(["holdoff", ...process.argv.slice(2)], read, width);
write(process.stdout, out);
write(process.stderr, err);
process.exitCode = code;
