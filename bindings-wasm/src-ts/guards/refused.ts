/** An operation that was not even tried. */
import type { StopReason } from "../words.js";

/** A guard let no attempt begin. How it ended is attached, as to any other error. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** Which guard: `breaker`, `budget`, `limiter` or `bulkhead`; or `deadline`, when one was waited for too long. */
  readonly reason: StopReason;
  /** When another try might be let through, in milliseconds like `Date.now()`; undefined when nobody knows. */
  readonly retryAt: number | undefined;

  /** @internal */
  constructor(reason: StopReason, retryAt: number | undefined) {
    super(`refused: ${reason}`);
    this.reason = reason;
    this.retryAt = retryAt;
  }
}
