/** An adapter of axios under a policy. */

import { outcomeOf, remember } from "../errors.js";
import type { AttemptContext } from "../host.js";
import { bytesOf, Front, type FrontCall, type GivenOptions, mayRepeat } from "./http.js";
import { isStream, markedFront, plainOf, recorded } from "./request.js";

/** The part of a request's configuration that is used. `retry` has options of this request, or is false for one plain request. */
type Config = {
  method?: string;
  url?: string;
  baseURL?: string;
  allowAbsoluteUrls?: boolean;
  headers?: unknown;
  data?: unknown;
  signal?: unknown;
  responseType?: string;
  retry?: FrontCall | false | null;
};
type Answer = { readonly status: number; readonly data?: unknown };

// biome-ignore lint/suspicious/noExplicitAny: the types of axios are in a package that a program may not have
type Adapter = (config: any) => Promise<any>;

/** The part of axios that is used. */
export interface AxiosLike {
  readonly defaults: { adapter?: unknown };
  getAdapter(adapters: never): Adapter;
  readonly AxiosError: {
    from(error: Error, code?: string, config?: never, request?: unknown, answer?: never, facts?: object): Error;
  };
  readonly CanceledError: new () => Error;
  isAxiosError(error: unknown): boolean;
}

/** The module of Node that makes streams; undefined in a browser. */
const streams = (): { Readable: { from(items: AsyncIterable<unknown>): unknown } } | undefined =>
  (globalThis as { process?: { getBuiltinModule?(name: string): never } }).process?.getBuiltinModule?.("node:stream");

/** An adapter for `axios.create({ adapter: axiosAdapter(axios) })`. Interceptors run once for each request, and not for each attempt. */
export function axiosAdapter(axios: AxiosLike, given?: GivenOptions): Adapter {
  const front = new Front(given);
  const send = plainOf(axios.getAdapter(plainOf(axios.defaults.adapter) as never));
  const adapter = async (config: Config): Promise<Answer> => {
    const { method = "get", url = "", headers, data, retry } = config;
    if (retry === false) return send(config);
    const signal = config.signal as AbortSignal | null | undefined;
    const isOnce = isStream(data) || typeof (data as { pipe?: unknown } | undefined)?.pipe === "function";
    const body = isStream(data) && streams() ? recorded(data, bytesOf(retry?.body, front.body)) : undefined;
    const canSend = body?.canSend ?? (() => !isOnce);
    const isAbsolute = config.allowAbsoluteUrls !== false && /^([a-z][a-z\d+.-]*:)?\/\//i.test(url);
    const facts = {
      method,
      url: isAbsolute ? url : (config.baseURL ?? url),
      idempotent: mayRepeat(method, headers),
      signal,
      canSend,
    };
    const told = retry?.onRetry ?? front.options.onRetry;
    const onRetry: typeof told = (event) => {
      const { data } = (event.value ?? (event.error as { response?: unknown }).response ?? {}) as Partial<Answer>;
      (data as { destroy?(): void } | undefined)?.destroy?.();
      return told?.(event);
    };
    const own = config.responseType === "stream" ? { ...retry, onRetry } : retry;
    const isLimited = front.isLimited(own);
    const again = () => body && { data: streams()?.Readable.from(body) };
    const attempt = (own: AttemptContext) =>
      send(isLimited || body ? { ...config, ...again(), ...(isLimited && { signal: own.signal }) } : config);
    try {
      return await front.run(attempt, facts, own);
    } catch (error) {
      body?.close();
      if (axios.isAxiosError(error) || !(error instanceof Error)) throw error;
      const outcome = outcomeOf(error);
      const code = error.name === "TimeoutError" ? "ETIMEDOUT" : undefined;
      const isCancelled = outcome?.outcome === "cancelled";
      const failed = () => axios.AxiosError.from(error, code, config as never, undefined, undefined, { ...error });
      const named = isCancelled ? new axios.CanceledError() : failed();
      remember(named, outcome);
      throw named;
    }
  };
  return markedFront(adapter, send);
}
