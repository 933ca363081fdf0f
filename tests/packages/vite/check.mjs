// Serves the built page and its flaky neighbour, opens it in a real browser, and compares what the page says.
import assert from "node:assert/strict";
import { join } from "node:path";
import { browse, sendFile } from "./browser.mjs";

let calls = 0;

function answer(request, response) {
  switch (request.url) {
    case "/flaky":
      calls++;
      if (calls === 1) return response.writeHead(503, { "retry-after": "0" }).end();
      if (calls === 2) return request.socket.destroy();
      return response.end("fresh");
    case "/missing":
      return response.writeHead(404).end();
    case "/slow":
      return;
    case "/strict":
      response.writeHead(200, { "content-type": "text/html", "content-security-policy": "script-src 'self'" });
      return response.end(
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/strict.js"></script>',
      );
    default: {
      const path = request.url === "/" ? "/index.html" : request.url;
      const folder = /^\/(node_modules|strict)/.test(path) ? "." : "dist";
      return sendFile(response, join(folder, path));
    }
  }
}

await browse(answer, async (visit) => {
  const page = await visit("/");
  const { lite, wrapped, mistake, open, body, missing, slow, refused, delays, gate, rows, seen } = JSON.parse(
    await page.textContent("#result"),
  );
  assert.deepEqual([lite, wrapped, mistake], [3, 404, [104, "attempts = 0: attempts range"]]);
  assert.deepEqual(
    seen.splice(0, 2).map(({ attempt, kind }) => [attempt, kind]),
    [1, 2].map((attempt) => [attempt, "transient"]),
  );
  assert.deepEqual(open, ["Refused", "breaker"]);
  assert.equal(body, "fresh");
  assert.deepEqual([gate, rows], [1_000_000_000, 3]);
  assert.deepEqual(seen[0], { attempt: 1, kind: "transient", hint: 0, cause: "backoff" });
  assert.equal(missing.reason, "permanent");
  assert.equal(slow.reason, "attempts");
  assert.match(slow.lastError, /TimeoutError/);
  assert.equal(refused.reason, "attempts");
  assert.deepEqual(delays, [29650168, 195638392]);
  assert.equal(await page.evaluate(() => document.title), "done");
  const strict = await visit("/strict");
  assert.deepEqual(JSON.parse(await strict.title()), {
    refused: [0, "ConfigError", "WebAssembly", "CompileError"],
    retried: 3,
  });
});
