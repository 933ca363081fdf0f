// Runs the blocks of code of the pages: programs against a flaky server, documents through the core.
//
// A program is whole as it stands; only https://example.com is replaced by a server of this machine. A document is read and explained,
// and the text block behind it is what `holdoff explain` prints; `--update` writes these blocks anew. Code of other libraries has the
// word "before" behind its language and is only parsed. A block with "part" is a part of the program above it, and is not run.
//
// The programs of README.md, start.md and the tasks are also played against a server that stalls in the middle of its first body, and
// against one that sends the first caller away for a second.
//
// Guides explain one option after the other by fragments. Their programs in C and Rust are run, their fragments in JavaScript and Python
// are parsed; the first examples in JavaScript and Python are run by the tests of those languages.
//
// With `--fronts` it runs the programs of docs/fronts and of the task that needs an SDK instead, each in an empty folder, with the package of
// npm in PACKAGES and the Python in PYTHON. Every page has one; its server answers 503 twice, and the program must come through by the third
// request.
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { flaky, providers } from "./server.mjs";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const TARGET = process.env.TARGET ?? join(ROOT, "target");
const PYTHON = process.env.PYTHON ?? join(TARGET, "venv/bin/python");
const PACKAGES = process.env.PACKAGES ?? join(ROOT, "bindings-wasm");
const DOCS = join(ROOT, "docs");
const JOURNALS = join(ROOT, "engines/durable/src");
const FRONTS = process.argv.includes("--fronts");
const PAGES = FRONTS
  ? [/^fronts\/.*\.md$/, /^tasks\/llm\.md$/]
  : [/^(start|which-policy|patterns)\.md$/, /^tasks\/(?!llm\.md).*\.md$/, /^(concepts|coming-from)\/.*\.md$/, /^\.\.\/README\.md$/];
const PLAYED = FRONTS ? [] : [/^start\.md$/, /^tasks\/.*\.md$/, /^\.\.\/README\.md$/];
const GUIDES = FRONTS ? [] : [/^(guide-.*|durable|engines)\.md$/];
const scratch = mkdtempSync(join(tmpdir(), "holdoff-blocks-"));

const matches = (page, patterns) => patterns.some((pattern) => pattern.test(page));

/** The blocks of a page: language, further words, text, line, and the text block right behind it. */
function blocksOf(page) {
  const text = readFileSync(join(DOCS, page), "utf8");
  const found = [...text.matchAll(/^```(\w+)(.*)\n([^]*?)^```$/gm)];
  return found.map(({ 1: lang, 2: words, 3: code, index, 0: all }) => {
    const [, printed] = /^\n\n```text\n([^]*?)```\n/.exec(text.slice(index + all.length)) ?? [];
    return { page, lang, words: words.trim(), code, printed, guide: matches(page, GUIDES), place: `${join("docs", page)}:${text.slice(0, index).split("\n").length}` };
  });
}

const options = { timeout: 60_000, cwd: scratch };
const file = (name, text) => (writeFileSync(join(scratch, name), text), join(scratch, name));
let next = 0;

/** Where a program of a front runs: an empty folder, below the packages that it imports. The clients find their provider by variables. */
const away = ({ server }) => ({
  ...options,
  cwd: mkdtempSync(join(FRONTS ? PACKAGES : scratch, "page-")),
  env: { ...process.env, ...(FRONTS ? providers(`http://127.0.0.1:${server.port}`) : { PYTHONPATH: JOURNALS }) },
});

/** Makes a program of each language, and returns how it is run; the text is the program against the flaky server. */
const LANGUAGES = {
  js: (block) => () => run("node", ["--input-type=module", "--eval", block.code], FRONTS ? away(block) : { ...options, cwd: PACKAGES }),
  python(block) {
    const source = file(`block${(next += 1)}.py`, block.code);
    return () => run(PYTHON, [source], away(block));
  },
  async c(block) {
    const source = file(`block${(next += 1)}.c`, block.code);
    const prefix = join(TARGET, "dist/c");
    const { stdout } = await run("pkg-config", ["--cflags", "--libs", "holdoff", "libcurl"], {
      env: { ...process.env, PKG_CONFIG_PATH: join(prefix, "lib/pkgconfig") },
    });
    await run("cc", ["-Wall", "-Wextra", "-Werror", source, ...stdout.trim().split(/\s+/), "-o", `${source}.out`], options);
    return () => run(`${source}.out`, [], { ...options, env: { ...process.env, LD_LIBRARY_PATH: join(prefix, "lib") } });
  },
  rust: ({ name }) => () => run(join(TARGET, "debug", name), [], options),
};

/** All programs in Rust are one package, because a build of each would take minutes. They read the server's address as they start. */
async function buildRust(blocks) {
  const folder = join(TARGET, "site-blocks");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "src/bin"), { recursive: true });
  const holdoff = `{ path = ${JSON.stringify(join(ROOT, "bindings-rust"))}, features = ["tokio", "serde", "record", "tower"] }`;
  writeFileSync(
    join(folder, "Cargo.toml"),
    `[package]
name = "site-blocks"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
holdoff = ${holdoff}
holdoff-reqwest = { path = ${JSON.stringify(join(ROOT, "bindings-rust/reqwest"))} }
http-body-util = "0.1"
hyper = "1"
hyper-util = { version = "0.1", features = ["client-legacy", "http1", "tokio"] }
reqwest = { version = "0.13", default-features = false }
reqwest-middleware = { version = "0.5", default-features = false }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt"] }
tower-layer = "0.3"
tower-service = "0.3"
ureq = { version = "3", default-features = false }
`,
  );
  copyFileSync(join(ROOT, "Cargo.lock"), join(folder, "Cargo.lock"));
  for (const [index, block] of blocks.entries()) {
    block.name = `site-block-${index}`;
    writeFileSync(join(folder, `src/bin/${block.name}.rs`), block.code);
  }
  await run("cargo", ["build", "--quiet", "--manifest-path", join(folder, "Cargo.toml"), "--target-dir", TARGET], { cwd: folder });
}

/** Reads a document, and fails if the text behind it is not what the core says about it. */
async function document(block) {
  const { stdout } = await run("node", [join(ROOT, "bindings-wasm/dist/bin.mjs"), "explain", file(`block${(next += 1)}.json`, block.code)], options);
  const printed = `${stdout.trimEnd()}\n`;
  if (block.printed === undefined || block.printed === printed) return;
  if (!process.argv.includes("--update")) throw new Error(`the text behind the document must be:\n${printed}`);
  const path = join(DOCS, block.page);
  const text = readFileSync(path, "utf8");
  const old = `${block.code}\`\`\`\n\n\`\`\`text\n${block.printed}\`\`\``;
  writeFileSync(path, text.replace(old, () => `${block.code}\`\`\`\n\n\`\`\`text\n${printed}\`\`\``));
}

/** Puts the address of a server into a program. */
async function serve(block) {
  block.server = await flaky();
  if (FRONTS) block.server.begin("refuses");
  const here = `127.0.0.1:${block.server.port}`;
  block.code = block.code.replaceAll("https://example.com", `http://${here}`).replaceAll("wss://example.com", `ws://${here}`);
}

async function program(block) {
  if (!block.server) await serve(block);
  block.run = await LANGUAGES[block.lang](block);
  const { stdout, stderr } = await block.run();
  const requests = block.server.arrivals.length;
  if (FRONTS && (requests !== 3 || !/200|hello/.test(stdout))) throw new Error(`${requests} requests; prints ${stdout}${stderr}`);
  if (block.printed !== undefined && stdout !== block.printed) throw new Error(`prints\n${stdout}`);
}

/** The limits of a program cover the body of its answer: the program comes through by another attempt, or ends as a timeout. */
async function stalled({ run, server, code }) {
  server.begin("stalls");
  const error = await run().then(() => undefined, (error) => error);
  const requests = server.arrivals.length;
  if (error ? !/time(d )?-?out/i.test(error.stderr) : requests < 2 && !code.includes("body?.cancel()")) {
    throw new Error(`the first body stalls; ${requests} requests, and at the end: ${error?.stderr || error?.message || "no error"}`);
  }
}

/** A program obeys Retry-After, but a hedge may have begun before. */
async function throttled({ page, run, server }) {
  server.begin("throttles");
  const { stderr } = await run();
  const [first, second] = server.arrivals;
  if (page === "tasks/hedge.md") return;
  if (!(second - first >= 1000)) throw new Error(`comes back after ${second - first} ms, not after a second: ${stderr}`);
}

/** Code that cannot run here, because it is a fragment or needs another library: it must at least be code. */
async function parse({ lang, code }) {
  const path = file(`parsed${(next += 1)}.${lang === "js" ? "mjs" : "py"}`, code);
  if (lang === "js") await run("node", ["--check", path], options);
  // Fragments may wait at their top.
  const flags = "import ast, sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec', ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)";
  if (lang === "python") await run(PYTHON, ["-c", flags, path], options);
}

/** What is done with a block; undefined for a language that nobody runs here, such as a shell's. */
function checkOf({ lang, words, code, guide }) {
  const whole = /^(int|fn) main\(|^async fn main\(/m.test(code);
  if (words === "part" || (guide && ["c", "rust"].includes(lang) && !whole)) return undefined;
  if (words === "before" || (guide && ["js", "python"].includes(lang))) return parse;
  if (lang === "json") return guide ? undefined : document;
  return LANGUAGES[lang] && program;
}

const names = [...readdirSync(DOCS, { recursive: true, encoding: "utf8" }), "../README.md"].sort();
const pages = names.filter((name) => matches(name, [...PAGES, ...GUIDES]));
/** A word of the command line names a file or a language that is meant; without one all are. */
const meant = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isMeant = ({ page, lang }) => meant.length === 0 || meant.some((word) => lang === word || page.endsWith(word));
const blocks = pages.flatMap(blocksOf).filter((block) => checkOf(block) && isMeant(block));
const failures = pages
  .filter((page) => FRONTS && isMeant({ page }) && blocks.every((block) => block.page !== page))
  .map((page) => `docs/${page} has no program`);
// A program in Rust has the address of its server compiled in, so all of them are built first.
const rust = blocks.filter((block) => block.lang === "rust" && checkOf(block) === program);
const queue = blocks.filter((block) => !rust.includes(block)).map((block) => [block, checkOf(block)]);
const count = queue.length + rust.length;

async function work() {
  for (let job = queue.shift(); job; job = queue.shift()) {
    const [block, check] = job;
    await check(block).catch((error) => failures.push(`${block.place}: ${error.stderr || error.message}`));
  }
}

const working = (workers) => Promise.all(Array.from({ length: workers }, work));

if (rust.length > 0) {
  await Promise.all(rust.map(serve));
  try {
    await buildRust(rust);
    queue.push(...rust.map((block) => [block, program]));
  } catch (error) {
    failures.push(`Rust: ${error.stderr || error.message}`);
  }
}
await working(process.argv.includes("--update") ? 1 : availableParallelism());
// A program that meets a stalled body waits most of the time.
const played = blocks.filter(({ page, run, code }) => run && matches(page, PLAYED) && /fetch|urlopen|httpx|ureq|reqwest|curl/.test(code));
for (const check of [stalled, throttled]) {
  queue.push(...played.map((block) => [block, check]));
  await working(4 * availableParallelism());
}
for (const { server } of blocks) server?.close();
rmSync(scratch, { recursive: true });
for (const failure of failures) console.error(failure);
console.log(`${count} blocks of ${pages.length} pages, ${played.length} of them against a body that stalls, ${failures.length} failed`);
process.exitCode = failures.length > 0 ? 1 : 0;
