/** `fetch` under a policy. */
import { Front, type FrontCall, type FrontOptions, type GivenOptions, inFront } from "./http.js";
import { type Fetch, markedFront, plainOf, sendingOf, waitForBody } from "./request.js";

/** Options of a front of `fetch`. */
export type FetchOptions = FrontOptions & {
  /** The `fetch` that makes the requests; the global one unless given. */
  fetch?: Fetch | null | undefined;
};

/** The `fetch` of a front: as the global one, with options for one call. */
export type ResilientFetch = (
  input: string | URL | Request,
  init?: RequestInit & {
    /** Options of this call, or false for one plain request. */
    retry?: FrontCall | false | null | undefined;
  },
) => Promise<Response>;

/** Returns a `fetch` whose requests are tried again as the policy says. */
export function resilientFetch(given?: GivenOptions<FetchOptions>): ResilientFetch {
  const { fetch = undefined, ...options } = (
    Object.getPrototypeOf(given ?? {}) === Object.prototype ? given : {}
  ) as FetchOptions;
  return fetchBy(new Front(fetch ? options : given), fetch);
}

/** The `fetch` of a front. `seen` is given each answer in its attempt. */
export function fetchBy(
  front: Front,
  fetch: Fetch | null | undefined,
  seen?: (answer: Response) => void,
): ResilientFetch {
  const plain = plainOf<Fetch>(fetch ?? globalThis.fetch);
  return markedFront(async (input, { retry, ...init } = {}) => {
    if (retry === false) return plain(input, init);
    const own = retry ?? undefined;
    const most = front.bodyOf(own);
    const sending = sendingOf(plain, input, init, most);
    const isLimited = front.isLimited(own);
    let isFailed = true;
    try {
      const answer = await front.policy.retry<Promise<Response>>(
        async (attempt) => {
          const answer = await inFront(() => sending.send(isLimited ? attempt.signal : undefined));
          seen?.(answer);
          return front.policy.isFailure(answer.status) ? answer : waitForBody(answer, most);
        },
        front.optionsOf<Response>({ ...sending, url: input instanceof Request ? input.url : input }, own),
      );
      isFailed = front.policy.isFailure(answer.status);
      return answer;
    } finally {
      sending.end(isFailed);
    }
  }, plain);
}
