/** Facts about a request: may it run twice, and can its body be sent again? */

/** The methods of requests that may run twice. */
export const IDEMPOTENT = /^(get|head|options|trace|put|delete)$/i;
/** The most bytes of a body that are recorded, and of an answer that are read in its attempt. */
export const MEGABYTE = 1_048_576;

type Source = AsyncIterator<unknown> | Iterator<unknown>;
type Stream = Partial<AsyncIterable<unknown> & Iterable<unknown> & ReadableStream<unknown>>;

/** True for a body that can be sent once: a stream, or an iterator. */
export const isStream = (body: unknown): body is Stream =>
  Object(body) === body && ["getReader", "next", Symbol.asyncIterator].some((name) => name in (body as object));

/** Not every browser can iterate over a stream. */
function sourceOf(body: Stream): Source {
  if (!body.getReader) return (body[Symbol.asyncIterator]?.() ?? body) as Source;
  const reader = body.getReader();
  return { next: () => reader.read(), return: () => reader.cancel() } as never;
}

/**
 * Records a stream while it is sent, up to that many bytes. Each pass over the result gives what was recorded, then goes on with the stream.
 */
export function recorded(body: Stream, most: number) {
  const source = sourceOf(body);
  /** The chunks; the list itself stands for the end. */
  const chunks: unknown[] = [];
  let pending: Promise<void> | undefined;
  const pull = async (): Promise<void> => {
    try {
      const { done, value } = await source.next();
      most -= (value as Uint8Array | string | undefined)?.length ?? 0;
      chunks.push(done ? chunks : value);
    } catch (error) {
      most = -1;
      throw error;
    } finally {
      pending = undefined;
    }
  };
  return {
    /** False once more was sent than is recorded, and once the stream has failed. */
    canSend: () => most >= 0,
    async *[Symbol.asyncIterator]() {
      for (let at = 0; ; at++) {
        // An earlier pass may still wait for the same chunk.
        while (at === chunks.length) await (pending ??= pull());
        const chunk = chunks[at];
        if (chunk === chunks) return;
        if (most < 0) chunks.fill(undefined, 0, at + 1);
        yield chunk;
      }
    },
    /** Closes a stream that nobody will read to its end. */
    close: () => {
      (async () => source.return?.())().catch(nothing);
    },
  };
}

/** One pass over a stream, as a stream. */
function streamOf(body: AsyncIterable<unknown>): ReadableStream<unknown> {
  const pass = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pass.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

export const nothing = () => {};

/** Reads a body until it ends. It is cancelled after `most` bytes and after `limit` ms, which returns false. */
export async function reads({ body }: Pick<Response, "body">, most: number, limit?: number) {
  const reader = body?.getReader();
  let size = 0;
  const cancel = () => {
    most = -1;
    reader?.cancel().catch(nothing);
  };
  const timer = limit && setTimeout(cancel, limit);
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) break;
      if ((size += value.byteLength) > most) cancel();
    }
    return size <= most;
  } finally {
    clearTimeout(timer);
  }
}

type Input = string | URL | Request;
type Own<O> = RequestInit & { retry?: O | false | null | undefined };
export type Fetch = (input: Input, init?: RequestInit) => Promise<Response>;

/** A `fetch` with options for one call, or false for one plain request. */
export type FetchWith<O> = (input: Input, init?: Own<O>) => Promise<Response>;

/** A call of `fetch` with these arguments, to be sent once for each attempt. `most` is the most bytes of a body that are kept. */
export function sendingOf(fetch: Fetch, input: Input, init: RequestInit, most: number) {
  const request = (input as Partial<Request>).clone ? (input as Request) : undefined;
  const method = init.method ?? request?.method ?? "GET";
  const stream = isStream(init.body) ? recorded(init.body, most) : undefined;
  // Some browsers do not show the body of a request.
  const hasOwnBody = request && request.body !== null && !init.body;
  /** True if the request is kept for another attempt. */
  let keeps: boolean | undefined;
  return {
    method,
    idempotent: IDEMPOTENT.test(method) || new Headers(init.headers ?? request?.headers).has("idempotency-key"),
    signal: init.signal === undefined ? request?.signal : init.signal,
    /** False if the body cannot be sent again. */
    canSend: () => stream?.canSend() ?? keeps ?? true,
    /** Sends the request once more. Without a signal it keeps its own. */
    async send(signal: AbortSignal | undefined): Promise<Response> {
      // A front in a function of the program makes no attempts of its own.
      const own: Own<never> = { ...init, retry: false, ...(signal && { signal }) };
      if (stream) own.body = streamOf(stream) as ReadableStream<Uint8Array>;
      return fetch(hasOwnBody && (keeps ??= await reads(request.clone(), most)) ? request.clone() : input, own);
    },
    /** Lets go of a body that was kept, and of a stream that a failed call has not read to its end. */
    end(isFailed: boolean | undefined): void {
      if (isFailed) stream?.close();
      if (keeps) request?.body?.cancel().catch(nothing);
    },
  };
}

export const JSON_TYPE = /[/+]json\s*(;|$)/i;

/**
 * Waits for the body of an answer, so that a body which breaks off or comes too late is a failed attempt: a body of at most that many bytes
 * by its headers, or JSON, which nobody reads in parts. A longer body and a stream are given out as they come. The answer stays as the
 * client gave it; `withBytes` gives a body that was read back to an answer, where that is cheaper than a copy.
 */
export async function waitForBody(
  answer: Response,
  most: number,
  withBytes?: (answer: Response, bytes: ArrayBuffer) => Response,
): Promise<Response> {
  const { body, headers } = answer;
  const length = Number.parseFloat(headers.get("content-length") as string);
  const isBounded = length >= 0 ? length <= most : JSON_TYPE.test(headers.get("content-type") as string);
  if (!body || !most || !isBounded) return answer;
  // The length of an encoded body says nothing about its bytes.
  if (withBytes && length >= 0 && !headers.has("content-encoding"))
    return withBytes(answer, await answer.arrayBuffer());
  await reads(answer.clone(), most);
  return answer;
}

const PLAIN = Symbol.for("holdoff.plain");

/** The function below a front: a function that is wrapped twice is wrapped once. */
export const plainOf = <F>(fn: F): F => (fn as { [PLAIN]?: F })[PLAIN] ?? fn;

/** Marks a front, and says what is below it. */
export const markedFront = <F extends object, G>(front: F, plain: G): F => Object.assign(front, { [PLAIN]: plain });
