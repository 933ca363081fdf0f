/** The engine of operations without guards. It loads the core at the first failure. */
import { hintNanos, ruleBits } from "./failure.js";
import type { Work } from "./host.js";
import {
  call,
  functions,
  HINT,
  hot,
  NOW,
  SEED,
  stepAt,
  stepAttempt,
  stepCodes,
  write,
  writePolicy,
  writeWords,
} from "./hot.js";
import { ATTEMPT, Attempt, type Engine, type Step } from "./operation.js";
import { type Seed, seedOf } from "./seed.js";
import type { Keeper } from "./slot.js";

export class Unguarded implements Engine, Keeper {
  readonly discardsAsleep = true;
  /** The core's state, while that of another operation is in the core's memory. */
  state: Uint32Array | undefined = undefined;
  private readonly policy: Uint32Array;
  private readonly limit: number;
  private readonly seed: number | bigint | null | undefined;
  /** True once the core knows of this operation. */
  private known = false;
  /** The time of the latest failure. */
  private failedAt = 0;

  /** `limit` is that of the first attempt, in nanoseconds. */
  constructor(policy: Uint32Array, limit: number, seed: number | bigint | null | undefined) {
    this.policy = policy;
    this.limit = limit;
    this.seed = seed;
  }

  begin(): Step {
    return { codes: ATTEMPT, at: this.limit, wakeAt: Infinity, attempt: 1 };
  }

  fail(attempt: number, kind: number, _error: unknown, now: number): Step {
    const core = hot();
    call.load(this);
    if (!this.known) {
      const { low, high }: Seed = seedOf(this.seed);
      writeWords(SEED, low, high);
      core.underway();
      this.known = true;
    }
    write(HINT, hintNanos());
    write(NOW, now);
    writePolicy(this.policy);
    core.fail(attempt, kind | ruleBits());
    this.failedAt = now;
    return readStep();
  }

  tick(now: number): Step {
    write(NOW, now);
    writePolicy(this.policy);
    call.load(this);
    functions.tick();
    return readStep();
  }

  delay(step: Step): number {
    return step.at - this.failedAt;
  }

  context(attempt: number, abortAt: number): Attempt {
    return new Attempt(attempt, abortAt);
  }

  run<T>(fn: Work<T>, context: Attempt): T {
    return fn(context);
  }

  end(): void {
    call.forget(this);
  }

  succeed(): void {}

  follows(): void {}

  abandon(): undefined {}

  refused(): undefined {}
}

const readStep = (): Step => ({ codes: stepCodes(), at: stepAt(), wakeAt: Infinity, attempt: stepAttempt() });
