// Fronts of clients with loops of their own, and what axios, got, the AWS SDK and Query see of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import axios from "axios";
import got from "got";
import * as undici from "undici";
import { retryStrategy } from "../../../bindings-wasm/dist/esm/aws.js";
import { axiosAdapter } from "../../../bindings-wasm/dist/esm/axios.js";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { gotHooks } from "../../../bindings-wasm/dist/esm/got.js";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";
import { queryRetry } from "../../../bindings-wasm/dist/esm/query.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";
import { SHORT } from "./fronts.mjs";
import { script } from "./script.mjs";

const unavailable = { status: 503 };

test("axios: interceptors and transforms run once, and errors are those of axios", async () => {
  const client = axios.create({ adapter: axiosAdapter(axios, SHORT) });
  let requests = 0;
  client.interceptors.request.use((config) => {
    requests++;
    return config;
  });
  const played = script(unavailable);
  const error = await client.put(played.url, { a: 1 }).catch((thrown) => thrown);
  assert.ok(axios.isAxiosError(error));
  assert.deepEqual([error.response.status, outcomeOf(error).attempts, requests], [503, 3, 1]);
  assert.deepEqual(
    played.log.map(({ body }) => body),
    Array(3).fill('{"a":1}'),
  );
  const answer = await client.get(script(unavailable).url, { validateStatus: null });
  assert.deepEqual([answer.status, outcomeOf(answer).reason], [503, "attempts"]);
});

test("axios: options of a request, a limit, an abort, and an adapter around an adapter", async () => {
  const client = axios.create({ adapter: axiosAdapter(axios, SHORT) });
  const plain = script(unavailable);
  await client.get(plain.url, { retry: false }).catch(() => {});
  const post = script(unavailable, {});
  assert.equal((await client.post(post.url, "x", { retry: { idempotent: true } })).status, 200);
  const endless = script({ status: 503, endless: true }, {});
  assert.equal((await client.get(endless.url, { retry: { attemptTimeout: 500 } })).status, 200);
  const late = await client
    .get(script({ wait: 300 }).url, { retry: { attempts: 1, attemptTimeout: 50 } })
    .catch((e) => e);
  assert.deepEqual([axios.isAxiosError(late), late.code, outcomeOf(late).reason], [true, "ETIMEDOUT", "attempts"]);
  const user = new AbortController();
  const asleep = script({ status: 503, headers: { "retry-after": "5" } });
  const pending = client.get(asleep.url, { signal: user.signal }).catch((thrown) => thrown);
  while (asleep.log.length === 0) await new Promise(setImmediate);
  user.abort();
  assert.ok(axios.isCancel(await pending));
  const twice = script(unavailable);
  const { adapter } = axios.defaults;
  axios.defaults.adapter = axiosAdapter(axios, SHORT);
  await axios.get(twice.url, { adapter: axiosAdapter(axios, SHORT) }).catch(() => {});
  axios.defaults.adapter = adapter;
  assert.deepEqual(
    [plain, post, asleep, twice].map(({ log }) => log.length),
    [1, 2, 1, 3],
  );
});

test("axios: a stream as the answer is given out, and a refused one is closed", async () => {
  const client = axios.create({ adapter: axiosAdapter(axios, SHORT) });
  const played = script({ status: 503, endless: true }, { parts: ["a", { wait: 20 }, "b"] });
  const { data } = await client.get(played.url, { responseType: "stream" });
  let text = "";
  for await (const chunk of data) text += chunk;
  assert.deepEqual([text, played.log.length], ["ab", 2]);
});

test("got: json(), its errors, and streams, which are left alone", async () => {
  const client = got.extend(gotHooks(SHORT));
  const played = script(unavailable, { body: '{"a":1}' });
  assert.deepEqual(await client(played.url).json(), { a: 1 });
  const error = await client(script(unavailable).url).catch((thrown) => thrown);
  assert.deepEqual([error.name, error.response.statusCode, outcomeOf(error).reason], ["HTTPError", 503, "attempts"]);
  const post = script(unavailable);
  await client.post(post.url, { body: "x" }).catch(() => {});
  assert.equal(post.log.length, 1);
  let text = "";
  for await (const chunk of client.stream(script({ body: "data" }).url)) text += chunk;
  assert.equal(text, "data");
});

test("AWS: attempts and hints are the policy's, and the error has its outcome", async () => {
  const of = (url) => ({
    region: "us-east-1",
    endpoint: url,
    forcePathStyle: true,
    credentials: { accessKeyId: "k", secretAccessKey: "s" },
    retryStrategy: retryStrategy(SHORT),
  });
  const amz = { "content-type": "application/x-amz-json-1.0" };
  const busy = {
    status: 400,
    body: '{"__type":"ThrottlingException"}',
    headers: { ...amz, "x-amz-retry-after": "300" },
  };
  const played = script(busy, { body: '{"TableNames":["t"]}', headers: amz });
  const { TableNames, $metadata } = await new DynamoDBClient(of(played.url)).send(new ListTablesCommand({}));
  assert.deepEqual([TableNames, $metadata.attempts], [["t"], 2]);
  assert.ok(played.gaps[0] >= 300);
  const down = script(unavailable);
  const key = { Bucket: "b", Key: "k" };
  const s3 = new S3Client(of(down.url));
  const error = await s3.send(new PutObjectCommand({ ...key, Body: "data" })).catch((thrown) => thrown);
  assert.deepEqual([error.$metadata.attempts, outcomeOf(error).reason, down.log.length], [3, "attempts", 3]);
  const missing = script({ status: 404 });
  await new S3Client(of(missing.url)).send(new GetObjectCommand(key)).catch(() => {});
  assert.equal(missing.log.length, 1);
});

test("Query: the delay of each failure, and no attempt above the limit or for what is permanent", () => {
  const { retry, retryDelay } = queryRetry({ attempts: 3, jitter: "none", backoff: { initial: 100 } });
  const lost = () => new TypeError("fetch failed");
  const ask = (count, error) => [retryDelay(count, error), retry(count, error)];
  assert.deepEqual(
    [ask(0, lost()), ask(1, lost()), ask(2, lost())],
    [
      [100, true],
      [200, true],
      [0, false],
    ],
  );
  const hinted = Object.assign(new Error("busy"), { status: 429, headers: { "retry-after": "2" } });
  assert.deepEqual(ask(0, hinted), [2000, true]);
  const missing = Object.assign(new Error("missing"), { status: 404 });
  assert.deepEqual([ask(0, missing), outcomeOf(missing).reason], [[0, false], "permanent"]);
});

test("every front hears its hooks, its clock and its predicate", async () => {
  const heard = [];
  const hear = (hook) => (event) => {
    heard.push(`${hook} ${event.operation.split(" ")[0]} ${event.attempt}`);
  };
  let judged = 0;
  const when = () => {
    judged++;
    return undefined;
  };
  const hooks = {
    ...SHORT,
    attempts: 2,
    when,
    onAttempt: hear("attempt"),
    onRetry: hear("retry"),
    onGiveUp: hear("end"),
  };
  const down = () => script(unavailable).url;
  const amz = { region: "us-east-1", credentials: { accessKeyId: "k", secretAccessKey: "s" } };
  const calls = {
    fetch: () => resilientFetch(hooks)(down()),
    llm: () => llmFetch(hooks)(down()),
    undici: () => undici.request(down(), { dispatcher: new undici.Agent().compose(retries(hooks)) }),
    axios: () => axios.get(down(), { adapter: axiosAdapter(axios, hooks) }),
    got: () => got.extend(gotHooks(hooks))(down()),
    aws: () =>
      new DynamoDBClient({ ...amz, endpoint: down(), retryStrategy: retryStrategy(hooks) }).send(
        new ListTablesCommand({}),
      ),
  };
  for (const [name, call] of Object.entries(calls)) {
    heard.length = judged = 0;
    await call().catch(() => {});
    const method = name === "aws" ? "AWS" : "GET";
    assert.deepEqual(
      heard,
      [`attempt ${method} 1`, `retry ${method} 1`, `attempt ${method} 2`, `end ${method} 2`],
      name,
    );
    assert.ok(judged > 0 === /axios|got|aws/.test(name), `${name}: answers are no errors`);
  }
  queryRetry(hooks).retry(0, new TypeError("fetch failed"));
  assert.equal(heard.at(-1), "retry QUERY 1");
});
