// Turns core.wasm and the TypeScript sources into what is shipped: one file for `import`, one for `require`, and types.
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist/esm", { recursive: true, force: true });
rmSync("dist/cjs", { recursive: true, force: true });

/** The module as text. Hexadecimal keeps its bytes apart, and so compresses a fifth smaller than base64. */
const inlined = {
  name: "inlined wasm",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.wasm$/ }, ({ path }) => ({
      contents: readFileSync(path).toString("hex"),
      loader: "text",
    })),
};
const shared = {
  entryPoints: ["src-ts/index.ts"],
  bundle: true,
  target: "es2022",
  platform: "neutral",
  plugins: [inlined],
  legalComments: "none",
};
await build({ ...shared, format: "esm", outfile: "dist/esm/index.js" });
await build({ ...shared, format: "cjs", outfile: "dist/cjs/index.js" });
execFileSync("node_modules/.bin/tsc", ["--project", "."], { stdio: "inherit" });
for (const file of readdirSync("dist/esm").filter((name) => name.endsWith(".d.ts"))) {
  cpSync(`dist/esm/${file}`, `dist/cjs/${file}`);
}
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
