/** The engine of operations without guards. It asks the core nothing before the first failure. */
import {
  AT,
  CALL,
  core,
  forget,
  type Keeper,
  load,
  loadPolicy,
  NOW,
  REMAINING,
  readNumber,
  stepAttempt,
  stepCodes,
  TICKET,
  takeSlot,
  wasm,
  writeNumber,
} from "./core.js";
import type { Work } from "./host.js";
import { ATTEMPT, Attempt, type Engine, type Step } from "./operation.js";
import { writeSeed } from "./seed.js";

export class Unguarded implements Engine, Keeper {
  readonly discardsAsleep = true;
  /** The core's state, while that of another operation is in the core's memory. */
  state: Uint32Array | undefined = undefined;
  private readonly policy: Uint32Array;
  private readonly limit: number;
  private readonly seed: number | bigint | null | undefined;
  /** True once the core knows of this operation. */
  private known = false;

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
    wasm();
    if (this.known) {
      load(CALL, this);
    } else {
      writeSeed(this.seed);
      writeNumber(NOW, 0);
      takeSlot(CALL, this);
      core.call_underway();
      this.known = true;
    }
    writeNumber(TICKET, attempt);
    writeNumber(NOW, now);
    loadPolicy(this.policy);
    core.call_fail(kind);
    return readStep();
  }

  tick(now: number): Step {
    writeNumber(NOW, now);
    loadPolicy(this.policy);
    load(CALL, this);
    core.call_tick();
    return readStep();
  }

  delay(): number {
    return readNumber(REMAINING);
  }

  context(attempt: number, abortAt: number): Attempt {
    return new Attempt(attempt, abortAt);
  }

  run<T>(fn: Work<T>, context: Attempt): T {
    return fn(context);
  }

  end(): void {
    forget(CALL, this);
  }

  succeed(): void {}

  follows(): void {}

  abandon(): undefined {}

  refused(): undefined {}
}

const readStep = (): Step => ({ codes: stepCodes(), at: readNumber(AT), wakeAt: Infinity, attempt: stepAttempt() });
