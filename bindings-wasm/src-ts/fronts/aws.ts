/** A retry strategy of the AWS SDK for JavaScript, version 3. */
import type { Steps } from "../steps.js";
import { Front, type GivenOptions } from "./http.js";

export type { FrontOptions } from "./http.js";

/** A token of the SDK: how many attempts failed, and how long to sleep. */
interface Token {
  getRetryCount(): number;
  getRetryDelay(): number;
}

/** What the SDK asks for. */
export interface RetryStrategy {
  acquireInitialRetryToken(scope: string): Promise<Token>;
  refreshRetryTokenForRetry(token: Token, failure: { readonly error?: unknown }): Promise<Token>;
  recordSuccess(token: Token): void;
}

class Turn implements Token {
  readonly steps: Steps;
  private readonly failures: number;
  private readonly delayMs: number;

  constructor(steps: Steps, failures: number, delayMs: number) {
    this.steps = steps;
    this.failures = failures;
    this.delayMs = delayMs;
  }

  getRetryCount(): number {
    return this.failures;
  }

  getRetryDelay(): number {
    return this.delayMs;
  }

  next(failure: unknown): Turn {
    const step = this.steps.failed(failure);
    if (step === undefined) throw failure;
    return new Turn(this.steps, this.failures + 1, step.delayMs);
  }
}

/** A strategy for `new S3Client({ retryStrategy: retryStrategy() })`. Every operation of AWS may run twice, unless `idempotent` is false. */
export function retryStrategy(given?: GivenOptions): RetryStrategy {
  const front = new Front(given);
  return {
    async acquireInitialRetryToken(scope) {
      const options = front.optionsOf({ method: "AWS", url: undefined, idempotent: true });
      return new Turn(front.policy.start({ ...options, key: options.key || scope }), 0, 0);
    },
    refreshRetryTokenForRetry: async (token, { error }) => (token as Turn).next(error),
    recordSuccess: (token) => (token as Turn).steps.succeeded(),
  };
}
