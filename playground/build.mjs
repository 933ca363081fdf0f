// `node build.mjs <folder> <module>`: the page as one file, of the template, the script, the style and the wasm module.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** The most bytes of the page as a server sends it. */
const MOST = 260_000;

const [, , folder, name] = process.argv;
const common = { bundle: true, minify: true, write: false, charset: "utf8", target: "es2022", logLevel: "warning" };
const bundle = async (options) => (await build({ ...common, ...options })).outputFiles[0].text.trim();
const script = await bundle({
  entryPoints: ["page/main.ts"],
  format: "iife",
  alias: { core: join(folder, `${name}.js`) },
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
const wasm = gzipSync(readFileSync(join(folder, `${name}_bg.wasm`)), { level: 9 }).toString("base64");
const parts = { CSP: policy, STYLE: style, WASM: wasm, SCRIPT: script };
// A function, because a text could have the signs that `replace` reads.
const page = readFileSync("page/index.html", "utf8").replaceAll(
  /\/\*(CSP|STYLE|WASM|SCRIPT)\*\//g,
  (_, part) => parts[part],
);

mkdirSync("dist", { recursive: true });
writeFileSync("dist/index.html", page);
const sent = gzipSync(page, { level: 9 }).length;
console.log(`dist/index.html: ${page.length} bytes, ${sent} with gzip`);
if (sent > MOST) throw new Error(`the page has ${sent} bytes with gzip, more than ${MOST}`);
