// Turns the wasm modules and the TypeScript sources into what is shipped: files for `import`, files for `require`, and types.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist/esm", { recursive: true, force: true });
rmSync("dist/cjs", { recursive: true, force: true });

/**
 * A module as one character for most of its bytes, and a space or a `!` before it for the others: that compresses almost as
 * well as the bytes would. Frequent bytes become small letters, which JavaScript has most of, too. `src-ts/memory.ts` undoes it.
 */
const dense = (bytes) =>
  Array.from(bytes, (byte) => {
    const value = (byte + 16) % 256;
    const place = (value + 50) % 90;
    return ["", " ", "!"][Math.floor(value / 90)] + String.fromCharCode(place === 57 ? 126 : place + 35);
  }).join("");

// The features that rustc compiles for by default; the section that would name them is stripped.
const FEATURES = "bulk-memory sign-ext mutable-globals nontrapping-float-to-int multivalue reference-types".split(" ");
const ARGUMENTS = ["-Oz", ...FEATURES.map((name) => `--enable-${name}`)];
const CACHE = "node_modules/.cache/holdoff";
mkdirSync(CACHE, { recursive: true });
const { version: binaryen } = JSON.parse(readFileSync("node_modules/binaryen/package.json", "utf8"));
/** The file in the cache for the optimised form of a module. */
function cached(module) {
  const key = createHash("sha256")
    .update(["wasm-opt", binaryen, ...ARGUMENTS, ""].join("\n"))
    .update(readFileSync(module));
  return `${CACHE}/${key.digest("hex")}`;
}

/** Optimises a module, unless the cache has the result. An optimised module stays the same. */
function optimized(module) {
  const file = cached(module);
  if (!existsSync(file)) {
    execFileSync("node_modules/.bin/wasm-opt", [...ARGUMENTS, module, "-o", `${file}.new`], { stdio: "inherit" });
    renameSync(`${file}.new`, file);
    if (!existsSync(cached(file))) cpSync(file, cached(file));
  }
  return file;
}

// The demo imports the main entry and nothing else.
const MAIN = process.argv.includes("--main");
const MODULES = ["hot", ...(MAIN ? [] : ["policies", "rules", "guards", "wheel", "tools", "cli"])];
for (const name of MODULES) {
  const path = `dist/${name}.wasm`;
  cpSync(optimized(path), path);
}

/** The module as text. */
const inlined = {
  name: "inlined wasm",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: dense(readFileSync(path)),
      loader: "text",
    })),
};

const shared = { target: "es2022", minifySyntax: true, platform: "neutral", legalComments: "none", sourcemap: true };
/** The modules beside `index.ts` that several entries need. */
const modules = readdirSync("src-ts")
  .filter((name) => !/^(index|main|node|wasm\.d)\.ts$/.test(name) && name.endsWith(".ts"))
  .map((name) => name.replace(/ts$/, "js"));

/**
 * Bundles entries, whose files end with `suffix`. Their common modules are one file, so that a program loads few files and has one copy
 * of each.
 */
async function bundle(entries, suffix, ...plugins) {
  const files = new Map(modules.map((name) => [resolve("src-ts", name), "./shared.js"]));
  for (const [name, path] of Object.entries(entries))
    files.set(resolve(path.replace(/ts$/, "js")), `./${name}${suffix}.js`);
  // Which file it is depends on the runtime.
  const needed = { "src-ts/index.js": "holdoff", "src-ts/rules/index.js": "holdoff/rules" };
  if (entries.fetch) for (const [path, name] of Object.entries(needed)) files.set(resolve(path), name);
  const apart = {
    name: "files of their own",
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
        const file = files.get(resolve(resolveDir, path));
        return file && { path: file, external: true };
      }),
  };
  const options = { ...shared, bundle: true, format: "esm", external: ["node:async_hooks"] };
  await build({
    ...options,
    entryPoints: entries,
    outdir: "dist/esm",
    entryNames: `[name]${suffix}`,
    plugins: [apart, ...plugins],
  });
}

const contents = modules.map((name) => `export * from "./${name}";`).join("\n");
const stdin = { contents, resolveDir: resolve("src-ts"), sourcefile: "shared.js" };
await build({ ...shared, bundle: true, format: "esm", stdin, outfile: "dist/esm/shared.js", plugins: [inlined] });
await bundle({ index: "src-ts/index.ts" }, "", inlined);
// Node reads base64 ten times as fast as code that has not run before.
const base64 = {
  name: "wasm as base64",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: `export default () => Buffer.from("${readFileSync(path, "base64")}", "base64");`,
    })),
};
await bundle({ index: "src-ts/index.ts" }, "-node", base64);
if (MAIN) process.exit();

/** Replaces each text once, and stops where wasm-bindgen has come to write it in another way. */
function patched(text, replacements) {
  for (const [from, to] of replacements) {
    const parts = text.split(from);
    if (parts.length !== 2) throw new Error(`${parts.length - 1} times in what wasm-bindgen wrote: ${from}`);
    text = parts.join(to);
  }
  return text;
}

// Bundlers rename classes, so an error about an object names the argument.
const glue = readFileSync("dist/bindgen/tools.js", "utf8").replace(/( _assertClass\((\w+), [A-Z]\w+)\)/g, '$1, "$2")');
const coder = glue.indexOf("const cachedTextEncoder = ");
/** The JavaScript of wasm-bindgen, where the module and its text coders are made at the first use and not at import. */
const lazyGlue = patched(glue.slice(0, glue.indexOf("let __wbg_init_promise;")), [
  ["let wasmModule, wasmInstance, wasm;", "let wasmModule, wasmInstance;\nlet wasm = atFirstUse(initSync);"],
  ["if (wasm !== undefined) return wasm;", "if (wasmInstance !== undefined) return wasm;"],
  ["let cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });\ncachedTextDecoder.decode();", ""],
  ["cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });\n        cachedTextDecoder.decode();", ""],
  ["return cachedTextDecoder.decode(bytes);", "return decoder.decode(bytes);"],
  ["function _assertClass(instance, klass) {", "function _assertClass(instance, klass, name) {"],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: wasm-bindgen writes it so
  ["throw new Error(`expected instance of ${klass.name}`);", "throw notA(name, instance);"],
  ["throw new Error(getStringFromWasm0(arg0, arg1));", "throw thrown(getStringFromWasm0(arg0, arg1));"],
  [glue.slice(coder, glue.indexOf("\n}\n", coder) + 3), "const cachedTextEncoder = encoder;\n"],
]);
const bindgen = {
  name: "wasm-bindgen",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/core\.js$/ }, ({ importer }) =>
      /src-ts.tools/.test(importer) ? { path: resolve("dist/bindgen/tools.js") } : undefined,
    );
    onLoad({ filter: /bindgen.tools\.js$/ }, () => ({
      contents: `import { atFirstUse, notA, thrown } from "./ffi.js";\nimport { decoder, encoder } from "../values.js";\n${lazyGlue}`,
      loader: "ts",
      resolveDir: resolve("src-ts/tools"),
    }));
  },
};
// Functions that make the module are not exported.
const types = readFileSync("dist/bindgen/tools.d.ts", "utf8")
  // wasm-bindgen takes the first quote of a comment that comes through a macro for text.
  .replace(/^( +\* )r" /gm, "$1")
  .replace(/export type InitInput.*/s, "")
  // Documentation that has come through a macro is a raw literal.
  .replace(/^( *\*) r#*"(.*)$/gm, (_, star, text) => star + text.slice(0, text.lastIndexOf('"')))
  .replace(/^export class Gates \{/m, "export class Gates<K> {")
  .replace(
    /^export class Schedule \{/m,
    "export class Schedule<N extends Time = number> {\n    [Symbol.iterator](): this;",
  )
  .split("\n")
  // A time comes back as the type that went in, and a gate has any key.
  .map((line) =>
    /^(?: {4}static | {4}|export function )\w+\(/.test(line) && /\bT\b/.test(line)
      ? line.replace("(", "<T extends Time>(")
      : line,
  )
  .join("\n");
writeFileSync("src-ts/tools/core.d.ts", `${types.trimEnd()}\n`);

await bundle(
  {
    policies: "src-ts/policies/index.ts",
    rules: "src-ts/rules/index.ts",
    tools: "src-ts/tools/index.ts",
    guards: "src-ts/guards/index.ts",
    timers: "src-ts/timers/index.ts",
    telemetry: "src-ts/telemetry/index.ts",
    testing: "src-ts/testing/index.ts",
    node: "src-ts/node.ts",
  },
  "",
  inlined,
  bindgen,
);
/** The fronts of clients. */
const FRONTS = ["fetch", "undici", "axios", "got", "aws", "query", "llm"];
await bundle(Object.fromEntries(FRONTS.map((name) => [name, `src-ts/fronts/${name}.ts`])), "");
// Workers and edge runtimes compile no bytes: they import a module as a file, and get it compiled.
const beside = {
  name: "wasm beside the entry",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\.wasm$/ }, ({ path }) => ({ path: `../${basename(path)}?module`, external: true })),
};
const retrying = {
  index: "src-ts/index.ts",
  policies: "src-ts/policies/index.ts",
  rules: "src-ts/rules/index.ts",
  guards: "src-ts/guards/index.ts",
};
await bundle(retrying, "-worker", beside);
// It needs little of the shared file and no state of it.
await build({
  ...shared,
  bundle: true,
  format: "esm",
  entryPoints: { lite: "src-ts/lite/index.ts", "lite-fetch": "src-ts/lite/fetch.ts" },
  outdir: "dist/esm",
});
const names = readdirSync("dist/esm").filter((name) => name.endsWith(".js") && !name.endsWith("-worker.js"));
await build({ ...shared, entryPoints: names.map((name) => `dist/esm/${name}`), format: "cjs", outdir: "dist/cjs" });
// The files for `require` are no part of this package for Node, so that they cannot ask for it by name.
for (const file of FRONTS.map((name) => `dist/cjs/${name}.js`)) {
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace(/require\("holdoff\/?(\w*)"\)/g, (_, name) => `require("./${name || "index"}.js")`),
  );
}
execFileSync("node_modules/.bin/tsc", ["--project", "."], { stdio: "inherit" });
cpSync("src-ts/tools/core.d.ts", "dist/esm/tools/core.d.ts");
for (const folder of ["dist/esm", "dist/cjs"]) {
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".js.map"))) {
    const map = JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));
    // A module is no source that anybody reads.
    map.sourcesContent = map.sourcesContent.map((text, at) => (map.sources[at].endsWith(".wasm") ? null : text));
    writeFileSync(`${folder}/${name}`, JSON.stringify(map));
  }
}
cpSync("dist/esm", "dist/cjs", { recursive: true, filter: (path) => !/\.js(\.map)?$/.test(path) });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
// The program for Node.js; its module stays a file beside it.
await build({
  entryPoints: ["bin.mjs"],
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  outfile: "dist/bin.mjs",
});
