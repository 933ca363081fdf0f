// One attempt, one request: programs with a retry around a retry, before and after holdoff.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PAIRS, STREAMS } from "./programs.mjs";
import { provider } from "./provider.mjs";
import { requestsOf, table } from "./table.mjs";

const server = await provider();
after(() => server.close());
const PAGE = readFileSync(new URL("../../../docs/requests.md", import.meta.url), "utf8");
const ATTEMPTS = 3;

test("the page has the measured table", async () => {
  const printed = await table(server);
  assert.ok(PAGE.includes(printed), `docs/requests.md lacks what node table.mjs prints:\n${printed}`);
});

for (const { name, after, fault } of PAIRS) {
  test(`${name}: lasting faults get the attempts of the policy`, async () => {
    for (const steps of ["503", "429", "409", "529", "reset"])
      assert.equal((await requestsOf(server, after, steps)).length, ATTEMPTS, steps);
  });

  test(`${name}: faults that no retry cures get one request`, async () => {
    for (const steps of ["400", "401", "422", "quota", "503;x-should-retry=false", "429;retry-after=3600"])
      assert.equal((await requestsOf(server, after, steps)).length, 1, steps);
  });

  test(`${name}: no request comes before Retry-After`, async () => {
    for (const [step, ms] of [
      ["429;retry-after-ms=250", 250],
      ["503;retry-after=1", 1000],
    ]) {
      const times = await requestsOf(server, after, `${step} ${step.replace("250", "50")} 200`);
      assert.equal(times.length, 3);
      assert.ok(times[1] - times[0] >= ms, `${times[1] - times[0]} ms`);
    }
  });

  test(`${name}: a success ends the call`, async () => {
    const times = server.script("503 200");
    await after(server.url);
    assert.equal(times.length, 2);
  });

  test(`${name}: without its line one warning is printed`, async () => {
    const times = server.script(fault);
    const program = [fileURLToPath(new URL("programs.mjs", import.meta.url)), name, server.url];
    const { stderr } = await promisify(execFile)(process.execPath, program);
    assert.ok(times.length > ATTEMPTS, `${times.length} requests`);
    assert.equal(stderr.match(/^holdoff\/llm: .*maxRetries: 0/gm)?.length, 1, stderr);
  });
}

for (const [name, read] of Object.entries(STREAMS)) {
  test(`${name}: a stream is tried again until its first token`, async () => {
    for (const first of ["503", "429", "reset", "early", "overloaded"]) {
      const times = server.script(`${first} stream`);
      const texts = await read(server.url);
      assert.equal(texts.filter(Boolean).join(""), "one two three", first);
      assert.equal(times.length, 2, first);
    }
  });

  test(`${name}: nothing is tried again after the first token`, async () => {
    const times = server.script("late stream");
    await assert.rejects(read(server.url));
    assert.equal(times.length, 1);
  });
}
