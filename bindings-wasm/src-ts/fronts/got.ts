/** Options of got that leave its retries to a policy. */
import { frontOfSteps, type GivenOptions, mayRepeat, type RequestFacts } from "./http.js";
import { isStream } from "./request.js";

/** The part of the options of a request that is used. */
type Request = Omit<RequestFacts, "idempotent"> & {
  headers: unknown;
  body?: unknown;
  isStream?: boolean;
  retry: object;
};

type Handler = <O, R>(options: O, next: (options: O) => R) => R;

/** Options for `got.extend(gotHooks())`. got makes the attempts, and the policy says when. Streams of got are left alone. */
export function gotHooks(given?: GivenOptions): { handlers: Handler[] } {
  const front = frontOfSteps(given);
  const handler = (request: Request, next: (request: Request) => PromiseLike<unknown>): unknown => {
    const { method, url, headers, body, signal, isStream: isRead } = request;
    if (isRead) return next(request);
    const facts = { method, url, idempotent: mayRepeat(method, headers), signal, canSend: () => !isStream(body) };
    const steps = front.policy.start(front.optionsOf(facts));
    Object.assign(request.retry, {
      limit: Number.MAX_SAFE_INTEGER,
      // got takes 0 for no other attempt.
      calculateDelay: ({ error }: { error: unknown }) => {
        const step = steps.failed(error);
        return step ? Math.max(step.delayMs, 1) : 0;
      },
    });
    const answer = next(request);
    // An abort in a sleep ends the operation, too.
    const ended = (error: unknown) => signal?.aborted && steps.failed(error);
    answer.then((value) => steps.succeeded(value), ended);
    return answer;
  };
  return { handlers: [handler as never] };
}
