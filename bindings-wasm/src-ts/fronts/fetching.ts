/** `fetch` under a policy. */

import type { AttemptContext } from "../host.js";
import { Policy } from "../policy.js";
import { sendBelow } from "../sending.js";
import { bytesOf, Front, type FrontCall, type FrontOptions, type GivenOptions } from "./http.js";
import { type Fetch, type FetchWith, markedFront, plainOf, sendingOf, waitForBody } from "./request.js";

/** Options of a front of `fetch`, and the `fetch` that makes the requests; the global one unless given. */
export type FetchOptions = FrontOptions & { fetch?: Fetch | null | undefined };

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

type Seen = (answer: Response) => Promise<void>;

/** Gives an answer its body back, whose bytes were read: in Node a clone would cost more than all the rest of a front. */
function withBytes(answer: Response, bytes: ArrayBuffer): Response {
  let copy: Response | undefined;
  const real = () => (copy ??= new Response(bytes, answer));
  const text = () => new TextDecoder().decode(bytes);
  const quick: Record<string, (() => unknown) | undefined> = { text, json: () => JSON.parse(text()) };
  const own: Record<string, () => unknown> = {
    body: () => real().body,
    bodyUsed: () => !!copy?.bodyUsed,
    clone: () => () => Object.defineProperty(real().clone(), "url", { value: answer.url }),
  };
  for (const name of ["text", "json", "blob", "bytes", "formData", "arrayBuffer"])
    own[name] = () => async () => {
      const read = quick[name];
      if (copy || !read) return real()[name as "text"]();
      // From now on the answer is as the client gave it: one whose body was read.
      for (const each in own) delete answer[each as never];
      return read();
    };
  for (const [name, get] of Object.entries(own)) Object.defineProperty(answer, name, { configurable: true, get });
  return answer;
}

/** The `fetch` of a front. `seen` is given each answer in its attempt. */
export function fetchBy(front: Front, fetch: Fetch | null | undefined, seen?: Seen): ResilientFetch {
  const plain = plainOf<Fetch>(fetch ?? globalThis.fetch);
  const below: Fetch = (input, init) => sendBelow(() => plain(input, init));
  return markedFront(async (input, { retry, ...init } = {}) => {
    if (retry === false) return plain(input, init);
    const most = bytesOf(retry?.body, front.body);
    const { url = input as string | URL } = input as Partial<Request>;
    const sending = Object.assign(sendingOf(below, input, init, most), { url });
    const attempt = async (context: AttemptContext): Promise<Response> => {
      const answer = await sending.send(front.isLimited(retry) ? context.signal : undefined);
      await seen?.(answer);
      if (front.policy.isFailure(answer.status)) return answer;
      return waitForBody(answer, most, withBytes);
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
