// The first example of each page works as pasted: it comes through two 503s of a server.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { test } from "node:test";
import { promisify } from "node:util";

/** Run before the example: sleeps of up to a second pass at once, on the clock as well. */
const HURRY = `
  const { setTimeout: wait, performance } = globalThis, now = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => now() + ahead;
  globalThis.setTimeout = (callback, ms, ...rest) => (ms > 1000 ? wait(callback, ms, ...rest) : ((ahead += ms), wait(callback, 0, ...rest)));
`;

for (const [page, printed] of [
  ["README.md", "200\n"],
  ["docs/guide-javascript.md", "200 hello\n"],
  ["bindings-wasm/README.md", "200 hello\n"],
]) {
  test(page, async (context) => {
    const statuses = [503, 503, 200];
    const server = createServer((_, response) => response.writeHead(statuses.shift() ?? 500).end("hello"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    context.after(() => server.close());

    const text = await readFile(new URL(`../../${page}`, import.meta.url), "utf8");
    const [, example] = /```js\n(.*?)```/s.exec(text);
    const program = example.replace("https://example.com/", `http://127.0.0.1:${server.address().port}/`);
    const hurry = `data:text/javascript,${encodeURIComponent(HURRY)}`;
    const run = promisify(execFile)("node", ["--import", hurry, "--input-type=module", "--eval", program], {
      cwd: new URL("..", import.meta.url),
    });
    assert.equal((await run).stdout, printed);
    assert.deepEqual(statuses, []);
  });
}
