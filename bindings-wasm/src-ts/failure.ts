/** From an error to what a decision needs of it: its kind and what the server said. */
import { answerOf } from "./answer.js";
import { PERMANENT, TIMEOUT, TRANSIENT } from "./codes.js";
import { core, loadRules, readBigint, readNumber, SPAN, wasm, writeBigint, writeNumber, writeText } from "./core.js";
import { natureOf } from "./error_names.js";
import { NOT_A_DURATION, problem, TIME_RANGE, UNKNOWN_FAILURE_KIND } from "./errors.js";
import { type HeadersLike, type Line, linesOf, wallNow, writeLines } from "./headers.js";
import { type FailureKind, KINDS } from "./words.js";

/** When the server wants to be asked again: from now on in milliseconds, `"2s"`, nanoseconds as a bigint, or never. */
export type Hint = number | bigint | string | null | undefined;

/** One failed attempt. */
export interface Failure {
  readonly kind: FailureKind;
  readonly hint?: Hint;
}

/**
 * The answer of a `when`: true to retry, false not to, a kind, a kind with a hint, or undefined for the default. The answer of
 * a `whenResult`: true, a kind or a kind with a hint for a failure; false or undefined for a success.
 */
export type Verdict = boolean | FailureKind | Failure | null | undefined;

/** The facts about an error that the rules of a policy's `retryOn` look at. */
export interface Facts {
  /** Its HTTP status. */
  readonly status?: number | null | undefined;
  /** Its gRPC code. */
  readonly grpc?: number | null | undefined;
  readonly message?: string | null | undefined;
  /** True (the default) if the operation can run twice without harm. */
  readonly idempotent?: boolean | null | undefined;
}

/** The rules of a policy's `retryOn`: the core's words, and the patterns of all operations and of operations that run once. */
export interface Rules {
  readonly words: Uint32Array;
  readonly patterns: readonly [all: string[], nonIdempotent: string[]];
}

const NO_HINT = 2 ** 64;
const NEVER = (1n << 64n) - 2n;

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

/** The same; nanoseconds as a bigint if milliseconds would round it. */
function readExactHint(): number | bigint | "never" | undefined {
  const hint = readHint();
  return typeof hint === "number" && readNumber(SPAN) > Number.MAX_SAFE_INTEGER ? readBigint(SPAN) : hint;
}

const readFailure = (kind: number): Failure => ({ kind: KINDS[kind] as FailureKind, hint: readExactHint() });

/** A failure's kind, and its hint written. */
export function writeFailure(failure: Failure | FailureKind): number {
  const isWord = typeof failure === "string";
  const kind = kindOf(isWord ? failure : failure?.kind);
  writeHint(isWord ? undefined : failure.hint);
  return kind;
}

/** The number of a kind; throws when there is none such. */
export function kindOf(word: unknown): number {
  const kind = Math.max(0, KINDS.indexOf(word as FailureKind, 1));
  if (kind === 0) throw problem(UNKNOWN_FAILURE_KIND, "failure", word);
  return kind;
}

/** The same for the answer of a `when`; without one the default is held against the rules. */
export function writeVerdict(verdict: Verdict, error: unknown, rules?: Rules, idempotent = true): number {
  if (verdict === false) return PERMANENT;
  if (verdict === undefined || verdict === null) return writeJudged(error, rules, idempotent);
  if (verdict === true) {
    const kind = writeSeen(look(error));
    return kind === PERMANENT ? TRANSIENT : kind;
  }
  return writeFailure(verdict);
}

/**
 * The same for a value that a `whenResult` calls a failure: by true, what its status says if it is an HTTP answer, and never
 * permanent, as for a `when`. Its header lines count below 400, too: a 202 says when to look again.
 */
export function writeResult(verdict: Verdict, value: unknown): number {
  if (verdict !== true) return writeFailure(verdict as Failure | FailureKind);
  const kind = writeSeenIn(seenIn(value));
  return kind === PERMANENT ? TRANSIENT : kind;
}

/** The same for an HTTP answer, by the rules; 0 for an answer that is no failure, and for every other value. */
export function writeAnswer(value: unknown, rules: Rules | undefined, idempotent: boolean): number {
  const seen = seenIn(value);
  const status = seen.statuses[0];
  if (status === undefined || !isFailure(rules, status, idempotent)) return 0;
  const matches = rules !== undefined && matched(rules, value, idempotent);
  const kind = writeSeenIn(seen);
  return rules === undefined ? kind : judged(rules, kind, seen, matches, idempotent);
}

/** The facts of a value: status and header lines of an HTTP answer, nothing of any other value. */
function seenIn(value: unknown): Seen {
  const answer = answerOf(value);
  const statuses = answer === undefined ? [] : [answer.status];
  return { kind: TRANSIENT, statuses, lines: linesOf(answer?.headers), grpc: undefined, programError: false };
}

/** The kind of a value that is a failure, though its status may be none, and the hint written. */
function writeSeenIn(seen: Seen): number {
  writeLines(seen.lines, wallNow());
  return core.http(integer(seen.statuses[0])) || seen.kind;
}

/** The same for an attempt that was over its limit. */
export function writeTimeout(error: unknown, rules: Rules | undefined, idempotent: boolean): number {
  const seen: Seen = { kind: TIMEOUT, statuses: [], lines: [], grpc: undefined, programError: false };
  const matches = rules !== undefined && matched(rules, error, idempotent);
  const kind = writeSeen(seen);
  return rules === undefined ? kind : judged(rules, kind, seen, matches, idempotent);
}

/**
 * The failure of an HTTP answer; undefined if its status is no failure. `said` is its headers, or the value of its Retry-After
 * header alone, where a date is no hint.
 */
export function httpFailure(status: number, said?: HeadersLike | string | null): Failure | undefined {
  if (typeof said === "string") writeLines([["retry-after", said]]);
  else writeLines(linesOf(said), wallNow());
  const kind = wasm().http(integer(status));
  return kind === 0 ? undefined : readFailure(kind);
}

/** The failure of a gRPC status; undefined for OK. `pushback` is its `grpc-retry-pushback-ms`. */
export function grpcFailure(code: number, pushback?: string | null): Failure | undefined {
  writeLines(typeof pushback === "string" ? [["grpc-retry-pushback-ms", pushback]] : []);
  wasm().http(0);
  const kind = core.grpc(integer(code, 2));
  return kind === 0 ? undefined : readFailure(kind);
}

/**
 * The hint of header lines. A date needs the time: `now`, milliseconds like
 * `Date.now()`, which it is unless given, nanoseconds as a bigint, or null for unknown. A quota counts for less when the
 * answer's `status` is neither 429 nor 503.
 */
export function hintOf(
  headers: HeadersLike,
  { status = 0, now }: { status?: number; now?: number | bigint | null } = {},
): number | bigint | "never" | undefined {
  if (typeof now === "number" && !(now >= 0 && now <= Number.MAX_SAFE_INTEGER)) throw problem(TIME_RANGE, "now", now);
  const wall = typeof now === "number" ? BigInt(Math.floor(now)) * 1_000_000n : now;
  writeLines(linesOf(headers), wall === undefined ? wallNow() : (wall ?? undefined));
  wasm().http(integer(status));
  return readExactHint();
}

/** A number of 32 bits; what is none reads as another. */
const integer = (value: unknown, otherwise = 0): number =>
  typeof value === "number" && value >= 0 && value <= 0xffffffff ? value : otherwise;

/**
 * The default classification. Errors with an HTTP status or a gRPC code are judged by it, timeouts and lost connections are
 * retried, the program's own mistakes are not, and any other error is taken for transient.
 */
export function classify(error: unknown): Failure {
  return readFailure(writeSeen(look(error)));
}

/** The same, held against rules. */
export function classifyBy(rules: Rules | undefined, error: unknown, idempotent: boolean): Failure {
  return readFailure(writeJudged(error, rules, idempotent));
}

/** The failure as the rules judge it. */
export function judge(rules: Rules | undefined, failure: Failure | FailureKind, facts: Facts): Failure {
  const { status, grpc, message, idempotent } = facts;
  const mayRepeat = idempotent ?? true;
  const matches = rules !== undefined && matched(rules, { message: message ?? "" }, mayRepeat);
  let kind = writeFailure(failure);
  const seen: Seen = { kind, statuses: [integer(status)], lines: [], grpc: grpc ?? undefined, programError: false };
  if (rules !== undefined) kind = judged(rules, kind, seen, matches, mayRepeat);
  return readFailure(kind);
}

const NO_RULES = new Uint32Array(40);

/** True if an HTTP answer is a failure. */
export function isFailure(rules: Rules | undefined, status: number, idempotent: boolean): boolean {
  wasm();
  loadRules(rules?.words ?? NO_RULES);
  return core.is_failure(integer(status), idempotent ? 1 : 0) !== 0;
}

interface ErrorLike {
  name?: unknown;
  message?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
  headers?: unknown;
  metadata?: unknown;
  response?: { status?: unknown; headers?: unknown } | null;
}

/** The facts of an error. All of them are read before the core is called: a getter may run other operations. */
interface Seen {
  /** The kind of an error that has neither status nor code. */
  readonly kind: number;
  readonly statuses: readonly number[];
  readonly lines: readonly Line[];
  readonly grpc: number | undefined;
  /** True for a program's own mistake and for a caller's wish: rules do not apply. */
  readonly programError: boolean;
}

const NOTHING: Seen = { kind: TRANSIENT, statuses: [], lines: [], grpc: undefined, programError: false };

function look(error: unknown): Seen {
  if (typeof error !== "object" || error === null) return NOTHING;
  const known = error as ErrorLike;
  const { name, code, status, statusCode, response } = known;
  const answer = typeof response === "object" && response !== null ? response : undefined;
  const statuses: number[] = [];
  if (typeof status === "number") statuses.push(status);
  if (typeof statusCode === "number") statuses.push(statusCode);
  if (typeof answer?.status === "number") statuses.push(answer.status);
  let lines: Line[] = [];
  let grpc: number | undefined;
  if (typeof code === "number") {
    // Other errors have numbers for codes, too: a DOMException, say.
    const { metadata } = known;
    if (typeof metadata === "object" && metadata !== null) {
      grpc = code;
      if (statuses.length === 0) lines = linesOf(metadata);
    }
  }
  if (statuses.length > 0) lines = linesOf(known.headers);
  if (statuses.length > 0 && lines.length === 0) lines = linesOf(answer?.headers);
  const kind = natureOf(name, code, known);
  return { kind, statuses, lines, grpc, programError: kind === PERMANENT };
}

/** True if an error is a program's own mistake, which says nothing about the other side. */
export function isProgramError(error: unknown): boolean {
  const { programError, statuses, grpc } = look(error);
  return programError && statuses.length === 0 && grpc === undefined;
}

/** The kind of what was seen, and its hint written. */
function writeSeen({ kind, statuses, lines, grpc }: Seen): number {
  if (statuses.length > 0) {
    writeLines(lines, wallNow());
    for (const status of statuses) {
      const found = core.http(integer(status));
      if (found !== 0) return found;
    }
  } else if (grpc !== undefined) {
    writeLines(lines);
    core.http(0);
    const found = core.grpc(integer(grpc, 2));
    if (found !== 0) return found;
  }
  writeHint(undefined);
  return kind;
}

function writeJudged(error: unknown, rules: Rules | undefined, idempotent: boolean): number {
  const seen = look(error);
  if (rules === undefined) return writeSeen(seen);
  const matches = matched(rules, error, idempotent);
  const kind = writeSeen(seen);
  return kind === PERMANENT && seen.programError ? kind : judged(rules, kind, seen, matches, idempotent);
}

/** True if an error's message contains a pattern that counts. */
function matched({ words, patterns }: Rules, error: unknown, idempotent: boolean): boolean {
  wasm();
  loadRules(words);
  const list = patterns[core.patterns(idempotent ? 1 : 0) - 1];
  if (list === undefined) return false;
  const { message } = (typeof error === "object" && error !== null ? error : { message: error }) as ErrorLike;
  const text = typeof message === "symbol" ? "" : String(message ?? "");
  return list.some((pattern) => text.includes(pattern));
}

const NO_CODE = 0xffffffff;

function judged({ words }: Rules, kind: number, seen: Seen, matches: boolean, idempotent: boolean): number {
  loadRules(words);
  // A code that is none of the table reads as UNKNOWN.
  const grpc = seen.grpc === undefined ? NO_CODE : Math.min(integer(seen.grpc, 2), 254);
  return core.judge(kind, seen.statuses[0] ?? 0, grpc, matches ? 1 : 0, idempotent ? 1 : 0);
}
