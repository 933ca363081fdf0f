// What servers and programs do wrong: redirects and answers without an end, headers that lie, and fronts around fronts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import axios from "axios";
import got from "got";
import * as undici from "undici";
import { retryStrategy } from "../../../bindings-wasm/dist/esm/aws.js";
import { axiosAdapter } from "../../../bindings-wasm/dist/esm/axios.js";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { gotHooks } from "../../../bindings-wasm/dist/esm/got.js";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { resilientFetch as liteFetch } from "../../../bindings-wasm/dist/esm/lite-fetch.js";
import { llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";
import { fronts, SHORT } from "./fronts.mjs";
import { origin, script } from "./script.mjs";

const unavailable = { status: 503 };
const json = { "content-type": "application/json" };
const busy = (headers) => ({ status: 503, headers });
const GET = { method: "GET" };

/** What a server says about the next request: the headers, and the gap before it; none if it is not made. */
const hints = {
  "a year": [{ "retry-after": "31536000" }],
  "a date far away": [{ "retry-after": "Tue, 31 Dec 2199 23:59:59 GMT" }],
  "a number that no clock holds": [{ "retry-after": "9".repeat(30) }],
  "a time in the past": [{ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
  "a negative number": [{ "retry-after": "-5" }, 0],
  "no time at all": [{ "retry-after": "soon" }, 0],
  "milliseconds beside other seconds": [{ "retry-after-ms": "300", "retry-after": "3600" }, 300],
  "two lines": [{ "retry-after": ["3600", "1"] }, 1000],
};

const models = llmFetch(SHORT);
const bucket = (endpoint) =>
  new S3Client({
    ...{ endpoint, region: "us-east-1", forcePathStyle: true, retryStrategy: retryStrategy(SHORT) },
    credentials: { accessKeyId: "k", secretAccessKey: "s" },
  });
const all = {
  ...fronts,
  llm: {
    ...{ follows: true, tells: true },
    async call(url, init) {
      const answer = await models(url, init);
      return { status: answer.status, text: await answer.text(), outcome: outcomeOf(answer) };
    },
  },
  AWS: {
    tells: true,
    async call(url) {
      const { Body, $metadata } = await bucket(url).send(new GetObjectCommand({ Bucket: "b", Key: "k" }));
      return { status: $metadata.httpStatusCode, text: await Body.transformToString() };
    },
  },
};

for (const [name, { call, follows, tells }] of Object.entries(all)) {
  for (const [title, [headers, gap]] of Object.entries(hints)) {
    test(`${name}: Retry-After says ${title}`, { timeout: 10_000 }, async () => {
      const played = script(busy(headers), {});
      const ended = await call(played.url, GET).catch((error) => error);
      const outcome = ended.outcome ?? outcomeOf(ended);
      // Node's own client, which axios and got use, gives out the first line alone.
      if (title === "two lines" && /axios|got|AWS/.test(name)) return assert.equal(played.log.length, 1);
      assert.equal(played.log.length, gap === undefined ? 1 : 2);
      if (gap === undefined && tells) assert.equal(outcome.reason, "hint");
      if (gap) assert.ok(played.gaps[0] >= gap && played.gaps[0] < gap + 1500, `${played.gaps}`);
      return undefined;
    });
  }

  test(`${name}: redirects without an end are not tried again`, { timeout: 10_000 }, async () => {
    const own = { status: 302, headers: {} };
    const played = script(own);
    own.headers.location = played.url;
    const ended = await call(played.url, GET).catch((error) => error);
    if (follows) assert.ok(ended instanceof Error);
    assert.ok(played.log.length <= 22, `${played.log.length} requests`);
  });

  test(`${name}: an error inside of a success is the caller's`, async () => {
    const body = '{"error":{"code":503,"message":"unavailable"}}';
    const played = script({ headers: json, body }, {});
    const { status, text } = await call(played.url, GET);
    const seen = typeof text === "string" ? text : JSON.stringify(text);
    assert.deepEqual([status, seen, played.log.length], [200, body, 1]);
  });
}

const limited = { ...SHORT, attempts: 2, attemptTimeout: 300 };
const agentOf = (options) => new undici.Agent().compose(retries(options));
const clients = {
  fetch: resilientFetch(limited),
  "lite/fetch": liteFetch(limited),
  undici: (url) => undici.request(url, { dispatcher: agentOf(limited) }),
  axios: (url) => axios.get(url, { adapter: axiosAdapter(axios, limited) }),
  got: (url) => got.extend(gotHooks({ ...SHORT, attempts: 2 }), { timeout: { request: 300 } })(url),
};

for (const [name, call] of Object.entries(clients)) {
  test(`${name}: JSON without an end is over its limit, and leaves no connection open`, async () => {
    const played = script({ headers: json, endless: true });
    await assert.rejects(Promise.resolve(call(played.url)));
    assert.equal(played.log.length, 2);
    while (played.log.some(({ isWhole }) => isWhole === undefined)) await new Promise(setImmediate);
  });
}

for (const name of ["fetch", "lite/fetch"]) {
  test(`${name}: a text without an end is given out at once, and nothing is tried again`, async () => {
    const played = script({ endless: true });
    const answer = await clients[name](played.url);
    const reader = answer.body.getReader();
    await reader.read();
    await reader.cancel();
    assert.equal(played.log.length, 1);
  });
}

const globalFetch = globalThis.fetch;
/** Fronts around fronts: each makes one call, and 3 requests. */
const nestings = {
  "resilientFetch in llmFetch": () => llmFetch({ ...SHORT, fetch: resilientFetch(SHORT) }),
  "llmFetch in resilientFetch": () => resilientFetch({ ...SHORT, fetch: llmFetch(SHORT) }),
  "lite/fetch in llmFetch": () => llmFetch({ ...SHORT, fetch: liteFetch(SHORT) }),
  "resilientFetch in lite/fetch": () => liteFetch({ ...SHORT, fetch: resilientFetch(SHORT) }),
  "resilientFetch as the global fetch": () => {
    globalThis.fetch = resilientFetch(SHORT);
    return llmFetch(SHORT);
  },
  "resilientFetch in a function of the program": () => {
    const logged = resilientFetch(SHORT);
    return resilientFetch({ ...SHORT, fetch: (input, init) => logged(input, init) });
  },
  "lite/fetch in a function of the program": () => {
    const logged = liteFetch(SHORT);
    return resilientFetch({ ...SHORT, fetch: async (input, init) => logged(input, init) });
  },
  "resilientFetch in a function of lite/fetch": () => {
    const logged = resilientFetch(SHORT);
    return liteFetch({ ...SHORT, fetch: async (input, init) => logged(input, init) });
  },
  "undici below resilientFetch": () => {
    const fetch = resilientFetch(SHORT);
    return (url) => fetch(url, { dispatcher: agentOf(SHORT) });
  },
  "undici below llmFetch": () => {
    const fetch = llmFetch(SHORT);
    return (url) => fetch(url, { dispatcher: agentOf(SHORT) });
  },
  "undici composed twice": () => (url) =>
    undici.request(url, { dispatcher: agentOf(SHORT).compose(retries(SHORT)) }).then(({ statusCode }) => ({
      status: statusCode,
    })),
  "got extended twice": () => (url) =>
    got
      .extend(gotHooks(SHORT))
      .extend(gotHooks(SHORT))(url, { throwHttpErrors: false })
      .then(({ statusCode }) => ({
        status: statusCode,
      })),
  "axios around axios": () => (url) =>
    axios.get(url, {
      adapter: axiosAdapter({ ...axios, defaults: { adapter: axiosAdapter(axios, SHORT) } }, SHORT),
      validateStatus: null,
    }),
};

for (const [title, make] of Object.entries(nestings)) {
  test(`${title}: one call makes 3 requests`, async () => {
    try {
      const played = script(unavailable);
      assert.equal((await make()(played.url)).status, 503);
      assert.equal(played.log.length, 3);
    } finally {
      globalThis.fetch = globalFetch;
    }
  });
}

for (const how of ["close", "destroy"]) {
  test(`undici: ${how}() in a sleep ends the call at the next attempt`, async () => {
    const played = script(busy({ "retry-after-ms": "200" }));
    const dispatcher = agentOf(SHORT);
    const pending = undici.request(played.url, { dispatcher }).catch((error) => error);
    while (played.log.length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    dispatcher[how]().catch(() => {});
    const error = await pending;
    assert.ok(error instanceof undici.errors.UndiciError, error);
    assert.deepEqual([outcomeOf(error)?.reason, played.log.length], ["permanent", 1]);
  });
}

test("a front that was wrapped keeps its own requests", async () => {
  const inner = resilientFetch(SHORT);
  const outer = resilientFetch({ ...SHORT, attempts: 2, fetch: inner });
  const [one, other] = [script(unavailable), script(unavailable)];
  await Promise.all([outer(one.url), inner(other.url)]);
  assert.deepEqual([one.log.length, other.log.length], [2, 3]);
  assert.ok(one.url.startsWith(origin));
});
