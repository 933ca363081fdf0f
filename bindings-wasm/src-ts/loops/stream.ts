/** Streams that are retried until their first item has come. */
import { Attempt } from "../attempt.js";
import { hear, hearNoMore } from "../cancel.js";
import { ConfigError, NOT_SUPPORTED, wrongType } from "../errors.js";
import { type AttemptContext, checkHost, checkWork, OPTIONS, type Work } from "../host.js";
import { type RetryOptions, retry } from "../retry.js";
import { isFields } from "../values.js";

type Stream<T> = AsyncIterable<T> | Iterable<T>;
type Items<T> = AsyncIterator<T, unknown> | Iterator<T, unknown>;

/**
 * The items of the stream that `fn` returns. An attempt ends with the first item, or with the end of a stream without items; until then
 * it is retried. Later errors come out as they are, because a stream that began anew would repeat its items. The option `signal` aborts
 * the signal of the attempt also after the first item. Leaving the stream closes that of `fn`.
 */
export function retryStream<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  options: RetryOptions<T | undefined> = {},
): AsyncGenerator<T, void, undefined> {
  checkWork(fn);
  if (!isFields(options)) throw wrongType("options", options, OPTIONS);
  checkHost(options);
  for (const name of ["whenResult", "fallback"] as const) {
    if (options[name])
      throw new ConfigError(NOT_SUPPORTED, "not_supported", name, "", "cannot judge or replace a stream");
  }
  return itemsOf(fn, options);
}

async function* itemsOf<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  options: RetryOptions<T | undefined>,
): AsyncGenerator<T, void, undefined> {
  const { signal } = options;
  let items: Items<T> | undefined;
  let step: IteratorResult<T, unknown> | undefined;
  let context: AttemptContext | undefined;
  const begin = async (attempt: AttemptContext): Promise<T | undefined> => {
    const stream = await fn(attempt);
    const own = isAsync(stream) ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
    const first = await own.next();
    // An attempt that came too late is not the stream.
    if (attempt.signal.aborted) {
      await own.return?.();
      throw attempt.signal.reason;
    }
    [items, step, context] = [own, first, attempt];
    return first.done ? undefined : first.value;
  };
  const own = { name: { value: options.name ?? fn.name, enumerable: true } };
  await retry<T | undefined>(begin as never, Object.create(options, own));
  const caller = { cancel: () => Attempt.abort(context as Attempt, signal?.reason) };
  if (signal?.aborted) caller.cancel();
  else if (signal) hear(signal, caller);
  try {
    while (step && !step.done) {
      yield step.value;
      // An iterator that throws is closed.
      const running = items as Items<T>;
      items = undefined;
      step = await running.next();
      items = running;
    }
  } finally {
    if (signal) hearNoMore(signal, caller);
    if (!step?.done) await items?.return?.();
  }
}

const isAsync = <T>(stream: Stream<T>): stream is AsyncIterable<T> => Symbol.asyncIterator in stream;
