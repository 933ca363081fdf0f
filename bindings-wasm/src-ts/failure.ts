/** From an error to what a decision needs of it: its kind and what the server said. */
import { readBigint, readNumber, SPAN, wasm, writeBigint, writeNumber, writeText } from "./core.js";
import { NOT_A_DURATION, problem, UNKNOWN_FAILURE_KIND } from "./errors.js";
import { type FailureKind, kindCode, kindWord, PERMANENT, TIMEOUT } from "./words.js";

/** When the server wants to be asked again: from now on in milliseconds, `"2s"`, nanoseconds as a bigint, or never. */
export type Hint = number | bigint | string | null | undefined;

/** One failed attempt. */
export interface Failure {
  readonly kind: FailureKind;
  readonly hint?: Hint;
}

/**
 * What a `when` answers: true to retry, false not to, a kind, a kind with a hint, or undefined for "as by default".
 */
export type Verdict = boolean | FailureKind | Failure | null | undefined;

const NO_HINT = 2 ** 64;
const NEVER = (1n << 64n) - 2n;
const TRANSIENT = 1;

/** The longest span there is, 2^63-1 ns, has this as its nearest double. */
export const LONGEST = 2 ** 63;

/** Writes a hint for the core. NaN is none, a time in the past is now, and what is too long is the longest there is. */
function writeHint(hint: Hint): void {
  wasm();
  if (hint === "never") {
    writeBigint(SPAN, NEVER);
  } else if (typeof hint === "string") {
    if (wasm().duration(writeText(hint)) === 0) throw problem(NOT_A_DURATION, "hint", hint);
  } else if (typeof hint === "bigint") {
    writeBigint(SPAN, hint < 0n ? 0n : hint < NEVER ? hint : NEVER - 1n);
  } else if (hint === undefined || hint === null || Number.isNaN(hint)) {
    writeNumber(SPAN, Infinity);
  } else if (typeof hint === "number") {
    writeNumber(SPAN, Math.min(Math.max(Math.floor(hint * 1e6 + 0.5), 0), LONGEST));
  } else {
    throw problem(NOT_A_DURATION, "hint", hint);
  }
}

/** The hint that is written, in milliseconds. */
export function readHint(): number | "never" | undefined {
  const nanos = readNumber(SPAN);
  return nanos === Infinity ? undefined : nanos >= NO_HINT ? "never" : nanos / 1e6;
}

/** The failure that is written; a hint that milliseconds would round is said in nanoseconds. */
function readFailure(kind: number): Failure {
  const hint = readHint();
  const rounds = typeof hint === "number" && readNumber(SPAN) > Number.MAX_SAFE_INTEGER;
  return { kind: kindWord(kind), hint: rounds ? readBigint(SPAN) : hint };
}

/** Writes a failure's hint and says its kind's number. */
export function writeFailure(failure: Failure | FailureKind): number {
  const isWord = typeof failure === "string";
  const word: unknown = isWord ? failure : failure?.kind;
  const kind = kindCode(word);
  if (kind === 0) throw problem(UNKNOWN_FAILURE_KIND, "failure", word);
  writeHint(isWord ? undefined : failure.hint);
  return kind;
}

/** The same for the answer of a `when`. */
export function writeVerdict(verdict: Verdict, error: unknown): number {
  if (verdict === false) return PERMANENT;
  if (verdict === undefined || verdict === null) return writeDefault(error);
  if (verdict === true) {
    const kind = writeDefault(error);
    return kind === PERMANENT ? TRANSIENT : kind;
  }
  return writeFailure(verdict);
}

/**
 * What an HTTP answer means; undefined when its status is no failure. `retryAfter` is its Retry-After header.
 */
export function httpFailure(status: number, retryAfter?: string | null): Failure | undefined {
  const kind = writeHttp(status, retryAfter);
  return kind === 0 ? undefined : readFailure(kind);
}

function writeHttp(status: number, retryAfter: string | null | undefined): number {
  const core = wasm();
  const code = status >= 0 && status <= 0xffffffff ? status : 0;
  return core.http(code, typeof retryAfter === "string" ? writeText(retryAfter) : -1);
}

/** How browsers and runtimes word a lost connection, for which they all throw a TypeError. */
const NETWORK =
  /^(fetch failed|failed to fetch|networkerror|network error|network request failed|network connection lost|a network error|load failed|terminated|the (internet|network) connection)/i;

/** Errors that a program throws about itself. */
const OWN = new Set([
  "TypeError",
  "ReferenceError",
  "SyntaxError",
  "RangeError",
  "EvalError",
  "URIError",
  "AssertionError",
  "ConfigError",
  "AbortError",
  "DataCloneError",
]);

/**
 * The default classification. Errors with an HTTP status are judged by it, timeouts and lost connections are retried, the
 * program's own mistakes are not, and any other error is taken for transient.
 */
export function classify(error: unknown): Failure {
  const kind = writeDefault(error);
  return readFailure(kind);
}

interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  headers?: unknown;
  response?: { status?: unknown; headers?: unknown } | null;
}

function writeDefault(error: unknown): number {
  if (typeof error !== "object" || error === null) return plain(TRANSIENT);
  const { name, message, code, status, statusCode, headers, response } = error as ErrorLike;
  const answer = typeof response === "object" && response !== null ? response : undefined;
  for (const number of [status, statusCode, answer?.status]) {
    if (typeof number !== "number") continue;
    const kind = writeHttp(number, retryAfter(headers) ?? retryAfter(answer?.headers));
    if (kind !== 0) return kind;
  }
  if (name === "TimeoutError" || code === "ETIMEDOUT") return plain(TIMEOUT);
  const lost = name === "TypeError" && NETWORK.test(String(message));
  return plain(!lost && OWN.has(name as string) ? PERMANENT : TRANSIENT);
}

/** A kind without a hint. */
function plain(kind: number): number {
  writeHint(undefined);
  return kind;
}

/** The Retry-After header of a `Headers` or a plain object. */
function retryAfter(headers: unknown): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const { get } = headers as { get?: unknown };
  const value: unknown =
    typeof get === "function"
      ? get.call(headers, "retry-after")
      : ((headers as Record<string, unknown>)["retry-after"] ?? (headers as Record<string, unknown>)["Retry-After"]);
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
}
