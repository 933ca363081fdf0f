/** Attempts at a block of code. The operation is that of `retry`; its function waits for the block. */
import { follow } from "./cancel.js";
import { outcomeOf, unsupported } from "./errors.js";
import type { RetryEvent } from "./hooks.js";
import { type AttemptContext, checkedOptions, checkHost, type Work } from "./host.js";
import { type RetryOptions, retry } from "./retry.js";

/**
 * Makes the attempt with a function, once. Resolves with the function's value if the operation ends with it, and with undefined if
 * another attempt follows. Rejects with the error of an operation that gives up.
 */
export type AttemptAt<V = unknown> = <T extends V>(fn: Work<T | PromiseLike<T>>) => Promise<T | undefined>;

/** An event that happens once. */
class Change {
  notify = () => {};
  readonly notified = new Promise<void>((resolve) => {
    this.notify = resolve;
  });
}

/** An attempt that the operation waits for. */
interface Asked {
  readonly context: AttemptContext;
  readonly end: (result: unknown) => void;
}

/**
 * Attempts at a block of code, one for each turn of `for await`: `for await (const attempt of attempts(options)) { await attempt(fn) }`.
 * The loop ends after the attempt that succeeds. An error that ends the operation comes out of the attempt, or of the loop if it was
 * no attempt's: a refusal or a cancellation. A loop that is left after a failed attempt throws that attempt's error.
 */
export function attempts<V = unknown>(
  callerOptions: RetryOptions<V, V> = {},
): AsyncGenerator<AttemptAt<V>, void, undefined> {
  const options = checkedOptions(callerOptions);
  checkHost(options);
  return turns(options as RetryOptions<unknown, unknown>) as AsyncGenerator<AttemptAt<V>, void, undefined>;
}

async function* turns(options: RetryOptions<unknown, unknown>): AsyncGenerator<AttemptAt, void, undefined> {
  const leaving = new AbortController();
  let change = new Change();
  let asked: Asked | undefined;
  /** The attempt whose block runs. */
  let running: AttemptContext | undefined;
  /** True once the operation has ended, and once the caller knows how. */
  let isOver = false;
  let isTold = false;

  const changes = (): void => {
    change.notify();
    change = new Change();
  };
  const ask = (context: AttemptContext): Promise<unknown> =>
    new Promise((end) => {
      if (running && !running.signal.aborted) {
        const rule = "cannot be used here: a block of code does not run twice at once";
        leaving.abort(unsupported("hedge", rule));
      }
      running = context;
      asked = { context, end };
      changes();
    });
  const onRetry = (event: RetryEvent): unknown => {
    running = undefined;
    changes();
    return options.onRetry?.(event);
  };
  const signal = follow(leaving, options.signal);
  const operation = retry(ask, { ...options, name: options.name ?? "", signal, onRetry });
  const over = (): void => {
    isOver = true;
    changes();
  };
  operation.then(over, over);
  const leave = async (): Promise<void> => {
    const left = new DOMException("the loop was left", "AbortError");
    leaving.abort(left);
    await operation.catch(() => {});
    const lastError = outcomeOf(left)?.lastError;
    if (lastError !== undefined) throw lastError;
  };

  try {
    for (;;) {
      while (asked === undefined && !isOver) await change.notified;
      if (isOver && !isTold) await operation;
      if (asked === undefined || isOver) return;
      const { context, end } = asked;
      let isMade = false;
      yield (async (fn) => {
        if (isMade) throw new Error(`attempt ${context.attempt} was made already`);
        isMade = true;
        asked = undefined;
        end((async () => fn(context))());
        await change.notified;
        isTold = isOver;
        return isOver ? operation : undefined;
      }) as AttemptAt;
      if (!isMade) throw new Error(`attempt ${context.attempt} was not made: await attempt(fn) in the loop`);
    }
  } finally {
    if (!isOver) await leave();
  }
}
