/** `fetch` with retries for pages to which every kilobyte counts. It reads `Retry-After` and neither guards nor quotas. */
import { PERMANENT } from "../codes.js";
import { kindOfStatus } from "../error_names.js";
import {
  type Fetch,
  type FetchWith,
  MEGABYTE,
  markedFront,
  nothing,
  plainOf,
  reads,
  sendingOf,
  waitForBody,
} from "../fronts/request.js";
import type { FailureKind, StopReason } from "../words.js";
import { type AttemptContext, outcomeOf, type RetriedEvent, type RetryOptions, type Verdict } from "./index.js";
import { policyOf } from "./policy.js";
import { KINDS } from "./rules.js";
import { run } from "./run.js";

export { type Outcome, outcomeOf, type RetryOptions } from "./index.js";

/** Options of the front, or of one call. */
export type FetchOptions = RetryOptions & {
  /** True if a request of any method may run twice, false if none may. */
  idempotent?: boolean | null | undefined;
  /** The most bytes of an answer that are read in its attempt, and of a stream that are recorded; 1 MB unless given. */
  body?: number | null | undefined;
};

/** The `fetch` of the front: as the global one, with options for one call. */
export type ResilientFetch = FetchWith<FetchOptions>;

/** The hint of an answer in milliseconds: a number of them, of seconds, or a date. NaN without one. The last of several counts. */
function hintOf(headers: Headers): number {
  const ms = Number.parseFloat(headers.get("retry-after-ms") as string);
  const after = headers.get("retry-after") as string;
  if (ms >= 0) return ms;
  return /^[\d, ]+$/.test(after) ? (after.split(",").pop() as never as number) * 1000 : Date.parse(after) - Date.now();
}

/** The verdict on a failure of a request; `idempotent` is true for a request that may run twice. */
function verdictOn(failure: unknown, idempotent: boolean): Verdict {
  if (!(failure instanceof Response)) {
    const { code, cause } = Object(failure);
    // What comes again, and codes of Node, Bun and undici for requests that were never sent. Browsers never say so.
    if (/redirect|cert/.test(cause?.message)) return false;
    const isUnsent = /^(ECONNREF|ENOTFOUND|EAI_AGAIN|UND_ERR_CONN|ConnectionRef)/.test(cause?.code ?? code);
    return idempotent || isUnsent ? undefined : false;
  }
  const { status, headers } = failure;
  const kind = kindOfStatus(status);
  const mayComeAgain = kind !== PERMANENT && headers.get("x-should-retry") !== "false";
  const isAllowed = idempotent || status === 429 || status === 425;
  return mayComeAgain && isAllowed && { kind: KINDS[kind - 1] as FailureKind, hint: hintOf(headers) };
}

/** Returns a `fetch` whose requests are tried again. */
export function resilientFetch(given: FetchOptions & { fetch?: Fetch | null | undefined } = {}): ResilientFetch {
  const { fetch, idempotent, body, ...common } = given;
  policyOf(common);
  const plain = plainOf<Fetch>(fetch ?? globalThis.fetch);
  return markedFront(async (input, { retry: own, ...init } = {}) => {
    if (own === false) return plain(input, init);
    const { idempotent: repeats = idempotent, body: most = body ?? MEGABYTE, ...options } = { ...common, ...own };
    const sending = sendingOf(plain, input, init, most as number);
    const mayRepeat = repeats ?? sending.idempotent;
    const policy = policyOf(options);
    let isUsed: boolean | undefined;
    let isFailed: boolean | undefined;
    const send = async (attempt: AttemptContext): Promise<Response> => {
      const answer = await sending.send(policy.limit < Infinity ? attempt.signal : undefined);
      if (answer.status >= 400) throw answer;
      return waitForBody(answer, most as number);
    };
    const when = (failure: unknown): Verdict => {
      const verdict = options.when?.(failure) ?? verdictOn(failure, mayRepeat);
      isUsed = verdict !== false && !sending.canSend();
      return isUsed ? false : verdict;
    };
    const onRetry = (event: RetriedEvent): void => {
      options.onRetry?.(event);
      // The connection serves the next attempt if the body is small and comes soon.
      reads(event.error as Response, 65536, 500).catch(nothing);
    };
    try {
      return await run(send, policy, { ...options, ...sending, when, onRetry, isOnce: !mayRepeat });
    } catch (failure) {
      isFailed = true;
      if (isUsed) Object(outcomeOf(failure)).reason = "body" satisfies StopReason;
      if (failure instanceof Response) return failure;
      throw failure;
    } finally {
      sending.end(isFailed);
    }
  }, plain);
}
