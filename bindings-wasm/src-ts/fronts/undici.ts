/** An interceptor for the dispatchers of undici, which Node's own `fetch` goes through, too. */
import type { AttemptContext } from "../host.js";
import { isSending, sendBelow } from "../sending.js";
import { Front, type GivenOptions, mayRepeat } from "./http.js";
import { isStream, JSON_TYPE, recorded } from "./request.js";

type Controller = { pause(): void; resume(): void; abort(reason: unknown): void };
type Names = Record<string, string | string[] | undefined>;

interface Handler {
  onRequestStart?(controller: Controller, context: unknown): void;
  onResponseStart?(controller: Controller, status: number, headers: Names, text?: string): void;
  onResponseData?(controller: Controller, chunk: Uint8Array): void;
  onResponseEnd?(controller: Controller, trailers: Names): void;
  onResponseError?(controller: Controller | undefined, error: unknown): void;
}

type Sent = { method: string; origin?: string | URL; headers?: unknown; body?: unknown; upgrade?: unknown };
type Listener = { handleEvent(): void };
type AnyDispatch = (options: never, handler: never) => boolean;
type Dispatch = (options: Sent, handler: Handler) => boolean;

/** The controller of all attempts, which acts on the one in flight, and their signal: an `AbortSignal` would cost more than the rest. */
class Outer {
  aborted = false;
  reason: unknown;
  private listener: Listener | undefined;
  inner: Controller | undefined;
  isPaused = false;
  /** What the handler sees: the rest is that of the attempt in flight. */
  readonly controller = new Proxy<Controller>(
    {
      pause: () => this.set(true),
      resume: () => this.set(false),
      abort: (reason) => {
        this.aborted = true;
        this.reason = reason;
        this.listener?.handleEvent();
        this.inner?.abort(reason);
      },
    },
    { get: (own, name) => Reflect.get(name in own ? own : (this.inner ?? own), name) },
  );

  addEventListener = (_: string, listener: Listener): void => void (this.listener = listener);
  removeEventListener = (): void => void (this.listener = undefined);

  private set(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.inner?.[isPaused ? "pause" : "resume"]();
  }
}

/** An answer, held back until it is known to be the last one. */
type Held = { status: number; headers: Names; body: { dump(limits: { limit: number }): void }; open(): void };

/** Makes one attempt. The signal is that of its limits. */
function attempt(front: Front, send: (handler: Handler) => void, handler: Handler, outer: Outer, signal?: AbortSignal) {
  return new Promise<Held>((resolve, reject) => {
    const refuse = () => outer.inner?.abort(new Error("the answer is refused"));
    const abort = () => outer.inner?.abort(signal?.reason);
    const chunks: Uint8Array[] = [];
    let answer: Held | undefined;
    /** Tells the handler how the answer ended. */
    let end: (() => void) | undefined;
    let size = 0;
    let most = front.body;
    /** What becomes of the body: it is read before the answer is judged, it waits, is given out, or is thrown away. */
    let state: "reads" | "waits" | "open" | "dumps" = "waits";
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
    send({
      onRequestStart(controller, context) {
        const isFirst = outer.inner === undefined;
        outer.inner = controller;
        if (outer.aborted) return controller.abort(outer.reason);
        signal?.addEventListener("abort", abort, { once: true });
        if (isFirst) handler.onRequestStart?.(outer.controller, context);
      },
      onResponseStart(controller, status, headers, text) {
        const start = () => handler.onResponseStart?.(outer.controller, status, headers, text);
        if (status < 200) return start();
        const open = (): void => {
          state = "open";
          try {
            start();
            for (const chunk of chunks) handler.onResponseData?.(outer.controller, chunk);
            if (end) end();
            else if (!outer.isPaused) controller.resume();
          } catch (error) {
            controller.abort(error);
          }
        };
        const dump = ({ limit }: { limit: number }): void => {
          state = "dumps";
          most = limit;
          (setTimeout(() => end ?? refuse(), 500) as unknown as { unref(): void }).unref();
          controller.resume();
        };
        answer = { status, headers, body: { dump }, open };
        const length = Number(headers["content-length"] ?? Number.NaN);
        const isBounded = length >= 0 ? length <= most : JSON_TYPE.test(String(headers["content-type"]));
        if (most > 0 && isBounded && !front.policy.isFailure(status)) state = "reads";
        else judge(controller);
      },
      onResponseData(controller, chunk) {
        size += chunk.length;
        if (state === "open") handler.onResponseData?.(outer.controller, chunk);
        else if (state !== "dumps") chunks.push(chunk);
        else if (size > most) refuse();
        if (state === "reads" && size > most) judge(controller);
      },
      onResponseEnd: (_, trailers) => ended(() => handler.onResponseEnd?.(outer.controller, trailers)),
      onResponseError(_, error) {
        if (!answer || state === "reads") reject(error);
        ended(() => handler.onResponseError?.(outer.controller, error));
      },
    });
  });
}

/** An interceptor whose requests are tried again: `new Agent().compose(retries())`. Needs undici 7 or later. */
export function retries(given?: GivenOptions): <D extends AnyDispatch>(dispatch: D) => D {
  const front = new Front(given);
  const intercept =
    (dispatch: Dispatch): Dispatch =>
    (options, handler) => {
      const { method, origin: url, headers, upgrade } = options;
      if (isSending() || upgrade || method === "CONNECT") return dispatch(options, handler);
      const body = isStream(options.body) ? recorded(options.body, front.body) : undefined;
      const send = (own: Handler) => sendBelow(() => dispatch(body ? { ...options, body } : options, own));
      const outer = new Outer();
      const signal = outer as object as AbortSignal;
      const facts = { method, url, idempotent: mayRepeat(method, headers), signal, canSend: body?.canSend };
      const make = (own: AttemptContext) =>
        attempt(front, send, handler, outer, front.isLimited(null) ? own.signal : undefined);
      const answered = (answer: Held): void => {
        if (front.policy.isFailure(answer.status)) body?.close();
        answer.open();
      };
      const failed = (error: unknown): void => {
        body?.close();
        handler.onResponseError?.(outer.controller, error);
      };
      front.run(make, facts).then(answered, failed);
      return true;
    };
  return intercept as never;
}
