// Turns the TypeScript sources into what is shipped: a file for `import`, a file for `require`, and types.
import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
rmSync("dist", { recursive: true, force: true });
for (const format of ["esm", "cjs"]) {
  await build({
    entryPoints: ["src/index.ts"],
    outfile: `dist/${format}/index.js`,
    format,
    bundle: true,
    packages: "external",
    platform: "node",
    target: "es2022",
  });
}
execFileSync("node_modules/.bin/tsc", ["--project", "."], { stdio: "inherit" });
cpSync("dist/esm", "dist/cjs", { recursive: true, filter: (path) => !path.endsWith(".js") });
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
