#!/usr/bin/env node
// npx holdoff: the command line is a WebAssembly module; this file gives it files and a terminal.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { initSync, run } from "./dist/bindgen/cli.js";

const WIDTH = 80;

// The same words as the binary has.
const WORDS = { ENOENT: "there is no such file", EISDIR: "is a folder" };

function inWords(action) {
  try {
    return action();
  } catch (error) {
    throw error.code in WORDS ? new Error(WORDS[error.code]) : error;
  }
}

const read = (path) => inWords(() => readFileSync(path === "-" ? 0 : path));

const size = (path) => inWords(() => statSync(path).size);

// A name that is no Unicode comes with a sign in the place of its bytes, and no file has that name.
const isOther = (folder, name) => name.includes("\ufffd") && !existsSync(`${folder}/${name}`);

const kind = (entry) => (entry.isDirectory() ? "d" : entry.isSymbolicLink() ? "l" : entry.isFile() ? "f" : "o");

const entry = (folder) => (entry) => (isOther(folder, entry.name) ? "o" : kind(entry)) + entry.name;

const list = (folder) => inWords(() => readdirSync(folder, { withFileTypes: true }).map(entry(folder)));

const save = (path, text) => inWords(() => writeFileSync(path, text));

// A run does not return to Node before it ends, so the text goes out at once.
const progress = (text) => process.stderr.isTTY && writeSync(2, `\r\x1b[2K${text}`);

function write(stream, text, color) {
  // A reader that has gone away, such as `head`, is no error.
  stream.on("error", () => {});
  const colored = color === "always" || (color === "auto" && stream.hasColors?.());
  stream.write(colored ? text : stripVTControlCharacters(text));
}

initSync({ module: readFileSync(new URL("./cli.wasm", import.meta.url)) });
const width = Number(process.env.COLUMNS) || process.stdout.columns || WIDTH;
const { out, err, code, color } = run(
  ["holdoff", ...process.argv.slice(2)],
  { read, size, list, write: save, progress },
  width,
);
write(process.stdout, out, color);
write(process.stderr, err, color);
process.exitCode = code;
