/** Retries inside retries: what an attempt hands down to what runs inside it. Spec 30, as core/src/decide/guards/nested.rs has it. */
import { problem, WRONG_TYPE } from "../errors.js";
import { type Failure, kindOf } from "../failure.js";
import { type FailureKind, KINDS } from "../words.js";

/** The token that an attempt hands to the retries inside it: its number, and the limit of attempts. */
export class Token {
  /** The header that says which attempt a request is. */
  static readonly HEADER = "x-retry-attempt";
  /** The gRPC metadata that says how many attempts there were before. */
  static readonly GRPC = "grpc-previous-rpc-attempts";

  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** How many attempts all retries around may make together; Infinity for ever. */
  readonly allowed: number;
  /** How many retries there are around. */
  readonly depth: number;

  private constructor(parent: Token | undefined, attempt: number, attempts: number) {
    const allowed = (parent?.allowed ?? 1) * attempts;
    this.attempt = attempt;
    this.allowed = allowed < FOREVER ? allowed : Infinity;
    this.depth = (parent?.depth ?? 0) + 1;
  }

  /** The token of attempt `attempt` of at most `attempts` (Infinity for ever), inside the retry that `parent` tells of. */
  static child(parent: Token | undefined, attempt: number, attempts: number): Token {
    checkCount(attempt, "attempt");
    if (attempts !== Infinity) checkCount(attempts, "attempts");
    return new Token(checkToken(parent), attempt, attempts);
  }

  /** From a value of `x-retry-attempt`; undefined when it is none. */
  static fromHeader(value: string): Token | undefined {
    return Token.read(value, 0);
  }

  /** From a value of `grpc-previous-rpc-attempts`; undefined when it is none. */
  static fromGrpc(value: string): Token | undefined {
    return Token.read(value, 1);
  }

  /** The token of a caller elsewhere, whose attempt is the number in the text and so many more. */
  private static read(value: unknown, more: number): Token | undefined {
    if (typeof value !== "string") throw problem(WRONG_TYPE, "token", value);
    const [, digits] = /^[ \t\n\f\r]*(\d+)[ \t\n\f\r]*$/.exec(value) ?? [];
    const attempt = Number(digits) + more;
    return attempt >= 1 && attempt <= FOREVER ? new Token(undefined, attempt, attempt) : undefined;
  }

  /** The value of `x-retry-attempt`. */
  get header(): string {
    return String(this.attempt);
  }

  /** The value of `grpc-previous-rpc-attempts`; undefined for the first attempt, which has none. */
  get grpc(): string | undefined {
    return this.attempt === 1 ? undefined : String(this.attempt - 1);
  }
}

/** As many attempts are for ever. */
export const FOREVER = 0xffffffff;

function checkCount(value: unknown, name: string): void {
  if (!(Number.isInteger(value) && (value as number) >= 1 && (value as number) < FOREVER)) {
    throw problem(WRONG_TYPE, name, value);
  }
}

/** A token, or undefined for none. */
export function checkToken(token: Token | null | undefined): Token | undefined {
  if (token !== undefined && token !== null && !(token instanceof Token)) throw problem(WRONG_TYPE, "token", token);
  return token ?? undefined;
}

const MODES = ["allow", "innermost", "outermost", "cap"] as const;
const INNERMOST = 1;
const OUTERMOST = 2;
const CAP = 3;

/** The behaviour of a policy inside another retry, or around one. */
export interface Nesting {
  /** The place of its word in {@link MODES}. */
  readonly mode: number;
  readonly cap: number;
}

/** How many attempts a policy of that nesting makes that may make `own`, inside the retry that `token` tells of. */
export function attemptsInside({ mode, cap }: Nesting, token: Token | undefined, own: number): number {
  if (mode === OUTERMOST && token !== undefined) return 1;
  return mode === CAP ? Math.max(Math.min(own, Math.floor(cap / (token?.allowed ?? 1))), 1) : own;
}

/** The kind of a failure on which a retry inside has given up. */
export const kindAfterInner = ({ mode }: Nesting, kind: number): number =>
  mode === INNERMOST ? kindOf("permanent") : kind;

function modeOf(mode: (typeof MODES)[number]): number {
  const code = MODES.indexOf(mode);
  if (code < 0) throw problem(WRONG_TYPE, "mode", mode);
  return code;
}

/** How many attempts a policy that may make `own` of them makes inside the retry that `token` tells of; Infinity for ever. */
export function nestedAttempts(mode: (typeof MODES)[number], token: Token | undefined, own: number, cap = 1): number {
  const code = modeOf(mode);
  if (own !== Infinity) checkCount(own, "own");
  checkCount(cap, "cap");
  return attemptsInside({ mode: code, cap }, checkToken(token), own);
}

/** The failure as a policy of that nesting sees it after an inner retry gave up on it. */
export function nestedFailure(mode: (typeof MODES)[number], failure: Failure | FailureKind): Failure {
  const code = modeOf(mode);
  const { kind, hint } = typeof failure === "string" ? { kind: failure, hint: undefined } : failure;
  return { kind: KINDS[kindAfterInner({ mode: code, cap: 1 }, kindOf(kind))] as FailureKind, hint };
}

/** Hands tokens down by itself, where the runtime has async contexts. */
interface Carrier {
  current(): Token | undefined;
  run<T>(token: Token, fn: () => T): T;
}

let carrier: Carrier | undefined;

/** Lets tokens be handed down by that. */
export function carryTokensBy(by: Carrier): void {
  carrier = by;
}

/** The token of what runs now. */
export const currentToken = (): Token | undefined => carrier?.current();

/** Runs a function inside an attempt. */
export const within = <T>(token: Token, fn: () => T): T => (carrier ? carrier.run(token, fn) : fn());
