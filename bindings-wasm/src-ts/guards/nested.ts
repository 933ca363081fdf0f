/** Retries inside retries: what an attempt hands down to what runs inside it. */
import { wrongType } from "../errors.js";
import { kindOf } from "../failure.js";
import type { Failure } from "../hooks.js";
import { type AttemptToken, around } from "../host.js";
import { type FailureKind, KINDS } from "../words.js";
import { memory } from "./memory.js";

const FOREVER = 0xffffffff;
const NONE = new Uint32Array(4);

/** The token that an attempt hands to the retries inside it: its number, the limit of attempts, and whether one of them gave up. */
export class Token implements AttemptToken {
  /** The header that says which attempt a request is. */
  static readonly HEADER = "x-retry-attempt";
  /** The gRPC metadata that says how many attempts there were before. */
  static readonly GRPC = "grpc-previous-rpc-attempts";

  private readonly words: Uint32Array;
  /** True once a retry inside the attempt has given up. */
  declare isGivenUp: boolean;

  private constructor(words: Uint32Array) {
    this.words = words;
    // No number of it: tokens that say the same are equal.
    Object.defineProperty(this, "isGivenUp", { value: false, writable: true });
  }

  /** The token of attempt `attempt` of at most `attempts` (Infinity for ever), inside the retry that `parent` tells of. */
  static child(parent: AttemptToken | undefined, attempt: number, attempts: number): Token {
    checkCount(attempt, "attempt");
    if (attempts !== Infinity) checkCount(attempts, "attempts");
    writeToken(parent);
    memory().core.token_child(attempt, attempts === Infinity ? FOREVER : attempts);
    return readToken() as Token;
  }

  /**
   * From a value of `x-retry-attempt`; undefined when it is none. Read it only of a caller that you trust: a stranger who sends it turns
   * your retries off.
   */
  static fromHeader(value: string): Token | undefined {
    return read(value, 0);
  }

  /** From a value of `grpc-previous-rpc-attempts`; undefined when it is none. */
  static fromGrpc(value: string): Token | undefined {
    return read(value, 1);
  }

  /** @internal */
  static of(words: Uint32Array): Token {
    return new Token(words);
  }

  /** The number of the attempt, from 1. */
  get attempt(): number {
    return this.words[0] as number;
  }

  /** How many attempts all retries around may make together; Infinity for ever. */
  get allowed(): number {
    const allowed = this.words[1] as number;
    return allowed === FOREVER ? Infinity : allowed;
  }

  /** How many retries there are around. */
  get depth(): number {
    return this.words[2] as number;
  }

  /** The value of `x-retry-attempt`. */
  get header(): string {
    writeToken(this);
    return String(memory().core.token_value(0) >>> 0);
  }

  /** The value of `grpc-previous-rpc-attempts`; undefined for the first attempt, which has none. */
  get grpc(): string | undefined {
    writeToken(this);
    const before = memory().core.token_value(1) >>> 0;
    return before === 0 ? undefined : String(before);
  }
}

function checkCount(value: unknown, name: string): void {
  if (!(Number.isInteger(value) && (value as number) >= 1 && (value as number) < FOREVER)) {
    throw wrongType(name, value, "a whole number from 1 to 4294967294");
  }
}

function read(value: unknown, grpc: number): Token | undefined {
  if (typeof value !== "string") throw wrongType("token", value, "a text");
  memory().core.token_read(memory().writeText(value), grpc);
  return readToken();
}

/** Lays a token down. */
export function writeToken(token: AttemptToken | null | undefined): void {
  if (token !== undefined && token !== null && !(token instanceof Token)) throw wrongType("token", token, "a Token");
  memory().write("token", token?.["words"] ?? NONE);
}

/** The token that lies there. */
function readToken(): Token | undefined {
  const words = memory().copy("token");
  return words[2] === 0 ? undefined : Token.of(words);
}

const MODES = ["allow", "innermost", "outermost", "cap"] as const;

/** How many attempts a policy that may make `own` of them makes inside the retry that `token` tells of; Infinity for ever. */
export function nestedAttempts(
  mode: (typeof MODES)[number],
  token: AttemptToken | undefined,
  own: number,
  cap = 1,
): number {
  const code = MODES.indexOf(mode);
  if (code < 0) throw wrongType("mode", mode, `one of ${MODES.join(", ")}`);
  if (own !== Infinity) checkCount(own, "own");
  checkCount(cap, "cap");
  writeToken(token);
  const attempts = memory().core.nested_attempts(code, cap, own === Infinity ? FOREVER : own) >>> 0;
  return attempts === FOREVER ? Infinity : attempts;
}

/** The failure as a policy of that nesting sees it after an inner retry gave up on it. */
export function nestedFailure(mode: (typeof MODES)[number], failure: Failure | FailureKind): Failure {
  const nesting = MODES.indexOf(mode);
  if (nesting < 0) throw wrongType("mode", mode, `one of ${MODES.join(", ")}`);
  const { kind, hint } = typeof failure === "string" ? { kind: failure, hint: undefined } : failure;
  const code = memory().core.nested_failure(nesting, kindOf(kind));
  return { kind: KINDS[code] as FailureKind, hint };
}

/** Runs a function inside an attempt. */
export const within = <T>(token: Token, fn: () => T): T => (around.run ? around.run(token, fn) : fn());
