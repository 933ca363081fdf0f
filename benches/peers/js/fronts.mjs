/**
 * The cost of a front of holdoff for a success on loopback, beside the bare client and the retries of other packages.
 *
 * Prints one JSON list of rows. The first argument is the folder of the package; `--quick` takes fewer rounds, `--only TEXT` works
 * whose names contain it. All clients take turns at one server in a process of its own, and the times are the processor's for
 * this process alone. `extra` is the time of a request beyond the bare client's in the same round, in nanoseconds: the median of all
 * rounds. `of its limit` is that divided by the most that a front may cost: 40 us or 15 % of the bare client's time, whichever is more.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import * as undici from "undici";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    serve: { type: "boolean" },
  },
});

/** The clients by the front that they are compared with: each is a function that reads one answer whole. */
async function clients(url) {
  const [folder] = positionals;
  const own = (name) => import(`${folder}/dist/esm/${name}.js`);
  const { resilientFetch } = await own("fetch");
  const { resilientFetch: liteFetch } = await own("lite-fetch");
  const { axiosAdapter } = await own("axios");
  const { gotHooks } = await own("got");
  const { retries } = await own("undici");

  const byFetch = (fetch) => async () => (await fetch(url)).text();
  const byAxios = (client) => async () => (await client.get(url)).data;
  const byGot = (client) => async () => (await client(url)).body;
  const byUndici = (dispatcher) => async () => (await undici.request(url, { dispatcher })).body.text();
  const repeating = axios.create();
  axiosRetry(repeating);
  return {
    fetch: { bare: byFetch(fetch), holdoff: byFetch(resilientFetch()), ky: byFetch(ky.create({ retry: 2 })) },
    "lite/fetch": { bare: byFetch(fetch), holdoff: byFetch(liteFetch()), ky: byFetch(ky.create({ retry: 2 })) },
    undici: {
      bare: byUndici(new undici.Agent()),
      holdoff: byUndici(new undici.Agent().compose(retries())),
      RetryAgent: byUndici(new undici.RetryAgent(new undici.Agent())),
    },
    axios: {
      bare: byAxios(axios.create()),
      holdoff: byAxios(axios.create({ adapter: axiosAdapter(axios) })),
      "axios-retry": byAxios(repeating),
    },
    got: {
      bare: byGot(got.extend({ retry: { limit: 0 } })),
      holdoff: byGot(got.extend(gotHooks())),
      "got retry": byGot(got.extend({ retry: { limit: 2 } })),
    },
  };
}

const CALLS = 20;
/** The rounds for the compiler, before the first that counts. */
const WARM = 150;
const ALLOWED_NS = 40_000;
const ALLOWED_SHARE = 0.15;

async function sample(ask) {
  const begun = process.cpuUsage();
  for (let n = 0; n < CALLS; n += 1) await ask();
  const { user, system } = process.cpuUsage(begun);
  return ((user + system) * 1000) / CALLS;
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

async function rowsOf(work, asks, rounds) {
  const everybody = Object.entries(asks).map(([who, ask]) => ({ who, ask, times: [] }));
  for (let round = -WARM; round < rounds; round += 1) {
    for (let turn = 0; turn < everybody.length; turn += 1) {
      const { ask, times } = everybody[(round + WARM + turn) % everybody.length];
      const nanos = await sample(ask);
      if (round >= 0) times.push(nanos);
    }
  }
  const bare = everybody[0].times;
  const limit = Math.max(ALLOWED_NS, ALLOWED_SHARE * median(bare));
  return everybody.map(({ who, times }) => {
    const row = { work, who, ns: Math.min(...times), median: median(times) };
    if (who === "bare") return row;
    const extra = median(times.map((nanos, round) => nanos - bare[round]));
    return { ...row, extra, "of its limit": extra / limit };
  });
}

async function measure() {
  const server = spawn(process.execPath, [import.meta.filename, "--serve"], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(server.stdout, "data");
  const rows = [];
  for (const [name, asks] of Object.entries(await clients(`http://127.0.0.1:${Number(String(port))}`))) {
    const work = `front, ${name}`;
    if (work.includes(values.only)) rows.push(...(await rowsOf(work, asks, values.quick ? 60 : 150)));
  }
  server.kill();
  console.log(JSON.stringify(rows));
  process.exit();
}

if (values.serve) {
  const body = '{"status": 200}';
  const headers = { "content-type": "application/json", "content-length": body.length };
  const server = createServer((_, answer) => answer.writeHead(200, headers).end(body));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
} else await measure();
