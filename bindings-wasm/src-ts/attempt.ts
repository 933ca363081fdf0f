/** An attempt in flight, and the first attempt of an operation. */
import { follow } from "./cancel.js";
import type { AttemptContext, Work } from "./host.js";

/** The context of an attempt. Its controller is made only if somebody asks for the signal. */
export class Attempt implements AttemptContext {
  readonly attempt: number;
  /** When the attempt is over its limit; Infinity without one. */
  readonly abortAt: number;
  /** The caller's signal, which its own follows. */
  caller: AbortSignal | null | undefined = undefined;
  /** The end of its function, until that is there. */
  flight: Promise<void> | undefined = undefined;
  /** Judges it at its limit, where it has failed and the answer of a predicate is still to come. */
  judge: (() => void) | undefined = undefined;
  #controller: AbortController | undefined;
  #following: AbortSignal | undefined;
  #over: { reason: unknown } | undefined;

  constructor(attempt: number, abortAt = Infinity) {
    this.attempt = attempt;
    this.abortAt = abortAt;
  }

  get signal(): AbortSignal {
    if (this.#following === undefined) {
      this.#controller = new AbortController();
      if (this.#over) this.#controller.abort(this.#over.reason);
      this.#following = follow(this.#controller, this.caller);
    }
    return this.#following;
  }

  get once(): <B>(body: B) => B {
    return (body) => {
      if (this.attempt > 1) throw new TypeError("the body is already used");
      return body;
    };
  }

  static abort(attempt: Attempt, reason: unknown): void {
    attempt.#over = { reason };
    attempt.#controller?.abort(reason);
  }
}

export const promised = <T>(result: unknown): Promise<Awaited<T>> =>
  (result instanceof Promise ? result : Promise.resolve(result)) as Promise<Awaited<T>>;

/** Runs the first attempt of an operation that nothing can abort. */
export function first<T>(
  fn: Work<T>,
  failed: (error: unknown) => Promise<Awaited<T>>,
  succeeded: ((value: Awaited<T>) => Awaited<T>) | undefined,
): Promise<Awaited<T>> {
  let result: unknown;
  try {
    result = fn(new Attempt(1));
  } catch (error) {
    return failed(error);
  }
  return promised<T>(result).then(succeeded, failed);
}
