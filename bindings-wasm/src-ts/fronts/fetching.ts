/** `fetch` under a policy. */

import type { AttemptContext } from "../host.js";
import { Policy } from "../policy.js";
import { Front, type FrontCall, type FrontOptions, type GivenOptions, inFront } from "./http.js";
import { type Fetch, type FetchWith, markedFront, plainOf, sendingOf, waitForBody } from "./request.js";

/** Options of a front of `fetch`. */
export type FetchOptions = FrontOptions & {
  /** The `fetch` that makes the requests; the global one unless given. */
  fetch?: Fetch | null | undefined;
};

/** The `fetch` of a front: as the global one, with options for one call. */
export type ResilientFetch = FetchWith<FrontCall>;

/** Options without the `fetch` below, and that. */
export function fetchOf(given: GivenOptions<FetchOptions> = {}): [Fetch | null | undefined, FrontOptions] {
  if (given instanceof Policy || typeof given === "string") return [undefined, { policy: given }];
  const { fetch, ...options } = given;
  return [fetch, options];
}

/** Returns a `fetch` whose requests are tried again as the policy says. */
export function resilientFetch(given?: GivenOptions<FetchOptions>): ResilientFetch {
  const [fetch, options] = fetchOf(given);
  return fetchBy(new Front(options), fetch);
}

/** The `fetch` of a front. `seen` is given each answer in its attempt. */
export function fetchBy(
  front: Front,
  fetch: Fetch | null | undefined,
  seen?: (answer: Response) => Promise<void>,
): ResilientFetch {
  const plain = plainOf<Fetch>(fetch ?? globalThis.fetch);
  return markedFront(async (input, { retry, ...init } = {}) => {
    if (retry === false) return plain(input, init);
    const most = front.bodyOf(retry);
    const { url = input as string | URL } = input as Partial<Request>;
    const sending = Object.assign(sendingOf(plain, input, init, most), { url });
    const isLimited = front.isLimited(retry);
    const attempt = async (context: AttemptContext): Promise<Response> => {
      const answer = await inFront(() => sending.send(isLimited ? context.signal : undefined));
      await seen?.(answer);
      return front.policy.isFailure(answer.status) ? answer : waitForBody(answer, most);
    };
    let isFailed = true;
    try {
      const answer = await front.run(attempt, sending, retry);
      isFailed = front.policy.isFailure(answer.status);
      return answer;
    } finally {
      sending.end(isFailed);
    }
  }, plain);
}
