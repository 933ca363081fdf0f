// The pages as webpack and as esbuild make them; the plain page has no build.
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";

const tools = createRequire(join(process.env.TOOLS, "x"));
const esbuild = tools("esbuild");
const webpack = tools("webpack");

await esbuild.build({
  entryPoints: { esbuild: "main.js", worker: "worker.js", strict: "strict.js" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  outdir: "dist",
});
const stats = await promisify(webpack)({
  mode: "production",
  context: process.cwd(),
  entry: "./main.js",
  performance: { hints: false },
  output: { path: join(process.cwd(), "dist"), filename: "webpack.js" },
});
if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString());
