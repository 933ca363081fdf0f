/** An attempt in flight. */
import type { AttemptContext } from "./host.js";

/** The context of an attempt. Its controller is made only if somebody asks for the signal. */
export class Attempt implements AttemptContext {
  readonly attempt: number;
  /** When the attempt is over its limit; Infinity without one. */
  readonly abortAt: number;
  private controller: AbortController | undefined;
  private over: { reason: unknown } | undefined;
  private ended: Promise<void> | undefined;

  constructor(attempt: number, abortAt = Infinity) {
    this.attempt = attempt;
    this.abortAt = abortAt;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.over) this.controller.abort(this.over.reason);
    }
    return this.controller.signal;
  }

  /** Notes the end of an attempt's function. */
  static flies(attempt: Attempt, flight: Promise<void>): void {
    attempt.ended = flight;
  }

  static flight({ ended }: Attempt): Promise<void> | undefined {
    return ended;
  }

  static abort(attempt: Attempt, reason: unknown): void {
    attempt.over = { reason };
    attempt.controller?.abort(reason);
  }
}
