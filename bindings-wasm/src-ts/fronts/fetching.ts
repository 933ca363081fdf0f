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
// In Node an answer is an object of JavaScript, whose clone costs more than all the rest of a front.
const versions = (globalThis as { process?: { versions?: Record<string, string> } }).process?.versions;
const isNode = versions?.["undici"] && !versions["bun"] && !versions["deno"];
const decoder = new TextDecoder();

/** True for an answer whose body has so few bytes, by its headers. */
function isSmall({ body, headers }: Response, most: number): boolean {
  const length = headers.get("content-length");
  return !!body && length !== null && Number(length) <= most && !headers.has("content-encoding");
}

/** Gives an answer its body back, whose bytes were read. */
function withBytes(answer: Response, bytes: ArrayBuffer): Response {
  let copy: Response | undefined;
  let isUsed = false;
  const real = (): Response => {
    if (isUsed) throw new TypeError("Body is unusable: Body has already been read");
    return (copy ??= new Response(bytes, answer));
  };
  const text = () => decoder.decode(bytes);
  const quick: Record<string, () => unknown> = { text, json: () => JSON.parse(text()), arrayBuffer: () => bytes };
  for (const name of ["blob", "bytes", "formData", ...Object.keys(quick)]) {
    const value = async () => {
      if (copy || isUsed || !quick[name]) return real()[name as "text"]();
      isUsed = true;
      return quick[name]();
    };
    Object.defineProperty(answer, name, { value });
  }
  return Object.defineProperties(answer, {
    clone: { value: () => Object.defineProperty(real().clone(), "url", { value: answer.url }) },
    body: { get: () => (isUsed ? null : real().body) },
    bodyUsed: { get: () => isUsed || !!copy?.bodyUsed },
  });
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
      return isNode && isSmall(answer, most)
        ? withBytes(answer, await answer.arrayBuffer())
        : waitForBody(answer, most);
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
