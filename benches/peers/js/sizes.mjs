// How many bytes a page loads for a retry: each package bundled with what a caller imports of it, minified and compressed. Give the
// folder of the built package when it is another one than this repository's, and --ours to leave out the peers.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync } from "node:zlib";

const [folderGiven] = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const onlyOurs = process.argv.includes("--ours");
const holdoff = folderGiven ?? fileURLToPath(new URL("../../../bindings-wasm", import.meta.url));
const { build } = await import(pathToFileURL(createRequire(join(holdoff, "package.json")).resolve("esbuild")));

const WORKS = {
  "npm, gzip: retry": {
    "holdoff/lite": 'export { retry } from "holdoff/lite";',
    holdoff: 'export { retry } from "holdoff";',
    "p-retry": 'export { default } from "p-retry";',
    "async-retry": 'export { default } from "async-retry";',
    cockatiel: 'export { ExponentialBackoff, handleAll, retry } from "cockatiel";',
    "exponential-backoff": 'export { backOff } from "exponential-backoff";',
  },
  "npm, gzip: fetch": {
    "holdoff/lite/fetch": 'export { resilientFetch } from "holdoff/lite/fetch";',
    "holdoff/fetch": 'export { resilientFetch } from "holdoff/fetch";',
    ky: 'export { default } from "ky";',
  },
  "npm, gzip: retry and guards": {
    "holdoff/guards":
      'export { Adaptive, Breaker, Budget, Bulkhead, Guards, Hedge, KeyedGuards, Limiter, retry, Stretch } from "holdoff/guards";',
    cockatiel: 'export * from "cockatiel";',
    opossum: 'export { default } from "opossum";',
  },
};

const folder = mkdtempSync(join(tmpdir(), "holdoff-sizes-"));
mkdirSync(join(folder, "node_modules"));
symlinkSync(holdoff, join(folder, "node_modules/holdoff"));
const rows = [];
for (const [work, snippets] of Object.entries(WORKS)) {
  for (const [who, contents] of Object.entries(snippets)) {
    if (onlyOurs && !who.startsWith("holdoff")) continue;
    const resolveDir = who.startsWith("holdoff") ? folder : fileURLToPath(new URL(".", import.meta.url));
    const options = { bundle: true, minify: true, format: "esm", target: "es2022", write: false, logLevel: "error" };
    const external = ["events", "crypto", "node:*", "util"];
    const stdin = { contents, resolveDir };
    const { outputFiles } = await build({ ...options, stdin, external, legalComments: "none" });
    const bytes = outputFiles[0].contents;
    // The gzip program, because Node's own compressor differs from version to version.
    const gzip = execFileSync("gzip", ["-9nc"], { input: bytes }).length;
    rows.push({ work, who, bytes: gzip, minified: bytes.length, brotli: brotliCompressSync(bytes).length });
    console.error(`${work}: ${who} ${gzip}`);
  }
}
rmSync(folder, { recursive: true });
console.log(JSON.stringify(rows));
