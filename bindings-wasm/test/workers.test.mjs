// Workers and edge runtimes compile no bytes: a bundle for them imports each module as a file, and gets it compiled.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const names = ["hot", "policies", "rules", "guards"];
const compiled = Object.fromEntries(
  names.map((name) => [name, new WebAssembly.Module(readFileSync(`${root}dist/${name}.wasm`))]),
);
const refuse = () => {
  throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder");
};

/** The exports of a bundle of that source in a runtime with a condition of package.json. */
async function bundled(contents, condition) {
  const imported = [];
  const files = {
    name: "modules of the runtime",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\.wasm\?module$/ }, ({ path }) => {
        imported.push(/(\w+)\.wasm/.exec(path)[1]);
        return { path: imported.at(-1), namespace: "module" };
      });
      onLoad({ filter: /.*/, namespace: "module" }, ({ path }) => ({
        contents: `export default globalThis.modules.${path};`,
      }));
    },
  };
  const stdin = { contents, resolveDir: root };
  const options = { bundle: true, format: "esm", write: false, conditions: [condition], plugins: [files] };
  const { outputFiles } = await build({ stdin, ...options });
  globalThis.modules = compiled;
  const { text } = outputFiles[0];
  const exports = await import(
    `data:text/javascript;base64,${Buffer.from(`${text}//${condition}`).toString("base64")}`
  );
  return { exports, imported };
}

/** A function that fails twice, and then returns its attempt. */
const third = ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("busy")) : attempt);
const soon = { backoff: { initial: 1 }, budget: "none" };

for (const condition of ["workerd", "edge-light"]) {
  test(`modules are imported under the condition ${condition}`, async (context) => {
    context.mock.method(WebAssembly, "Module", refuse);
    context.mock.method(WebAssembly, "compile", refuse);
    const plain = await bundled(`export * from "holdoff";`, condition);
    assert.deepEqual(plain.imported, ["hot"]);
    await plain.exports.init();
    assert.equal(await plain.exports.retry(third, soon), 3);
    const { exports, imported } = await bundled(
      `import "holdoff/policies"; import "holdoff/rules"; export { retry } from "holdoff"; export { Guards } from "holdoff/guards";`,
      condition,
    );
    assert.deepEqual(imported.sort(), ["guards", "hot", "policies", "rules"]);
    const rules = [{ if: { kinds: ["transient"] }, attempts: 3 }];
    assert.equal(
      await exports.retry(third, { ...soon, backoff: [{ delay: 1, kind: "constant", times: 1 }, {}], rules }),
      3,
    );
    const guards = new exports.Guards({ breaker: { failures: 5 } });
    assert.equal(await exports.retry(third, { ...soon, guards }), 3);
    assert.equal(guards.breaker.state(), "closed");
  });
}
