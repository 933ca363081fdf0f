/** Failures: the kind of an error, and the hint of the server's answer in it. */
import { answerOf, type HeadersLike, type Line, linesOf, readLines, wallNow } from "./answers.js";
import { LONGEST_NUMBER } from "./clock.js";
import { PERMANENT, TIMEOUT, TRANSIENT } from "./codes.js";
import {
  cluesOf,
  IS_UNSENT,
  isCancelled,
  isFaultOrAbort,
  kindOfAnswer,
  kindOfClues,
  kindOfGrpc,
  kindOfStatus,
} from "./error_names.js";
import { NEVER, NOT_A_DURATION, needs, problem, spanOf, timeRange, UNKNOWN_FAILURE_KIND, wrongType } from "./errors.js";
import type { Facts, Failure, Hint, JudgedFailure, Verdict } from "./hooks.js";
import { hot } from "./hot.js";
import type { Rules } from "./options.js";
import type { Nanos } from "./values.js";
import { clean, type ErrorLike, type FieldValue, hasAnswer, isObject, readable } from "./values.js";
import { type FailureKind, KINDS } from "./words.js";

const NO_RULE = 255;

/** The kind and the rule as one number of the core. */
export const codeOf = ({ kind, rule }: JudgedFailure): number => kind | (rule << 8);

/** A hint as the core's 64 bits. */
export const hintBits = (hint: Nanos): bigint => (hint === Infinity ? NEVER + 1n : BigInt(hint));

/** Reads the rules of a policy. */
export interface RulesReader {
  /** Reads a field, which is called `name` in a document; false for one that is no part of a rule. */
  set(name: string, field: FieldValue): boolean;
  /** The rules, undefined if there are none. */
  build(): Rules | undefined;
}

/** The additions of `holdoff/rules`. */
export interface Classifier {
  reader(): RulesReader;
  /** Returns the kind of a failure by rules and, above it, the number of its rule. `kind` is its kind without rules. */
  judge(rules: Rules, facts: ErrorFacts, idempotent: boolean, kind: number, error: unknown, names?: Names): number;
  isFailure(rules: Rules, status: number, idempotent: boolean): boolean;
  /** A failure as rules judge it by the facts of its error. */
  failure(rules: Rules | undefined, failure: Failure | FailureKind, facts: Facts): Failure;
}

/** Undefined unless the entry was imported. */
export let classifier: Classifier | undefined;

/** Brings the additions of `holdoff/rules`. */
export function useClassifier(added: Classifier): void {
  classifier = added;
}

/** The same; throws unless the entry was imported. */
export function classifierFor(path: string): Classifier {
  if (classifier === undefined) throw needs(path, "rules");
  return classifier;
}

/** Reads a hint into nanoseconds. NaN is no hint, a time in the past is now, and a longer time becomes the longest. */
function nanosOfHint(given: Hint): Nanos {
  if (given === "never") return NEVER;
  if (given === undefined || given === null || Number.isNaN(given)) return Infinity;
  if (typeof given === "bigint") return given < 0n ? 0 : given < NEVER ? given : NEVER - 1n;
  if (typeof given === "number") return Math.min(Math.max(Math.floor(given * 1e6 + 0.5), 0), LONGEST_NUMBER);
  const span = typeof given === "string" ? spanOf(given) : undefined;
  if (span === undefined) throw problem(NOT_A_DURATION, "hint", given);
  return span;
}

/** A hint in milliseconds. */
export const hintMs = (hint: Nanos): number | "never" | undefined =>
  hint === Infinity ? undefined : hint === NEVER ? "never" : Number(hint) / 1e6;

/** The same; nanoseconds as a bigint if milliseconds would round it. */
const exactHint = (hint: Nanos): number | bigint | "never" | undefined =>
  typeof hint === "bigint" && hint !== NEVER && hint > Number.MAX_SAFE_INTEGER ? hint : hintMs(hint);

export function publicFailure({ kind, hint, rule }: JudgedFailure): Failure {
  const failure = { kind: KINDS[kind] as FailureKind, hint: exactHint(hint) };
  return rule === 0 ? failure : { ...failure, rule: rule === NO_RULE ? 0 : rule };
}

/** Checks a failure that a program gives. */
export function checkedFailure(failure: Failure | FailureKind): JudgedFailure {
  const given: Partial<Failure> = clean(typeof failure === "string" ? { kind: failure } : Object(failure));
  const kind = kindOf(given.kind);
  const rule = given.rule === undefined ? 0 : given.rule & 255 || NO_RULE;
  return { kind, hint: nanosOfHint(given.hint), rule };
}

/** The number of a kind. Throws for an unknown kind. */
export function kindOf(word: unknown): number {
  const kind = Math.max(0, KINDS.indexOf(word as FailureKind, 1));
  if (kind === 0) throw problem(UNKNOWN_FAILURE_KIND, "failure", word);
  return kind;
}

/**
 * Judges a failure by the answer of a predicate, or by the default judgement held against the rules. A predicate that answers true means
 * the default judgement, but never permanent.
 */
export function judge(
  verdict: Verdict,
  read: (failure: unknown) => ErrorFacts,
  failure: unknown,
  rules: Rules | undefined,
  idempotent: boolean,
): JudgedFailure {
  if (verdict !== undefined && verdict !== null && verdict !== true)
    return checkedFailure(verdict === false ? "permanent" : verdict);
  const facts = read(failure);
  const judged = failureOf(facts);
  if (!verdict) return judgedByRules(rules, facts, idempotent, judged, failure);
  return judged.kind === PERMANENT ? { ...judged, kind: TRANSIENT } : judged;
}

/**
 * True for an HTTP answer that is a failure by the rules; false for every other value. With `asksAll` an object that is no answer is an
 * error.
 */
export function isFailedAnswer(
  value: unknown,
  rules: Rules | undefined,
  idempotent: boolean,
  asksAll: boolean,
): boolean {
  let status: number | undefined;
  try {
    status = answerOf(value)?.status;
  } catch {}
  if (asksAll && status === undefined && isObject(value))
    throw wrongType("result under whenResult: true", value, "an HTTP answer with a status");
  return status !== undefined && isFailure(rules, status, idempotent);
}

/** The facts of a value: status and header lines of an HTTP answer, nothing of any other value. */
export function factsOfAnswer(value: unknown): ErrorFacts {
  try {
    const answer = answerOf(value);
    const statuses = answer === undefined ? [] : [answer.status];
    const lines = linesOf(answer?.headers);
    return { ...NO_FACTS, isAnswer: true, statuses, lines, shouldRetry: shouldRetryOf(lines) };
  } catch {
    return NO_FACTS;
  }
}

/**
 * The failure of an HTTP answer; undefined if its status is no failure. `said` is its headers, or the value of its Retry-After
 * header alone, where a date is no hint.
 */
export function httpFailure(status: number, said?: HeadersLike | string | null): Failure | undefined {
  const code = integer(status);
  const isText = typeof said === "string";
  const hint = readLines(linesOf(isText ? { "retry-after": said } : said), isText ? undefined : wallNow(), code);
  const kind = kindOfStatus(code);
  return kind === 0 ? undefined : publicFailure({ kind, hint, rule: 0 });
}

/** The failure of a gRPC status; undefined for OK. `pushback` is its `grpc-retry-pushback-ms`. */
export function grpcFailure(code: number, pushback?: string | null): Failure | undefined {
  const hint = readLines(typeof pushback === "string" ? [["grpc-retry-pushback-ms", pushback]] : [], undefined, 0);
  const kind = kindOfGrpc(integer(code, 2));
  return kind === 0 ? undefined : publicFailure({ kind, hint, rule: 0 });
}

/**
 * The hint of header lines: `Retry-After`, its forms in milliseconds, quotas (`RateLimit` and its like) and gRPC's pushback. A date
 * needs the time: `wall`, milliseconds like `Date.now()`, which it is unless given, nanoseconds as a bigint, or null for unknown. A
 * quota counts for less when the answer's `status` is neither 429 nor 503.
 */
export function hintOf(
  headers: HeadersLike,
  { status = 0, wall }: { status?: number; wall?: number | bigint | null } = {},
): number | bigint | "never" | undefined {
  if (typeof wall === "number" && !(wall >= 0 && wall <= Number.MAX_SAFE_INTEGER)) throw timeRange("wall", wall);
  const nanos = typeof wall === "number" ? BigInt(Math.floor(wall)) * 1_000_000n : wall;
  return exactHint(
    readLines(linesOf(headers), nanos === undefined ? wallNow() : (nanos ?? undefined), integer(status)),
  );
}

/** Reads a number of 32 bits; any other value becomes one that no rule names. */
export const integer = (value: unknown, otherwise = 0): number =>
  typeof value === "number" && value >= 0 && value <= 0xffffffff ? Math.floor(value) : otherwise;

/**
 * The default classification. Errors with an HTTP status or a gRPC code are judged by it, timeouts and lost connections are
 * retried, the program's own mistakes are not, and any other error is taken for transient.
 */
export function classify(error: unknown): Failure {
  return publicFailure(failureOf(factsOf(error)));
}

/** The same, judged by rules. */
export function classifyBy(rules: Rules | undefined, error: unknown, idempotent: boolean): Failure {
  return publicFailure(judge(undefined, factsOf, error, rules, idempotent));
}

/** True if an HTTP answer is a failure. */
export function isFailure(rules: Rules | undefined, status: number, idempotent: boolean): boolean {
  const code = integer(status);
  return rules && classifier ? classifier.isFailure(rules, code, idempotent) : code >= 400;
}

/** The codes of an error and of its causes, and the names of its class and of its base classes. */
export interface Names {
  readonly codes: readonly unknown[];
  readonly types: readonly unknown[];
}

/** The facts of an error. All of them are read before the core is called: a getter may run other operations. */
export interface ErrorFacts {
  /** True for a value whose status is that of an answer. */
  readonly isAnswer: boolean;
  /** The lists of the client table that have the error or a cause of it, as bits. */
  readonly clues: number;
  /** The kind of an error that has neither status nor code. */
  readonly kind: number;
  readonly statuses: readonly number[];
  readonly lines: readonly Line[];
  readonly grpc: number | undefined;
  /** True for a program's own mistake and for a caller's wish: only a rule that names its class applies. */
  readonly programError: boolean;
  /** True if the request was never sent. */
  readonly unsent: boolean;
  /** The header `x-should-retry`: 1 for true, 2 for false, 0 for none. */
  readonly shouldRetry: number;
}

export const NO_FACTS: ErrorFacts = {
  isAnswer: false,
  clues: 0,
  kind: TRANSIENT,
  statuses: [],
  lines: [],
  grpc: undefined,
  programError: false,
  unsent: false,
  shouldRetry: 0,
};

/** The value of the last header `x-should-retry`. */
function shouldRetryOf(lines: readonly Line[]): number {
  let last = 0;
  for (const [name, value] of lines) {
    const said = /^x-should-retry$/i.test(name) && /^\s*(true|false)\s*$/.exec(value);
    if (said) last = said[1] === "true" ? 1 : 2;
  }
  return last;
}

/** The facts of an error; none where reading them throws, so that the user's own error comes out. */
export function factsOf(error: unknown): ErrorFacts {
  try {
    return readFacts(error);
  } catch {
    return NO_FACTS;
  }
}

function readFacts(error: unknown): ErrorFacts {
  const clues = cluesOf(error);
  const kind = kindOfClues(clues);
  if (!isObject(error)) return { ...NO_FACTS, clues, kind };
  const known = readable(error);
  const { code, metadata, lastError } = known;
  // The error of a client that has retried holds the latest one.
  const answer = answerIn(known) ?? (isObject(lastError) ? answerIn(readable(lastError)) : undefined);
  // Other errors have numbers for codes, too: a DOMException, say.
  const grpc = typeof code === "number" && isObject(metadata) ? code : undefined;
  if (clues === 0 && answer === undefined && grpc === undefined) return NO_FACTS;
  // octokit gives 500 to an error without an answer.
  const isAnswered = answer && (known.response || !(known.name === "HttpError" || isCancelled(clues)));
  const statuses = isAnswered ? answer.statuses : [];
  const lines = grpc !== undefined && !isAnswered ? linesOf(metadata) : (answer?.lines ?? []);
  const isJudged = isAnswered || grpc !== undefined;
  return {
    clues,
    kind,
    statuses,
    lines,
    grpc,
    programError: grpc === 1 || (!isJudged && isFaultOrAbort(clues)),
    unsent: !isJudged && (clues & IS_UNSENT) > 0,
    shouldRetry: shouldRetryOf(lines),
    isAnswer: false,
  };
}

/** The statuses and header lines of the answer in an error; undefined without a status. */
function answerIn(error: ErrorLike): Pick<ErrorFacts, "statuses" | "lines"> | undefined {
  if (!hasAnswer(error)) return undefined;
  const { status, statusCode, headers, responseHeaders, response, $metadata, $response } = error;
  const inner = clean(response);
  const given = [status, statusCode, inner?.status, inner?.statusCode, clean($metadata)?.httpStatusCode];
  const statuses = given.filter((one) => typeof one === "number");
  let lines: Line[] = [];
  for (const one of [headers, responseHeaders, inner?.headers, clean($response)?.headers])
    if (statuses.length > 0 && lines.length === 0) lines = linesOf(one);
  return statuses.length > 0 ? { statuses, lines } : undefined;
}

/** The facts of an attempt that was over its limit. */
export const factsOfTimeout = (): ErrorFacts => ({ ...NO_FACTS, kind: TIMEOUT });

/** True if an error is a program's own mistake or a caller's wish, which say nothing about the other side. */
export function isProgramError(error: unknown): boolean {
  const { programError, clues } = factsOf(error);
  return programError || isCancelled(clues);
}

function failureOf({ clues, kind: otherwise, statuses, lines, grpc, isAnswer }: ErrorFacts): JudgedFailure {
  for (const status of statuses) {
    const code = integer(status);
    const found = kindOfStatus(code);
    // The header lines of an answer count below 400, too: a 202 says when to look again.
    if (found !== 0 || isAnswer)
      return { kind: kindOfAnswer(found || otherwise, clues), hint: readLines(lines, wallNow(), code), rule: 0 };
  }
  const found = statuses.length === 0 && grpc !== undefined ? kindOfGrpc(integer(grpc, 2)) : 0;
  // A client that throws about a redirect follows no further one.
  const kind = found || (statuses.some((status) => status >= 300) ? PERMANENT : otherwise);
  return { kind, hint: found === 0 ? Infinity : readLines(lines, undefined, 0), rule: 0 };
}

/** Holds a failure against the server's word and the rules (spec 8.4 to 8.8). */
export function judgedByRules(
  rules: Rules | undefined,
  facts: ErrorFacts,
  idempotent: boolean,
  judged: JudgedFailure,
  error: unknown,
  names?: Names,
): JudgedFailure {
  // The rules of a preset hold for kinds alone, which the machine knows without them.
  if (rules && classifier) {
    const code = classifier.judge(rules, facts, idempotent, judged.kind, error, names);
    return { kind: code & 255, hint: judged.hint, rule: code >>> 8 };
  }
  const advice = facts.programError ? 0 : facts.shouldRetry;
  // A server says by 425 that it has not begun (RFC 8470).
  const safe = idempotent || facts.unsent || facts.statuses.includes(425);
  // Few failures need the core here.
  return safe && advice === 0 ? judged : { ...judged, kind: hot().advised(judged.kind, advice, safe ? 1 : 0) };
}
