/** Calls of language models: a `fetch` for their SDKs, and a model of the AI SDK that is the first of several which answers. */
import "../rules/index.js";
import { system } from "../clock.js";
import { givenUp, outcomeOf, remember } from "../errors.js";
import { isProgramError } from "../failure.js";
import type { Verdict } from "../hooks.js";
import type { AttemptContext } from "../host.js";
import { type FetchOptions, fetchBy, fetchOf, type ResilientFetch } from "./fetching.js";
import { Front, type FrontOptions, type GivenOptions } from "./http.js";
import { errorBeforeContent, isSpent, saysSpent } from "./model_answer.js";
import { markedFront, plainOf } from "./request.js";

export type { FetchOptions, ResilientFetch } from "./fetching.js";
export type { FrontOptions } from "./http.js";

/** The preset `llm`, which the core would read with all its rules and guards. */
export const LLM = {
  backoff: { initial: 500, max: 8000 },
  budget: 100,
  rules: [{ if: { http: [409] }, retry: true }],
} as const satisfies FrontOptions;

const withLlm = (given: FrontOptions): FrontOptions => (given.policy || given.preset ? given : { ...LLM, ...given });

const said = new Set<string>();

/** Warns of a retry around a front, once. */
function warn(text: string): void {
  if (!said.has(text)) console.warn(`holdoff/llm: ${text}`);
  said.add(text);
}

/** How long a request that was given up is remembered, in milliseconds, and how many are. */
const AGAIN = 60_000;
const MOST = 1000;
/** When requests were given up. They may come again by another `fetch`: a program may make one in each attempt. */
const givenUpAt = new Map<number, number>();

/** A number for a request whose body is a text. */
function identityOf(input: unknown, body: unknown): number | undefined {
  if (typeof body !== "string") return undefined;
  const { url = input } = Object(input) as { url?: unknown };
  let hash = 0;
  for (const text of [String(url), body])
    for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return hash;
}

/** Marks what the program around will see of a request that was given up, and remembers the request. */
function markGivenUp(identity: number | undefined, error: unknown): void {
  const outcome = outcomeOf(error);
  if (outcome?.outcome !== "gave_up") return;
  // The AI SDK hands on the cause alone.
  remember((error as { cause?: unknown }).cause, outcome);
  if (identity === undefined) return;
  if (givenUpAt.size >= MOST) givenUpAt.clear();
  givenUpAt.set(identity, system.now());
}

/** True for a request that was given up a short time ago. */
function wasGivenUp(identity: number | undefined): boolean {
  const at = identity === undefined ? undefined : givenUpAt.get(identity);
  return at !== undefined && givenUpAt.delete(identity as number) && system.now() - at < AGAIN;
}

/**
 * A `fetch` for the SDKs of OpenAI and Anthropic and for all that are made of them. Every call may run twice. The last answer says
 * `x-should-retry: false`, so that these SDKs stop, too.
 */
export function llmFetch(given?: GivenOptions<FetchOptions>): ResilientFetch {
  const [fetch, options] = fetchOf(given);
  const { whenResult } = options;
  /** Verdicts on answers by their bodies. */
  const verdicts = new WeakMap<object, Verdict>();
  const judge = (answer: unknown) =>
    verdicts.get(answer as object) ?? (typeof whenResult === "function" ? whenResult(answer) : undefined);
  const front = new Front({ idempotent: true, ...withLlm(options), whenResult: judge });
  const retrying = fetchBy(front, fetch, async (answer) => {
    if (await saysSpent(answer)) verdicts.set(answer, "permanent");
    else if (!front.policy.isFailure(answer.status)) {
      const error = await errorBeforeContent(answer);
      if (error) verdicts.set(answer, front.policy.classify({ ...error, code: error.code ?? error.type }));
    }
  });
  return markedFront(async (input, init = {}) => {
    const { retry } = init;
    if (retry === false) return retrying(input, init);
    const identity = givenUpAt.size > 0 ? identityOf(input, init.body) : undefined;
    const isOwn = Number(new Headers(init.headers ?? (input as Request).headers).get("x-stainless-retry-count")) > 0;
    if (isOwn) warn("the SDK tries again by itself; give it maxRetries: 0");
    else if (wasGivenUp(identity))
      warn("a retry repeats what holdoff gave up: set maxRetries: 0, and retry only if `!givenUp(error)`");
    const given = () => identity ?? identityOf(input, init.body);
    const sent = retrying(input, isOwn ? { ...init, retry: { ...retry, attempts: 1 } } : init);
    const answer = await sent.catch((error) => {
      markGivenUp(given(), error);
      throw error;
    });
    const outcome = outcomeOf(answer);
    if (!outcome) return answer;
    markGivenUp(given(), answer);
    const { body, status, statusText, url } = answer;
    const told = new Headers(answer.headers);
    told.set("x-should-retry", "false");
    const last = new Response(body, { status, statusText, headers: told });
    Object.defineProperty(last, "url", { value: url });
    remember(last, outcome);
    return last;
  }, plainOf(retrying));
}

/** The part of a model of the AI SDK that is used. */
type Model = { readonly modelId: string; doGenerate: Ask; doStream: Ask };
type Ask = (options: never) => PromiseLike<unknown>;

/** The statuses that blame the model and not the request: wrong keys, unknown models, a limit. */
const OF_MODEL = [401, 403, 404, 408, 409, 425, 429];

/**
 * A model of the AI SDK that asks the first of these models, and the next one when it fails. A model that said when to come back is not
 * asked before, by any call; a model with a wrong key or a spent quota is not asked again by the same call. A refusal of the request itself
 * ends the call. `attempts` bounds all models together, one more than there are unless given. A stream fails over until it begins.
 */
export function failover<M extends Model>(models: readonly [M, ...M[]], given?: GivenOptions): M {
  const options = fetchOf(given)[1];
  const isOwn = options.policy || options.preset;
  const front = new Front(isOwn ? options : withLlm({ attempts: models.length + 1, ...options }));
  const targets = models.map((model) => ({ model, readyAt: 0 }));
  type Target = (typeof targets)[0];
  const run = (method: "doGenerate" | "doStream") => (options: { abortSignal?: AbortSignal }) => {
    /** How often each model was asked, without those that are not asked again. */
    const asked = new Map(targets.map((target) => [target, 0]));
    const waitOf = (target: Target) => Math.max(target.readyAt - system.now(), 0);
    /** The model that is ready first and was asked least, how long that takes, and how often it was asked. */
    const next = (): [target: Target, wait: number, times: number] => {
      const all = [...asked].map(([target, times]) => [target, waitOf(target), times] as [Target, number, number]);
      return all.sort(([, wait, times], [, other, more]) => wait - other || times - more)[0] as (typeof all)[0];
    };
    let at: Target;
    const ask = ({ signal }: AttemptContext) => {
      const [target, , times] = next();
      at = target;
      asked.set(at, times + 1);
      return at.model[method]({ ...options, abortSignal: signal } as never);
    };
    return front.policy.retry(ask, {
      ...front.optionsOf<unknown>({ method, url: undefined, idempotent: true, signal: options.abortSignal }),
      whenResult: undefined,
      when: (error) => {
        const { statusCode = 0, data } = Object(error) as { statusCode?: number; data?: unknown };
        const isOfRequest = statusCode >= 400 && statusCode < 500 && !OF_MODEL.includes(statusCode);
        if (isOfRequest || isProgramError(error)) return undefined;
        const { kind, hint } = front.policy.classify(error);
        if (typeof hint === "number") at.readyAt = system.now() + hint;
        if (kind === "permanent" || hint === "never" || isSpent(data) || givenUp(error)) asked.delete(at);
        if (asked.size === 0) return "permanent";
        return { kind: kind === "permanent" ? "transient" : kind, hint: next()[1] || undefined };
      },
      delay: () => {
        const [, wait, times] = next();
        return wait === 0 && times === 0 ? 0 : undefined;
      },
    });
  };
  const own: Record<string | symbol, unknown> = {
    modelId: models.map(({ modelId }) => modelId).join("|"),
    // The AI SDK fetches files itself that not every model can.
    supportedUrls: {},
    doGenerate: run("doGenerate"),
    doStream: run("doStream"),
  };
  return new Proxy(models[0], { get: (model, name) => (name in own ? own[name] : Reflect.get(model, name)) });
}
