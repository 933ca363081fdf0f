// A guard's refusal is an error of the client. Each guard lets one request through and refuses the next one.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { DynamoDBClient, DynamoDBServiceException, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import axios from "axios";
import got, { RequestError } from "got";
import ky from "ky";
import OpenAI from "openai";
import * as undici from "undici";
import { retryStrategy } from "../../../bindings-wasm/dist/esm/aws.js";
import { axiosAdapter } from "../../../bindings-wasm/dist/esm/axios.js";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { gotHooks } from "../../../bindings-wasm/dist/esm/got.js";
import { KeyedGuards, Refused } from "../../../bindings-wasm/dist/esm/guards.js";
import { givenUp, outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";
import { queryRetry } from "../../../bindings-wasm/dist/esm/query.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";
import { SHORT } from "./fronts.mjs";
import { script } from "./script.mjs";

const messages = [{ role: "user", content: "Hi" }];

/** The guards, how the first request ends, and if a refusal says when to come back. */
const refusals = {
  breaker: [{ breaker: { failures: 1 } }, { status: 503 }, true],
  limiter: [{ limiter: { limit: 1, per: "1h", refusal: "stop" } }, {}, true],
  pause: [{ pause: { max: "1h", refusal: "stop" } }, { status: 503, headers: { "retry-after": "1800" } }, true],
};

/** Each client: a function of its options that makes a request, the class of its errors, and how it wraps a refusal. */
const clients = {
  fetch: [(options) => resilientFetch(options), TypeError],
  ky: [
    (options) => (url) => ky.create({ fetch: resilientFetch(options), retry: 0, throwHttpErrors: false })(url),
    TypeError,
  ],
  llm: [(options) => llmFetch(options), TypeError],
  undici: [
    (options) => {
      const dispatcher = new undici.Agent().compose(retries(options));
      return (url) => undici.request(url, { dispatcher });
    },
    undici.errors.UndiciError,
  ],
  "Node's fetch by undici": [
    (options) => {
      const dispatcher = new undici.Agent().compose(retries(options));
      return (url) => fetch(url, { dispatcher });
    },
    TypeError,
    true,
  ],
  axios: [
    (options) => {
      const client = axios.create({ adapter: axiosAdapter(axios, options), validateStatus: null });
      return (url) => client.get(url);
    },
    axios.AxiosError,
    true,
  ],
  openai: [
    (options) => (baseURL) =>
      new OpenAI({ apiKey: "k", baseURL, fetch: llmFetch(options), maxRetries: 0 }).chat.completions.create({
        ...{ model: "m", messages },
      }),
    OpenAI.APIConnectionError,
    true,
  ],
  anthropic: [
    (options) => (baseURL) =>
      new Anthropic({ apiKey: "k", baseURL, fetch: llmFetch(options), maxRetries: 0 }).messages.create({
        ...{ model: "m", max_tokens: 9, messages },
      }),
    Anthropic.APIConnectionError,
    true,
  ],
};

for (const [name, [make, kind, wraps]] of Object.entries(clients)) {
  for (const [guard, [guards, step, says]] of Object.entries(refusals)) {
    test(`${name}: a refusal by the ${guard} is an error of the client`, async () => {
      const played = script(step, {});
      const call = make({ ...SHORT, attempts: 1, guards: new KeyedGuards(guards) });
      await call(played.url).catch(() => {});
      const error = await call(played.url).catch((thrown) => thrown);
      assert.equal(played.log.length, 1);
      assert.ok(error instanceof kind, error.stack);
      const refused = wraps ? error.cause : error;
      assert.ok(refused instanceof Refused, error.stack);
      assert.deepEqual([refused.reason, refused.code], [outcomeOf(refused).reason, "ERR_HOLDOFF_REFUSED"]);
      if (guard !== "pause") assert.equal(refused.reason, guard);
      assert.equal(refused.retryInMs > 0 && refused.retryAt > refused.retryInMs, says);
      assert.ok(givenUp(error));
    });
  }
}

test("axios: the error of axios has the facts of the refusal", async () => {
  const guards = new KeyedGuards({ breaker: { failures: 1 } });
  const client = axios.create({ adapter: axiosAdapter(axios, { ...SHORT, attempts: 1, guards }) });
  const played = script({ status: 503 });
  await client.get(played.url).catch(() => {});
  const error = await client.get(played.url).catch((thrown) => thrown);
  assert.ok(axios.isAxiosError(error));
  assert.deepEqual([error.code, error.reason, error.config.url], ["ERR_HOLDOFF_REFUSED", "breaker", played.url]);
  assert.ok(error.retryInMs > 0);
  assert.equal(outcomeOf(error).reason, "breaker");
});

let ahead = 0;
/** A clock that goes on whenever it is read, and jumps past the time in which a budget refuses nothing. */
const clock = { now: () => ahead++, setTimeout, clearTimeout };

/** How a call ends whose retry the budget refuses. */
async function spent(call) {
  for (let calls = 0; calls < 3; calls++) {
    const ended = await call().catch((error) => error);
    if (outcomeOf(ended).reason === "budget") return ended;
    ahead += 1500;
  }
  return assert.fail("the budget refuses no retry");
}

test("a budget ends the retries of a call, whose last error or answer is the client's", async () => {
  const options = { ...SHORT, attempts: 2, backoff: { initial: 1 }, budget: 1, clock };
  const headers = { "content-type": "application/x-amz-json-1.0" };
  const { url } = script({ status: 503, headers, body: '{"__type":"InternalServerError"}' });
  const fetch = resilientFetch(options);
  assert.equal((await spent(() => fetch(url))).status, 503);
  const client = got.extend(gotHooks(options));
  assert.ok((await spent(() => client(url))) instanceof RequestError);
  const credentials = { accessKeyId: "k", secretAccessKey: "s" };
  const amz = new DynamoDBClient({
    ...{ region: "us-east-1", endpoint: url, credentials, retryStrategy: retryStrategy(options) },
  });
  assert.ok((await spent(() => amz.send(new ListTablesCommand({})))) instanceof DynamoDBServiceException);
  const adapter = axiosAdapter(axios, options);
  const error = await spent(() => axios.get(url, { adapter }));
  assert.deepEqual([axios.isAxiosError(error), error.response.status], [true, 503]);
  const { retry } = queryRetry(options);
  const own = await spent(async () => {
    const lost = new TypeError("fetch failed");
    if (!retry(0, lost)) return lost;
    retry(1, lost);
    return lost;
  });
  assert.equal(own.message, "fetch failed");
});

test("got, the AWS SDK and Query have no guards, and say so", () => {
  const guards = new KeyedGuards({ breaker: { failures: 1 } });
  const refuses = { name: "ConfigError", path: "guards" };
  assert.throws(() => gotHooks({ ...SHORT, guards }), refuses);
  assert.throws(() => retryStrategy({ ...SHORT, guards }), refuses);
  assert.throws(() => queryRetry({ ...SHORT, guards }), refuses);
  assert.throws(() => gotHooks({ ...SHORT, breaker: { failures: 1 } }), refuses);
});
