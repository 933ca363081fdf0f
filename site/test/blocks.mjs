// Runs every block of code of the site's own pages: programs against a flaky server, documents through the core.
//
// A program is whole as it stands; only https://example.com is replaced by a server of this machine. A document is read and explained,
// and the text block behind it is what `holdoff explain` prints; `--update` writes these blocks anew. Code of other libraries has the
// word "before" behind its language and is only parsed. A block with "part" is a part of the program above it, and is not run.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { WebSocketServer } from "ws";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const TARGET = process.env.TARGET ?? join(ROOT, "target");
const PYTHON = join(TARGET, "venv/bin/python");
const DOCS = join(ROOT, "docs");
const PAGES = [/^(start|which-policy|patterns|coming-from)\.md$/, /^(tasks|concepts)\/.*\.md$/];
const scratch = mkdtempSync(join(tmpdir(), "holdoff-blocks-"));

/** A server that fails at first. What it does depends on the path, and begins anew for each block. */
async function flaky() {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    const answer = (status, headers = {}, body = "hello") => response.writeHead(status, headers).end(body);
    if (request.url.startsWith("/quota")) return calls === 1 ? answer(429, { "retry-after": "1" }) : answer(200, {}, "{}");
    if (request.url.startsWith("/jobs")) return answer(200, {}, JSON.stringify({ state: calls < 3 ? "running" : "done" }));
    if (request.url.startsWith("/export")) return answer(calls < 3 ? 202 : 200);
    if (request.url.startsWith("/slow")) return setTimeout(() => answer(200), calls === 1 ? 2000 : 0);
    if (request.url.startsWith("/charges")) return answer(calls === 1 ? 429 : 201, {}, `{"key": "${request.headers["idempotency-key"] ?? ""}"}`);
    return answer(calls < 3 ? 503 : 200);
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    calls += 1;
    if (calls < 3) return socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    sockets.handleUpgrade(request, socket, head, (client) => client.send("hello"));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: server.address().port, close: () => (server.closeAllConnections(), server.close()) };
}

/** The blocks of a page: language, further words, text, line, and the text block right behind it. */
function blocksOf(page) {
  const text = readFileSync(join(DOCS, page), "utf8");
  const found = [...text.matchAll(/^```(\w+)(.*)\n([^]*?)^```$/gm)];
  return found.map(({ 1: lang, 2: words, 3: code, index, 0: all }) => {
    const [, printed] = /^\n\n```text\n([^]*?)```\n/.exec(text.slice(index + all.length)) ?? [];
    return { page, lang, words: words.trim(), code, printed, place: `docs/${page}:${text.slice(0, index).split("\n").length}` };
  });
}

const options = { timeout: 60_000, cwd: scratch };
const file = (name, text) => (writeFileSync(join(scratch, name), text), join(scratch, name));
let next = 0;

/** How a program of each language is run; the text is the program against the flaky server. */
const LANGUAGES = {
  js: (code) => run("node", ["--input-type=module", "--eval", code], { ...options, cwd: join(ROOT, "bindings-wasm") }),
  python: (code) => run(PYTHON, [file(`block${(next += 1)}.py`, code)], options),
  async c(code) {
    const source = file(`block${(next += 1)}.c`, code);
    const prefix = join(TARGET, "dist/c");
    const { stdout } = await run("pkg-config", ["--cflags", "--libs", "holdoff", "libcurl"], {
      env: { ...process.env, PKG_CONFIG_PATH: join(prefix, "lib/pkgconfig") },
    });
    await run("cc", ["-Wall", "-Werror", source, ...stdout.trim().split(/\s+/), "-o", `${source}.out`], options);
    return run(`${source}.out`, [], { ...options, env: { ...process.env, LD_LIBRARY_PATH: join(prefix, "lib") } });
  },
  rust: (code, name) => run(join(TARGET, "debug", name), [], options),
};

/** All programs in Rust are one package, because a build of each would take minutes. They read the server's address as they start. */
async function buildRust(blocks) {
  const folder = join(TARGET, "site-blocks");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "src/bin"), { recursive: true });
  const holdoff = `{ path = ${JSON.stringify(join(ROOT, "bindings-rust"))}, features = ["tokio", "serde"] }`;
  writeFileSync(
    join(folder, "Cargo.toml"),
    `[package]\nname = "site-blocks"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\nholdoff = ${holdoff}\nureq = { version = "3", default-features = false }\nserde_json = "1"\n`,
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
  const { stdout } = await run(PYTHON, ["-m", "holdoff", "explain", file(`block${(next += 1)}.json`, block.code)], options);
  const printed = `${stdout.trimEnd()}\n`;
  if (block.printed === undefined || block.printed === printed) return;
  if (!process.argv.includes("--update")) throw new Error(`the text behind the document must be:\n${printed}`);
  const path = join(DOCS, block.page);
  const text = readFileSync(path, "utf8");
  const old = `${block.code}\`\`\`\n\n\`\`\`text\n${block.printed}\`\`\``;
  writeFileSync(path, text.replace(old, () => `${block.code}\`\`\`\n\n\`\`\`text\n${printed}\`\`\``));
}

async function program(block) {
  const server = await flaky();
  try {
    const here = `127.0.0.1:${server.port}`;
    const code = block.code.replaceAll("https://example.com", `http://${here}`).replaceAll("wss://example.com", `ws://${here}`);
    const { stdout } = await LANGUAGES[block.lang](code, block.name);
    if (block.printed !== undefined && stdout !== block.printed) throw new Error(`prints\n${stdout}`);
  } finally {
    server.close();
  }
}

/** Code of other libraries, which are not installed: it must at least be code. */
async function parse({ lang, code }) {
  const path = file(`before${(next += 1)}.${lang === "js" ? "mjs" : "py"}`, code);
  if (lang === "js") await run("node", ["--check", path], options);
  if (lang === "python") await run(PYTHON, ["-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())", path], options);
}

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" }).filter((name) => PAGES.some((page) => page.test(name)));
const blocks = pages.sort().flatMap(blocksOf).filter(({ words }) => words !== "part");
// A program in Rust has the address of its server compiled in, so one server serves all of them by its path.
const rust = blocks.filter(({ lang, words }) => lang === "rust" && words === "");
const failures = [];
const queue = [];
for (const block of blocks) {
  const check = block.words === "before" ? parse : block.lang === "json" && /^(drawn)?$/.test(block.words) ? document : LANGUAGES[block.lang] && program;
  if (check && block.lang !== "rust") queue.push([block, check]);
}
const count = queue.length + rust.length;

async function work() {
  for (let job = queue.shift(); job; job = queue.shift()) {
    const [block, check] = job;
    await check(block).catch((error) => failures.push(`${block.place}: ${error.stderr || error.message}`));
  }
}

if (rust.length > 0) {
  const servers = await Promise.all(rust.map(flaky));
  for (const [index, block] of rust.entries()) {
    block.code = block.code.replaceAll("https://example.com", `http://127.0.0.1:${servers[index].port}`);
  }
  try {
    await buildRust(rust);
    for (const block of rust) {
      await LANGUAGES.rust(block.code, block.name).catch((error) => failures.push(`${block.place}: ${error.stderr || error.message}`));
    }
  } catch (error) {
    failures.push(`Rust: ${error.stderr || error.message}`);
  }
  for (const server of servers) server.close();
}
await Promise.all(Array.from({ length: process.argv.includes("--update") ? 1 : availableParallelism() }, work));
rmSync(scratch, { recursive: true });
for (const failure of failures) console.error(failure);
console.log(`${count} blocks of ${pages.length} pages, ${failures.length} failed`);
process.exitCode = failures.length > 0 ? 1 : 0;
