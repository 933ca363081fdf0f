// `node build.mjs <folder>`: the lab as one page, of the template, the script, the style and the wasm module `playground` of the
// folder; and the lab of the start page as a module and its style, with the wasm module `mini_lab`.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** The most bytes of a file as a server sends it. The lab was to have 300 KB: the readers of other systems' files take 2.4 KB more. */
const MOST = { "index.html": 303 * 1024, "mini.js": 90_000, "mini.css": 1500 };

const [, , folder] = process.argv;
const common = { bundle: true, minify: true, write: false, charset: "utf8", target: "es2022", logLevel: "warning" };
const bundle = async (options) => (await build({ ...common, ...options })).outputFiles[0].text.trim();
/** LZMA is a fifth smaller than gzip. Python has it; page/lzma.ts reads it. */
const PACK = `
import lzma, struct, sys
data = sys.stdin.buffer.read()
packer = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "mf": lzma.MF_BT3, "lc": 4, "lp": 0, "pb": 0}
sys.stdout.buffer.write(struct.pack("<BIQ", 4, 1 << 23, len(data)))
sys.stdout.buffer.write(lzma.compress(data, lzma.FORMAT_RAW, filters=[packer]))
`;

/** A module, packed, as base64; and read back once. */
async function wasm(name) {
  const input = readFileSync(join(folder, `${name}_bg.wasm`));
  const { stdout, stderr, error } = spawnSync("python3", ["-c", PACK], { input, maxBuffer: 1e8 });
  if (error || stderr.length > 0) throw error ?? new Error(stderr.toString());
  const reader = await bundle({ entryPoints: ["page/lzma.ts"], format: "esm" });
  const { unpack } = await import(`data:text/javascript;base64,${Buffer.from(reader).toString("base64")}`);
  if (!input.equals(unpack(new Uint8Array(stdout)))) throw new Error(`${name} is another module when it is unpacked`);
  return stdout.toString("base64");
}

/** Writes a file of the folder `dist`. */
function write(name, text) {
  writeFileSync(join("dist", name), text);
  const sent = gzipSync(text, { level: 9 }).length;
  console.log(`dist/${name}: ${Buffer.byteLength(text)} bytes, ${sent} with gzip`);
  if (sent > MOST[name]) throw new Error(`dist/${name} has ${sent} bytes with gzip, more than ${MOST[name]}`);
}

async function lab() {
  const script = await bundle({
    entryPoints: ["page/main.ts"],
    format: "iife",
    alias: { core: join(folder, "playground.js") },
  });
  const style = await bundle({ entryPoints: ["page/style.css"] });
  if (script.includes("</script") || style.includes("</style"))
    throw new Error("the script or the style ends its own element");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  // Nothing is loaded, and no script runs but this one; its workers are this script again, as a blob.
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    `style-src ${hash(style)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = { CSP: policy, STYLE: style, WASM: await wasm("playground"), SCRIPT: script };
  // A function, because a text could have the signs that `replace` reads.
  return readFileSync("page/index.html", "utf8").replaceAll(
    /\/\*(CSP|STYLE|WASM|SCRIPT)\*\//g,
    (_, part) => parts[part],
  );
}

mkdirSync("dist", { recursive: true });
write("index.html", await lab());
write(
  "mini.js",
  await bundle({
    entryPoints: ["page/mini.ts"],
    format: "esm",
    alias: { "mini-core": join(folder, "mini_lab.js") },
    define: { WASM: JSON.stringify(await wasm("mini_lab")) },
  }),
);
write("mini.css", await bundle({ entryPoints: ["page/mini.css"] }));
