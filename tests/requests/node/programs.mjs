// Programs that ask a language model once, each as the manuals of its libraries show it, before and after holdoff.
//
// A program is a function of the URL of its provider. `before` has the defaults; `after` has `llmFetch()` and the line that the page of the
// front gives; `without` lacks that line. `node programs.mjs NAME URL` runs a program without its line.
import { pathToFileURL } from "node:url";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, streamText } from "ai";
import OpenAI, { AzureOpenAI } from "openai";
import pRetry from "p-retry";
import { givenUp } from "../../../bindings-wasm/dist/esm/index-node.js";
import { llmFetch } from "../../../bindings-wasm/dist/esm/llm.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const apiKey = "key";
const messages = [{ role: "user", content: "Hi" }];
const quick = () => llmFetch({ backoff: { initial: "5ms", max: "20ms" } });
/** Options of the columns: nothing, `llmFetch()` alone, and with it the line for the client's own retries. */
const front = () => ({ fetch: quick() });
const quiet = () => ({ fetch: quick(), maxRetries: 0 });
const nothing = () => ({});

/** Each client asks once. The options are those of the client. */
const asks = {
  openai: (options) => (baseURL) =>
    new OpenAI({ apiKey, baseURL, ...options() }).chat.completions.create({ model: "m", messages }),
  azure: (options) => (endpoint) =>
    new AzureOpenAI({ apiKey, endpoint, apiVersion: "2024-10-21", ...options() }).chat.completions.create({
      ...{ model: "m", messages },
    }),
  anthropic: (options) => (baseURL) =>
    new Anthropic({ apiKey, baseURL, ...options() }).messages.create({ model: "m", max_tokens: 9, messages }),
  ai: (options) => (baseURL) => {
    const { fetch, ...own } = options();
    return generateText({ model: createOpenAI({ apiKey, baseURL, fetch }).chat("m"), prompt: "Hi", ...own });
  },
  compatible: (options) => (baseURL) => {
    const { fetch, ...own } = options();
    const model = createOpenAICompatible({ name: "own", apiKey, baseURL, fetch })("m");
    return generateText({ model, prompt: "Hi", ...own });
  },
  aiStream: (options) => async (baseURL) => {
    const { fetch, ...own } = options();
    const model = createOpenAI({ apiKey, baseURL, fetch }).chat("m");
    const texts = [];
    for await (const part of streamText({ model, prompt: "Hi", ...own, onError() {} }).fullStream) {
      if (part.type === "text-delta") texts.push(part.text);
      if (part.type === "error") throw part.error;
    }
    return texts;
  },
  langchain: (options) => (baseURL) => lang(baseURL, options()).invoke("Hi"),
};

function lang(baseURL, { fetch, ...own }) {
  return new ChatOpenAI({ model: "m", apiKey, configuration: { baseURL, fetch }, ...own });
}

const withPRetry = (ask, options) => (url) => pRetry(() => ask(url), { retries: 3, ...options });
const shouldRetry = ({ error }) => !givenUp(error);

const State = Annotation.Root({ text: Annotation() });
const withLangGraph =
  (model, options = {}) =>
  (url) => {
    const ask = async () => ({ text: (await model(url).invoke("Hi")).content });
    const graph = new StateGraph(State).addNode("ask", ask, options).addEdge(START, "ask").addEdge("ask", END);
    return graph.compile().invoke({ text: "" });
  };
const plainLang = (url) => lang(url, {});
const quietLang = (url) => lang(url, quiet());

/** One client, with its own retries before and without them after. Clients that obey `x-should-retry` miss the line after a lost connection only. */
const client = (name, ask, fault = "503") => ({
  ...{ name, line: "`maxRetries: 0`", fault },
  ...{ before: ask(nothing), after: ask(quiet), without: ask(front) },
});
const GIVEN_UP = "`maxRetries: 0`, `shouldRetry: ({ error }) => !givenUp(error)`";
const pRetried = (name, ask) => ({
  ...{ name: `p-retry (3) around ${name}`, line: GIVEN_UP, fault: "503" },
  before: withPRetry(ask(nothing)),
  after: withPRetry(ask(quiet), { shouldRetry }),
  without: withPRetry(ask(quiet)),
});

export const PAIRS = [
  client("openai", asks.openai, "reset"),
  client("AzureOpenAI", asks.azure, "reset"),
  client("@anthropic-ai/sdk", asks.anthropic, "reset"),
  client("AI SDK `generateText`", asks.ai),
  client("AI SDK `streamText`", asks.aiStream),
  client("AI SDK, openai-compatible", asks.compatible),
  client("LangChain ChatOpenAI", asks.langchain),
  {
    ...{ name: "LangChain `withRetry()`", line: "`maxRetries: 0`, no `withRetry()`", fault: "503" },
    before: (url) => plainLang(url).withRetry().invoke("Hi"),
    after: (url) => quietLang(url).invoke("Hi"),
    without: (url) => quietLang(url).withRetry().invoke("Hi"),
  },
  {
    ...{ name: "LangGraph around LangChain", line: "`maxRetries: 0`", fault: "503" },
    before: withLangGraph(plainLang),
    after: withLangGraph(quietLang),
    without: withLangGraph((url) => lang(url, front())),
  },
  {
    ...{ name: "LangGraph `retryPolicy: {}` around LangChain", fault: "503" },
    line: "`maxRetries: 0`, `retryPolicy: { retryOn: (error) => !givenUp(error) }`",
    before: withLangGraph(plainLang, { retryPolicy: { logWarning: false } }),
    after: withLangGraph(quietLang, { retryPolicy: { logWarning: false, retryOn: (error) => !givenUp(error) } }),
    without: withLangGraph(quietLang, { retryPolicy: { logWarning: false } }),
  },
  pRetried("openai", asks.openai),
  pRetried("@anthropic-ai/sdk", asks.anthropic),
  pRetried("the AI SDK", asks.ai),
  pRetried("LangChain", asks.langchain),
];

/** Programs that read a stream: each returns the texts of its tokens. */
export const STREAMS = {
  async openai(baseURL) {
    const openai = new OpenAI({ apiKey, baseURL, ...quiet() });
    const texts = [];
    for await (const { choices } of await openai.chat.completions.create({ model: "m", messages, stream: true }))
      texts.push(choices[0]?.delta.content);
    return texts;
  },
  async "@anthropic-ai/sdk"(baseURL) {
    const anthropic = new Anthropic({ apiKey, baseURL, ...quiet() });
    const texts = [];
    for await (const { delta } of anthropic.messages.stream({ model: "m", max_tokens: 9, messages }))
      texts.push(delta?.text);
    return texts;
  },
  "AI SDK `streamText`": asks.aiStream(quiet),
  async "LangChain ChatOpenAI"(url) {
    const texts = [];
    for await (const { text } of await quietLang(url).stream("Hi")) texts.push(text);
    return texts;
  },
};

const wait = globalThis.setTimeout;
/** Cuts sleeps short, for libraries that cannot be told to wait less, while a function runs. Limits of minutes stay. */
export async function withShortSleeps(run) {
  globalThis.setTimeout = (fn, ms, ...rest) => wait(fn, ms < 300_000 ? Math.min(ms, 1) : ms, ...rest);
  try {
    return await run();
  } finally {
    globalThis.setTimeout = wait;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [name, url] = process.argv.slice(2);
  const { without } = PAIRS.find((pair) => pair.name === name);
  await withShortSleeps(() => without(url).catch(() => {}));
}
