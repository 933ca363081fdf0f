/** Streams that are retried until an item has come that counts. */
import { Attempt } from "./attempt.js";
import { addAbortListener, removeAbortListener } from "./cancel.js";
import { type Clock, system } from "./clock.js";
import { NOT_A_DURATION, problem, unsupported, wrongType } from "./errors.js";
import { type AttemptContext, checkedOptions, checkHost, checkWork, type Work } from "./host.js";
import { type RetryOptions, retry } from "./retry.js";
import { type Duration, durationOf } from "./times.js";

type Stream<T> = AsyncIterable<T> | Iterable<T>;
type Items<T> = AsyncIterator<T, unknown> | Iterator<T, unknown>;

/** How to run a stream. */
export type StreamOptions<T> = RetryOptions<T | undefined> & {
  /**
   * True for an item after which the stream is retried no more. The items before it (a greeting, a ping) are held back, and come out
   * with it; those of a failed attempt never do. Unless given, the first item is one.
   */
  commit?: ((item: T) => boolean) | null | undefined;
  /**
   * How long the stream may be silent, before its first item and between two. A longer silence aborts the attempt's signal and is a
   * timeout: retried up to the item that commits, and thrown after it.
   */
  idle?: Duration | null | undefined;
};

/**
 * The items of the stream that `fn` returns. An attempt ends with the first item that commits, or with the end of the stream; until
 * then it is retried. Later errors come out as they are, because a stream that began anew would repeat its items. The deadline and the
 * attempt timeout end with the attempt; the option `signal` ends the stream also later. Leaving the stream closes that of `fn`.
 */
export function retryStream<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  callerOptions: StreamOptions<T> = {},
): AsyncGenerator<T, void, undefined> {
  checkWork(fn);
  const options = checkedOptions(callerOptions);
  checkHost(options);
  for (const name of ["whenResult", "fallback"] as const) {
    if (options[name]) throw unsupported(name, "cannot judge or replace a stream");
  }
  const { commit, idle } = options;
  if (commit && typeof commit !== "function") throw wrongType("commit", commit, "a function");
  const limit = idle ?? Infinity;
  const span = limit === Infinity ? limit : durationOf(limit);
  if (span === undefined) throw problem(NOT_A_DURATION, "idle", idle);
  return itemsOf(fn, options, Number(span) / 1e6);
}

const nothing = () => {};

/** The stream of one attempt. */
class Reader<T> {
  private readonly context: AttemptContext;
  private readonly idle: number;
  private readonly clock: Clock;
  private items: Items<T> | undefined;
  private leave: (reason: unknown) => void = nothing;

  constructor(context: AttemptContext, idle: number, clock: Clock) {
    this.context = context;
    this.idle = idle;
    this.clock = clock;
    addAbortListener(context.signal, this);
  }

  /** The attempt's signal has aborted. A stream may not listen to it. */
  cancel(): void {
    this.leave(this.context.signal.reason);
  }

  async open(fn: Work<Stream<T> | PromiseLike<Stream<T>>>): Promise<void> {
    const stream = await this.answer(() => fn(this.context));
    this.items = Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
  }

  async next(): Promise<IteratorResult<T, unknown>> {
    this.context.signal.throwIfAborted();
    const items = this.items as Items<T>;
    // A stream that throws is closed. A stream that does not answer cannot be closed.
    this.items = undefined;
    const step = await this.answer(() => items.next(), items);
    if (!step.done) this.items = items;
    return step;
  }

  /** Leaves no listener, and closes the stream. */
  async close(): Promise<void> {
    removeAbortListener(this.context.signal, this);
    await this.items?.return?.();
  }

  /** An answer of the stream, unless it is silent for too long, or the signal aborts. */
  private answer<A>(ask: () => A | PromiseLike<A>, items?: Items<T>): Promise<A> {
    const { clock, context, idle } = this;
    return new Promise<A>((resolve, reject) => {
      let timer: unknown;
      const end = () => {
        this.leave = nothing;
        if (timer !== undefined) clock.clearTimeout(timer);
      };
      this.leave = (reason) => {
        end();
        reject(reason);
        Attempt.abort(context as Attempt, reason);
        (async () => items?.return?.())().catch(nothing);
      };
      const error = () => new DOMException(`the stream was silent for ${idle} ms`, "TimeoutError");
      if (idle < Infinity) timer = clock.setTimeout(() => this.leave(error()), idle);
      (async () => ask())().then(resolve, reject).finally(end);
    });
  }
}

async function* itemsOf<T>(
  fn: Work<Stream<T> | PromiseLike<Stream<T>>>,
  options: StreamOptions<T>,
  idle: number,
): AsyncGenerator<T, void, undefined> {
  const { commit } = options;
  let found: { reader: Reader<T>; held: T[]; isDone: boolean } | undefined;
  const begin = async (context: AttemptContext): Promise<T | undefined> => {
    const reader = new Reader<T>(context, idle, options.clock ?? system);
    const held: T[] = [];
    try {
      await reader.open(fn);
      for (;;) {
        const { done, value } = (await reader.next()) as IteratorResult<T, undefined>;
        // An attempt that came too late is not the stream.
        context.signal.throwIfAborted();
        if (!done) held.push(value);
        if (!done && commit && !commit(value)) continue;
        found = { reader, held, isDone: !!done };
        return held.at(-1);
      }
    } catch (error) {
      await reader.close();
      throw error;
    }
  };
  await retry(begin, retryOptions(options, fn.name) as never);
  const { reader, held, isDone } = found as NonNullable<typeof found>;
  try {
    yield* held;
    while (!isDone) {
      const { done, value } = (await reader.next()) as IteratorResult<T, undefined>;
      if (done) return;
      yield value;
    }
  } finally {
    await reader.close();
  }
}

/** The options for `retry`: without those of streams, and with the name of the function. */
function retryOptions<T>(options: StreamOptions<T>, name: string): object {
  const { commit, idle, ...own } = options;
  return { ...own, name: options.name ?? name };
}
