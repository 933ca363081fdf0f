// How each client makes a request. `play` gets a situation and its address, and throws the client's own error or returns its value;
// `answers` is true for a client whose answers with a bad status are values, `base` for one that adds a path to the address.
import http from "node:http";
import https from "node:https";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";
import grpc from "@grpc/grpc-js";
import { request as octokit } from "@octokit/request";
import { generateText } from "ai";
import axios from "axios";
import got from "got";
import { Redis } from "ioredis";
import ky from "ky";
import { ofetch } from "ofetch";
import OpenAI from "openai";
import pg from "pg";
import superagent from "superagent";
import * as undici from "undici";
import fetch, { afterFirst, SHORT, signalOf } from "./fetch.mjs";

/** Calls the node:http family, and reads the body. */
function nodeRequest({ url, signal, limit }) {
  return new Promise((resolve, reject) => {
    const { get } = url.startsWith("https:") ? https : http;
    const request = get(url, { signal, agent: false }, (response) => {
      response.on("error", reject);
      response.on("end", () => resolve(response));
      response.resume();
    });
    if (limit)
      request.setTimeout(SHORT, () => request.destroy(Object.assign(new Error("read"), { code: "ETIMEDOUT" })));
    request.on("error", reject);
  });
}

const ai = (request) =>
  generateText({
    model: createOpenAI({ apiKey: "x", baseURL: request.url }).chat("m"),
    prompt: "x",
    maxRetries: request.maxRetries ?? 0,
    abortSignal: signalOf(request),
  });

const aws = (Client, Command) => async (request) => {
  const client = new Client({
    endpoint: request.url,
    region: "us-east-1",
    credentials: { accessKeyId: "x", secretAccessKey: "x" },
    maxAttempts: 1,
    ...(request.limit && { requestHandler: { requestTimeout: SHORT, throwOnRequestTimeout: true } }),
  });
  try {
    return await client.send(new Command({}), { abortSignal: request.signal });
  } finally {
    client.destroy();
  }
};

const grpcCall = ({ grpc: code, pushback, url, origin, id }) =>
  new Promise((resolve, reject) => {
    const address = new URL(url ?? origin("h2c")).host;
    const options = { "grpc.enable_retries": 0 };
    const client = new grpc.Client(address, grpc.credentials.createInsecure(), options);
    const metadata = new grpc.Metadata();
    metadata.set("id", id);
    if (pushback) metadata.set("pushback", pushback);
    const bytes = (value) => value;
    client.makeUnaryRequest(`/flaky.Flaky/${code ?? "OK"}`, bytes, bytes, Buffer.alloc(0), metadata, (error, value) => {
      client.close();
      if (error) reject(error);
      else resolve(value);
    });
  });

export const adapters = {
  fetch,
  undici: {
    package: "undici",
    answers: true,
    play: async (request) => {
      const { url, limit, proxy, signal } = request;
      const connect = limit === "connect" ? { timeout: SHORT } : {};
      const limits = limit === "read" ? { headersTimeout: SHORT, bodyTimeout: SHORT } : {};
      const allowH2 = /refused-stream|goaway|stream-error/.test(request.name);
      const dispatcher = proxy
        ? new undici.ProxyAgent(proxy)
        : new undici.Agent({ connect, allowH2, ...limits }).compose(
            undici.interceptors.redirect({ maxRedirections: 5, throwOnMaxRedirect: true }),
          );
      try {
        return await afterFirst(request, async () => {
          const answer = await undici.request(url, { signal, dispatcher });
          await answer.body.text();
          return answer;
        });
      } finally {
        dispatcher.destroy().catch(() => {});
      }
    },
  },
  "node-http": { answers: true, play: (request) => afterFirst(request, () => nodeRequest(request)) },
  axios: {
    package: "axios",
    play: (request) =>
      afterFirst(request, () =>
        axios.get(request.url, { signal: request.signal, proxy: false, ...(request.limit && { timeout: SHORT }) }),
      ),
  },
  got: {
    package: "got",
    play: (request) => {
      const timeout =
        request.limit === "connect" ? { connect: SHORT } : { response: SHORT, read: SHORT, socket: SHORT };
      return afterFirst(request, () =>
        got(request.url, { retry: { limit: 0 }, signal: request.signal, ...(request.limit && { timeout }) }),
      );
    },
  },
  ky: {
    package: "ky",
    play: (request) =>
      afterFirst(request, () =>
        // Its own time limit ends with the headers.
        ky(request.url, { retry: 0, signal: signalOf(request), timeout: request.limit ? SHORT * 2 : false }).text(),
      ),
  },
  ofetch: {
    package: "ofetch",
    play: (request) =>
      afterFirst(request, () =>
        // Its own time limit ends with the headers.
        ofetch(request.url, { retry: 0, signal: signalOf(request) }),
      ),
  },
  superagent: {
    package: "superagent",
    play: (request) =>
      afterFirst(request, () => {
        const call = superagent.get(request.url);
        return request.limit ? call.timeout({ response: SHORT, deadline: SHORT * 2 }) : call;
      }),
  },
  octokit: {
    package: "@octokit/request",
    play: (request) => {
      // It takes a colon and a letter for a parameter.
      const url = request.url.replace(/(header=[\w-]+):/g, "$1%3A");
      return octokit(`GET ${url}`, { request: { signal: signalOf(request) } });
    },
  },
  openai: {
    package: "openai",
    base: true,
    play: (request) => {
      const client = new OpenAI({
        apiKey: "x",
        baseURL: request.url,
        maxRetries: 0,
        ...(request.limit && { timeout: SHORT }),
      });
      return client.chat.completions.create({ model: "m", messages: [] }, { signal: request.signal });
    },
  },
  anthropic: {
    package: "@anthropic-ai/sdk",
    base: true,
    play: (request) => {
      const limit = request.limit && { timeout: SHORT };
      const client = new Anthropic({ apiKey: "x", baseURL: request.url, maxRetries: 0, ...limit });
      const messages = [{ role: "user", content: "x" }];
      return client.messages.create({ model: "m", max_tokens: 1, messages }, { signal: request.signal });
    },
  },
  ai: { package: "ai", base: true, play: ai },
  dynamodb: { package: "@aws-sdk/client-dynamodb", base: true, play: aws(DynamoDBClient, ListTablesCommand) },
  s3: { package: "@aws-sdk/client-s3", base: true, play: aws(S3Client, ListBucketsCommand) },
  grpc: { package: "@grpc/grpc-js", play: grpcCall },
  pg: {
    package: "pg",
    play: async ({ ports }) => {
      const client = new pg.Client({ host: "127.0.0.1", port: ports.closed, user: "x", password: "x" });
      await client.connect();
    },
  },
  ioredis: {
    package: "ioredis",
    play: async ({ ports }) => {
      const redis = new Redis({ host: "127.0.0.1", port: ports.closed, retryStrategy: null, lazyConnect: true });
      redis.on("error", () => {});
      await redis.connect();
    },
  },
};
