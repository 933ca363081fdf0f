/** A retry strategy of the AWS SDK for JavaScript, version 3. */
import type { Steps } from "../steps.js";
import { frontOfSteps, type GivenOptions } from "./http.js";

/** What the SDK knows of an operation: how many attempts failed, and how long to sleep. */
const tokenOf = (steps: Steps, failures: number, delayMs: number) => ({
  steps,
  getRetryCount: () => failures,
  getRetryDelay: () => delayMs,
});
type Token = ReturnType<typeof tokenOf>;

/** A strategy for `new S3Client({ retryStrategy: retryStrategy() })`. Every operation of AWS may run twice, unless `idempotent` is false. */
export function retryStrategy(given?: GivenOptions) {
  const front = frontOfSteps(given);
  return {
    async acquireInitialRetryToken(scope: string): Promise<Token> {
      const options = front.optionsOf({ method: "AWS", url: undefined, idempotent: true });
      return tokenOf(front.policy.start({ ...options, key: options.key || scope }), 0, 0);
    },
    async refreshRetryTokenForRetry(token: Token, { error }: { readonly error?: unknown }): Promise<Token> {
      const step = token.steps.failed(error);
      if (step === undefined) throw error;
      return tokenOf(token.steps, token.getRetryCount() + 1, step.delayMs);
    },
    recordSuccess: ({ steps }: Token): void => steps.succeeded(),
  };
}
