// Counts what a newcomer meets, from the sources of the pages: entries of the sidebar, words, the widths of programs. It fails if one of
// them is above its bar, or if a link carries the name of a file.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pages, ROOT } from "../src/pages.mjs";
import { sidebar } from "../src/sidebar.mjs";

/** The most entries of the sidebar, without those of the closed group. */
const ENTRIES = 32;
/** The most words of all public pages together, and of a page. A word has a letter or a digit; those of programs count. */
const WORDS = 45_000;
const PAGE = 2_500;
/** Pages in which a reader looks something up: they may be longer. */
const REFERENCES = ["cli", "clients", "errors", "lints", "policy"];
/** The widest line of a program. */
const COLUMNS = 88;
/** The most lines of README.md. */
const README = 110;
const PROGRAMS = ["js", "ts", "python", "rust", "c", "cpp"];

const failures = [];
const bar = (what, is, most) => {
  console.log(`${what}: ${is} of at most ${most}`);
  if (is > most) failures.push(`${what}: ${is}, more than ${most}`);
};

const entries = sidebar(true).filter(({ collapsed }) => !collapsed).flatMap(({ items }) => items);
bar("entries of the sidebar", entries.length, ENTRIES);

const words = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
const read = pages().map((page) => ({ ...page, text: readFileSync(page.path, "utf8"), place: relative(ROOT, page.path) }));
bar("words of the public pages", read.reduce((sum, { text }) => sum + words(text), 0), WORDS);
for (const { id, text, place } of read) {
  const count = words(text);
  if (count > PAGE && !REFERENCES.includes(id)) failures.push(`${place}: ${count} words, more than ${PAGE}`);
}

let longest = 0;
for (const { text, place } of read) {
  let lang;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^\s*```(\w*)/.exec(line);
    if (fence) lang = lang === undefined ? fence[1] : undefined;
    else if (PROGRAMS.includes(lang)) {
      longest = Math.max(longest, line.length);
      if (line.length > COLUMNS) failures.push(`${place}:${index + 1}: a line of a program has ${line.length} characters, more than ${COLUMNS}`);
    } else if (lang === undefined) {
      for (const [, label] of line.matchAll(/\[([^\][]+)\]\([^()\s]+\)/g)) {
        if (/^`?[\w/.-]+\.md`?$/.test(label)) failures.push(`${place}:${index + 1}: the link ${label} has the name of a file, not a title`);
      }
    }
  }
}
console.log(`widest line of a program: ${longest} characters`);
bar("lines of README.md", readFileSync(join(ROOT, "README.md"), "utf8").trimEnd().split("\n").length, README);

for (const failure of failures) console.error(failure);
console.log(`${read.length} public pages, ${failures.length} failures`);
process.exitCode = failures.length > 0 ? 1 : 0;
