// Serves the pages, opens each in a real browser, and compares what it says.
import assert from "node:assert/strict";
import { browse, sendFile } from "./browser.mjs";

const entries = ["", "/guards", "/tools"].map((name) => [
  `holdoff${name}`,
  `/node_modules/holdoff/dist/esm/${name.slice(1) || "index"}.js`,
]);
const imports = JSON.stringify({ imports: Object.fromEntries(entries) });
const page = (script, before = "") => `<!doctype html>${before}<script type="module" src="${script}"></script>`;
const pages = {
  "/esbuild": page("/dist/esbuild.js"),
  "/webpack": page("/dist/webpack.js"),
  "/plain": page("/main.js", `<script type="importmap">${imports}</script>`),
  "/worker": page("/starts.js"),
  "/strict": page("/dist/strict.js"),
};

function answer({ url }, response) {
  if (url === "/strict") response.setHeader("content-security-policy", "script-src 'self'");
  if (pages[url]) return response.setHeader("content-type", "text/html").end(pages[url]);
  return sendFile(response, url === "/worker.js" ? "dist/worker.js" : url.slice(1));
}

const all = { attempt: 3, open: "Refused", gate: 1_000_000_000, rows: 3 };
const expected = {
  "/strict": { calls: 0, checked: ["unknown_field", "attempts"], refused: ["not_supported", "WebAssembly"] },
};
await browse(answer, async (visit) => {
  for (const path in pages) {
    const tab = await visit(path);
    assert.deepEqual(JSON.parse(await tab.title()), expected[path] ?? all, path);
    await tab.close();
  }
});
