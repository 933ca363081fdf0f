/** An attempt in flight. */
import { follow } from "./cancel.js";
import type { AttemptContext } from "./host.js";

/** The context of an attempt. Its controller is made only if somebody asks for the signal. */
export class Attempt implements AttemptContext {
  readonly attempt: number;
  /** When the attempt is over its limit; Infinity without one. */
  readonly abortAt: number;
  private controller: AbortController | undefined;
  private given: AbortSignal | undefined;
  private caller: AbortSignal | undefined;
  private over: { reason: unknown } | undefined;
  private ended: Promise<void> | undefined;
  private judge: (() => void) | undefined;

  constructor(attempt: number, abortAt = Infinity) {
    this.attempt = attempt;
    this.abortAt = abortAt;
  }

  get signal(): AbortSignal {
    if (this.given === undefined) {
      this.controller = new AbortController();
      if (this.over) this.controller.abort(this.over.reason);
      this.given = follow(this.controller, this.caller);
    }
    return this.given;
  }

  get once(): <B>(body: B) => B {
    return (body) => {
      if (this.attempt > 1) throw new TypeError("the request's body has already been used");
      return body;
    };
  }

  /** Its signal aborts with the caller's, however long after the attempt. */
  static follow(attempt: Attempt, caller: AbortSignal): void {
    attempt.caller = caller;
  }

  /** Notes the end of an attempt's function, unless it is over. */
  static flies(attempt: Attempt, flight: Promise<void> | undefined): void {
    attempt.ended = flight;
  }

  static flight({ ended }: Attempt): Promise<void> | undefined {
    return ended;
  }

  /** Notes how to judge a failed attempt at its limit, where the answer of a predicate is still to come. */
  static judgeAtLimit(attempt: Attempt, judge: () => void): void {
    attempt.judge = judge;
  }

  /** Judges it so; false if it has not failed. */
  static judgeNow({ judge }: Attempt): boolean {
    judge?.();
    return judge !== undefined;
  }

  static abort(attempt: Attempt, reason: unknown): void {
    attempt.over = { reason };
    attempt.controller?.abort(reason);
  }
}
