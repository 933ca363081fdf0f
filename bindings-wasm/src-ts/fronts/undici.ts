/** An interceptor for the dispatchers of undici, which Node's own `fetch` goes through, too. */
import { AsyncLocalStorage } from "node:async_hooks";
import { Front, fronts, type GivenOptions, mayRepeat } from "./http.js";
import { isStream, JSON_TYPE, recorded } from "./request.js";

export type { FrontOptions } from "./http.js";

const within = (fronts.within ??= new AsyncLocalStorage<true>());

interface Controller {
  readonly rawHeaders?: unknown;
  readonly rawTrailers?: unknown;
  pause(): void;
  resume(): void;
  abort(reason: unknown): void;
}

type Names = Record<string, string | string[] | undefined>;

interface Handler {
  onRequestStart?(controller: unknown, context: unknown): void;
  onResponseStart?(controller: unknown, status: number, headers: Names, text?: string): void;
  onResponseData?(controller: unknown, chunk: Uint8Array): void;
  onResponseEnd?(controller: unknown, trailers: Names): void;
  onResponseError?(controller: unknown, error: unknown): void;
}

interface Sent {
  readonly method: string;
  readonly origin?: string | URL;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly upgrade?: unknown;
}

type Dispatch = (options: Sent, handler: Handler) => boolean;

/** An answer, held back until it is known to be the last one. */
interface Held {
  readonly status: number;
  readonly headers: Names;
  readonly body: { dump(limits: { limit: number }): void };
  open(): void;
}

/** The controller of all attempts: it is that of the one in flight. */
class Outer {
  readonly #aborting = new AbortController();
  target: Controller | undefined;
  paused = false;

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  get aborted(): boolean {
    return this.signal.aborted;
  }

  get reason(): unknown {
    return this.aborted ? this.signal.reason : null;
  }

  get rawHeaders(): unknown {
    return this.target?.rawHeaders;
  }

  get rawTrailers(): unknown {
    return this.target?.rawTrailers;
  }

  pause(): void {
    this.paused = true;
    this.target?.pause();
  }

  resume(): void {
    this.paused = false;
    this.target?.resume();
  }

  abort(reason: unknown): void {
    this.#aborting.abort(reason);
    this.target?.abort(reason);
  }
}

const isRefused = () => new Error("the answer is refused");

/** One attempt: a handler that holds the answer back. */
function attempt(
  front: Front,
  dispatch: Dispatch,
  options: Sent,
  handler: Handler,
  outer: Outer,
  signal?: AbortSignal,
) {
  return new Promise<Held>((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let answer: Held | undefined;
    /** Tells the handler how the answer ended. */
    let end: (() => void) | undefined;
    let size = 0;
    let most = front.body;
    /** What becomes of the body: it is read before the answer is judged, it waits, is given out, or is thrown away. */
    let state: "reads" | "waits" | "open" | "dumps" = "waits";
    const abort = () => outer.target?.abort(signal?.reason);
    const ended = (how: () => void): void => {
      signal?.removeEventListener("abort", abort);
      end = how;
      if (state === "open") how();
      else if (answer && state === "reads") resolve(answer);
    };
    const judge = (controller: Controller): void => {
      state = "waits";
      controller.pause();
      resolve(answer as Held);
    };
    dispatch(options, {
      onRequestStart(controller: Controller, context) {
        const isFirst = outer.target === undefined;
        outer.target = controller;
        if (outer.aborted) return controller.abort(outer.reason);
        signal?.addEventListener("abort", abort, { once: true });
        if (isFirst) handler.onRequestStart?.(outer, context);
      },
      onResponseStart(controller: Controller, status, headers, text) {
        if (status < 200) return handler.onResponseStart?.(outer, status, headers, text);
        const open = (): void => {
          state = "open";
          try {
            handler.onResponseStart?.(outer, status, headers, text);
            for (const chunk of chunks) handler.onResponseData?.(outer, chunk);
            if (end) end();
            else if (!outer.paused) controller.resume();
          } catch (error) {
            controller.abort(error);
          }
        };
        const dump = ({ limit }: { limit: number }): void => {
          state = "dumps";
          most = limit;
          const timer: unknown = setTimeout(() => end ?? controller.abort(isRefused()), 500);
          (timer as { unref(): void }).unref();
          controller.resume();
        };
        answer = { status, headers, body: { dump }, open };
        const length = Number(headers["content-length"] ?? Number.NaN);
        const isBounded = length >= 0 ? length <= most : JSON_TYPE.test(String(headers["content-type"]));
        if (most > 0 && isBounded && !front.policy.isFailure(status)) state = "reads";
        else judge(controller);
      },
      onResponseData(controller: Controller, chunk) {
        size += chunk.length;
        if (state === "open") handler.onResponseData?.(outer, chunk);
        else if (state !== "dumps") chunks.push(chunk);
        else if (size > most) controller.abort(isRefused());
        if (state === "reads" && size > most) judge(controller);
      },
      onResponseEnd: (_: unknown, trailers) => ended(() => handler.onResponseEnd?.(outer, trailers)),
      onResponseError(_: unknown, error) {
        if (!answer || state === "reads") reject(error);
        ended(() => handler.onResponseError?.(outer, error));
      },
    });
  });
}

/** An interceptor whose requests are tried again: `new Agent().compose(retries())`. Needs undici 7 or later. */
export function retries(
  given?: GivenOptions,
): <D extends (options: never, handler: never) => boolean>(dispatch: D) => D {
  const front = new Front(given);
  const isLimited = front.isLimited(undefined);
  const intercept =
    (dispatch: Dispatch): Dispatch =>
    (options, handler) => {
      const { method, origin, headers, upgrade } = options;
      if (within.getStore() || upgrade || method === "CONNECT") return dispatch(options, handler);
      const body = isStream(options.body) ? recorded(options.body, front.body) : undefined;
      const sent = body ? { ...options, body } : options;
      const outer = new Outer();
      const { signal } = outer;
      const facts = { method, url: origin, idempotent: mayRepeat(method, headers), signal, canSend: body?.canSend };
      const send = (context: { signal: AbortSignal }) =>
        within.run(true, () => attempt(front, dispatch, sent, handler, outer, isLimited ? context.signal : undefined));
      const answered = (answer: Held): void => {
        if (front.policy.isFailure(answer.status)) body?.close();
        answer.open();
      };
      const failed = (error: unknown): void => {
        body?.close();
        handler.onResponseError?.(outer, error);
      };
      front.policy.retry(send, front.optionsOf<Held>(facts)).then(answered, failed);
      return true;
    };
  return intercept as never;
}
