// The fronts of the package, each as a client with one function: it makes a request and says how it ended.
import { Readable } from "node:stream";
import axios from "axios";
import got from "got";
import ky from "ky";
import { createFetch } from "ofetch";
import * as undici from "undici";
import { axiosAdapter } from "../../../bindings-wasm/dist/esm/axios.js";
import { resilientFetch } from "../../../bindings-wasm/dist/esm/fetch.js";
import { gotHooks } from "../../../bindings-wasm/dist/esm/got.js";
import { outcomeOf } from "../../../bindings-wasm/dist/esm/index-node.js";
import { resilientFetch as liteFetch } from "../../../bindings-wasm/dist/esm/lite-fetch.js";
import { retries } from "../../../bindings-wasm/dist/esm/undici.js";

/** Short delays, so that the tests are quick. */
export const SHORT = { attempts: 3, jitter: "none", backoff: { initial: 30, max: 60 } };

const chunksOf = (text) => Readable.from([Buffer.from(text)]);

/** A request by a `fetch`. A `stream` is sent as a stream; with `isRequest` all is in a `Request`. */
const byFetch =
  (fetch, AnyRequest = Request) =>
  async (url, { stream, isRequest, ...init }) => {
    if (stream) Object.assign(init, { body: Readable.toWeb(chunksOf(stream)), duplex: "half" });
    const answer = await (isRequest ? fetch(new AnyRequest(url, init)) : fetch(url, init));
    return { status: answer.status, text: await answer.text(), outcome: outcomeOf(answer) };
  };

const byOfetch =
  (client) =>
  async (url, { stream, isRequest, ...init }) => {
    if (stream) Object.assign(init, { body: Readable.toWeb(chunksOf(stream)), duplex: "half" });
    const own = { ignoreResponseError: true, responseType: "text" };
    const answer = await (isRequest ? client.raw(new Request(url, init), own) : client.raw(url, { ...init, ...own }));
    return { status: answer.status, text: answer._data, outcome: outcomeOf(answer) };
  };

const agent = () => new undici.Agent().compose(retries(SHORT));

const withDispatcher = (fetch, dispatcher) => (input, init) => fetch(input, { ...init, dispatcher });

const byUndici =
  (dispatcher) =>
  async (url, { stream, isRequest, ...init }) => {
    const body = stream ? chunksOf(stream) : init.body;
    const answer = await undici.request(url, { ...init, body, dispatcher });
    return { status: answer.statusCode, text: await answer.body.text() };
  };

const byAxios =
  (client) =>
  async (url, { stream, isRequest, body, ...init }) => {
    const answer = await client.request({ ...init, url, data: stream ? chunksOf(stream) : body });
    return { status: answer.status, text: answer.data };
  };

const byGot =
  (client) =>
  async (url, { stream, isRequest, ...init }) => {
    const answer = await client(url, { ...init, ...(stream && { body: chunksOf(stream) }) });
    return { status: answer.statusCode, text: answer.body };
  };

/** What the fronts do. Clients that read `whole` answers do so without an end. `streams` are sent again, or not; `follows` redirects; `tells` why it gave up. */
const ALL = { requests: true, streams: true, follows: true, tells: true };

export const fronts = {
  fetch: { ...ALL, call: byFetch(resilientFetch(SHORT)) },
  "lite/fetch": { ...ALL, call: byFetch(liteFetch(SHORT)) },
  ky: { ...ALL, call: byFetch(ky.create({ fetch: resilientFetch(SHORT), retry: 0, throwHttpErrors: false })) },
  ofetch: { ...ALL, call: byOfetch(createFetch({ fetch: resilientFetch(SHORT), defaults: { retry: 0 } })) },
  undici: { ...ALL, requests: false, follows: false, tells: false, call: byUndici(agent()) },
  "undici's fetch": { ...ALL, tells: false, call: byFetch(withDispatcher(undici.fetch, agent()), undici.Request) },
  "Node's fetch by undici": { ...ALL, tells: false, call: byFetch(withDispatcher(fetch, agent())) },
  axios: { ...ALL, requests: false, whole: true, call: byAxios(axios.create({ adapter: axiosAdapter(axios, SHORT) })) },
  got: { ...ALL, requests: false, streams: false, whole: true, call: byGot(got.extend(gotHooks(SHORT))) },
};
