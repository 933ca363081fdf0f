/** The engine of operations without guards. It loads the core at the first failure. */
import { REFUSED, shortage } from "./budgets.js";
import { type Clock, nanosOf, system } from "./clock.js";
import { seedOf } from "./errors.js";
import { codeOf } from "./failure.js";
import type { JudgedFailure } from "./hooks.js";
import {
  ATTEMPT,
  Attempt,
  type CompiledPolicy,
  type Engine,
  type EngineStep,
  type HostOptions,
  SLEEP,
  type Work,
} from "./host.js";
import {
  call,
  functions,
  hot,
  readShortage,
  readStep,
  type StateOwner,
  stepCodes,
  write,
  writeExactly,
  writePolicy,
} from "./hot.js";
import { NO_LIMIT } from "./options.js";
import { HINT, NOW, SEED } from "./places.js";

/** The number of the cause `hint`. */
const HINTED = 2;

export class Unguarded<V, F> implements Engine, StateOwner {
  readonly discardsAsleep = true;
  /** The core's state, while that of another operation is in the core's memory. */
  state: Uint32Array | undefined = undefined;
  private readonly policy: CompiledPolicy;
  private readonly options: HostOptions<V, F> | undefined;
  /** True once the core knows of this operation. */
  private known = false;
  /** The time of the latest failure. */
  private failedAt = 0;
  /** The price of the latest retry, and that of all, in thousandths of a token; 0 if there was none, or no budget. */
  private price = 0;
  private paid = 0;
  private readonly noted: number;
  /** True if that retry has been paid for and has not begun. */
  private isWaiting = false;

  /** `noted` is the number of the latest refusal of the policy's budgets when the operation began. */
  constructor(policy: CompiledPolicy, options: HostOptions<V, F> | undefined, noted: number) {
    this.noted = noted;
    this.policy = policy;
    this.options = options;
  }

  private get key(): string {
    return this.options?.key ?? "";
  }

  private get clock(): Clock {
    return this.options?.clock ?? system;
  }

  begin(): EngineStep {
    const { limit } = this.policy;
    return { codes: ATTEMPT, at: limit < NO_LIMIT ? limit : Infinity, wakeAt: Infinity, attempt: 1 };
  }

  fail(
    { attempt }: Attempt,
    judged: JudgedFailure,
    _failure: unknown,
    now: number,
    epoch: number,
    isExact: boolean,
  ): EngineStep {
    const core = hot();
    const { words, budgets } = this.policy;
    call.load(this);
    if (!this.known) {
      write(SEED, seedOf(this.options?.seed));
      core.underway();
      this.known = true;
    }
    write(HINT, judged.hint);
    write(NOW, now);
    (isExact ? writeExactly : writePolicy)(words);
    core.fail(attempt, codeOf(judged));
    this.failedAt = now;
    const codes = stepCodes();
    // A sleep for a server's hint is free, and its budget is not asked.
    if ((codes & 255) === SLEEP && codes >>> 24 !== HINTED && budgets?.isFor(words)) {
      this.price = budgets.withdraw(this.key, judged.kind, nanosOf(epoch), this.noted);
      if (this.price !== REFUSED) {
        this.paid += this.price;
        this.isWaiting = true;
      }
    }
    return readStep();
  }

  tick(now: number): EngineStep {
    write(NOW, now);
    writePolicy(this.policy.words);
    call.load(this);
    functions.tick();
    const step = readStep();
    if ((step.codes & 255) === ATTEMPT) this.isWaiting = false;
    return step;
  }

  hurry(now: number): EngineStep {
    write(NOW, now);
    call.load(this);
    functions.hurry();
    return this.tick(now);
  }

  delay(step: EngineStep): number {
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
    if (this.isWaiting) this.refund();
  }

  /** Gives back the price of a retry that never ran. */
  private refund(): void {
    this.isWaiting = false;
    let now = 0;
    try {
      now = nanosOf(this.clock.now());
    } catch {
      // Its tokens go back all the same, at the latest time that the budget has seen.
    }
    this.policy.budgets?.refund(this.key, this.price, now);
  }

  succeed(): void {
    const { budgets } = this.policy;
    if (budgets?.size) budgets.succeed(this.key, this.paid, this.clock);
  }

  shortage(): string {
    return shortage(readShortage(), 0, this.key);
  }

  follows(): void {}

  abandon(): undefined {}

  refused(): undefined {}
}
