// Turns the wasm modules and the TypeScript sources into what is shipped: files for `import`, files for `require`, and types.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist/esm", { recursive: true, force: true });
rmSync("dist/cjs", { recursive: true, force: true });

/**
 * A module as one character for most of its bytes, and a space or a `!` before it for the others: that compresses almost as
 * well as the bytes would. `src-ts/lite/core.ts` undoes it, in a few bytes more than hexadecimal takes.
 */
const dense = (bytes) =>
  Array.from(bytes, (byte) => {
    const value = (byte + 16) % 256;
    const place = value % 90;
    return ["", " ", "!"][(value - place) / 90] + String.fromCharCode(place === 57 ? 126 : place + 35);
  }).join("");

/** The module as text. Hexadecimal keeps its bytes apart, and so compresses a fifth smaller than base64. */
const inlined = {
  name: "inlined wasm",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: path.endsWith("lite.wasm") ? dense(readFileSync(path)) : readFileSync(path).toString("hex"),
      loader: "text",
    })),
};
const shared = { target: "es2022", platform: "neutral", legalComments: "none" };
// Code that several entries need is in shared files, so that a program that loads them has one copy of it.
await build({
  ...shared,
  entryPoints: {
    index: "src-ts/index.ts",
    machines: "src-ts/machines/index.ts",
    tools: "src-ts/tools/index.ts",
    guards: "src-ts/guards/index.ts",
    log: "src-ts/log/index.ts",
    timers: "src-ts/timers/index.ts",
    node: "src-ts/node.ts",
    lite: "src-ts/lite/index.ts",
  },
  external: ["node:async_hooks"],
  bundle: true,
  splitting: true,
  plugins: [inlined],
  format: "esm",
  outdir: "dist/esm",
  chunkNames: "shared-[hash]",
});
const files = readdirSync("dist/esm").filter((name) => name.endsWith(".js"));
await build({ ...shared, entryPoints: files.map((name) => `dist/esm/${name}`), format: "cjs", outdir: "dist/cjs" });
execFileSync("node_modules/.bin/tsc", ["--project", "."], { stdio: "inherit" });
cpSync("dist/esm", "dist/cjs", { recursive: true, filter: (path) => !path.endsWith(".js") });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
cpSync("bin.mjs", "dist/bin.mjs");
