/** The kind of a failure by its HTTP status, or by the client table. */
import {
  CANCELLED,
  PERMANENT as CERTAIN,
  TIMEOUT as LATE,
  SPENT,
  THROTTLED as THROTTLING,
  UNSENT,
} from "./client_table.js";
import { PERMANENT, THROTTLED, TIMEOUT, TRANSIENT } from "./codes.js";
import { isObject, readable } from "./values.js";

/** How browsers and runtimes word a lost connection, for which they all throw a TypeError. */
export const NETWORK =
  /^(fetch failed|failed to fetch|(a |the )?network ?(error|request|connection)|load failed|terminated|the internet)/i;

/** The names of errors about the program itself. */
const PROGRAM_ERRORS = /^(Type|Reference|Syntax|Range|Eval|URI|Assertion|Config|DataClone)Error$/;

/**
 * True if two attempts in a row failed with the same `DOMException`: it is the reason of a signal that the attempts got from
 * elsewhere, and that stays aborted.
 */
export const isAbortAgain = (error: unknown, latest: unknown): boolean =>
  error === latest && error instanceof DOMException;

/** Bits for the lists of the client table that have an error or a cause of it, and one for a program's own mistake. */
export const IS_UNSENT = 1;
const IS_TIMEOUT = 2;
const IS_CANCELLED = 4;
const IS_PERMANENT = 8;
const IS_THROTTLED = 16;
const IS_MISTAKE = 32;
const IS_SPENT = 64;
const LISTS = [UNSENT, LATE, CANCELLED, CERTAIN, THROTTLING, PROGRAM_ERRORS, SPENT];

/** Finds a text that one of the lists has. Made by a function that bundlers drop where nothing is looked up. */
const ANY = /* @__PURE__ */ (() => new RegExp(LISTS.map(({ source }) => source).join("|")))();

/** The bits of short texts, most of which come again: names of classes, say. */
const bitsOfTexts = new Map<unknown, number>();

/** The bits of the lists that have a text. */
function cluesOfText(text: unknown): number {
  const known = bitsOfTexts.get(text);
  if (known !== undefined) return known;
  let clues = 0;
  if (typeof text !== "string") return clues;
  if (ANY.test(text)) for (const [at, list] of LISTS.entries()) if (list.test(text)) clues |= 1 << at;
  if (bitsOfTexts.size > 99) bitsOfTexts.clear();
  if (text.length < 40) bitsOfTexts.set(text, clues);
  return clues;
}

/** The bits of an error and of its causes. A thrown text or number is the reason of an abort. */
export function cluesOf(error: unknown, depth = 0): number {
  if (!isObject(error)) return depth === 0 && /^[sn]/.test(typeof error) ? IS_CANCELLED : 0;
  const { name, message, code, Code, sqlState, syscall, cause, lastError, errors } = readable(error);
  let clues = cluesOfText(name) | cluesOfText(message);
  if (code || Code || sqlState || syscall)
    clues |= cluesOfText(code) | cluesOfText(Code) | cluesOfText(sqlState) | cluesOfText(syscall);
  for (let of = error; (of = Object.getPrototypeOf(of)) && of !== Object.prototype; )
    clues |= cluesOfText(of.constructor?.name);
  clues &= ~IS_MISTAKE;
  if (depth === 0 && !(name === "TypeError" && NETWORK.test(String(message)))) clues |= cluesOfText(name) & IS_MISTAKE;
  if (depth === 4) return clues;
  clues |= cluesOf(cause, depth + 1) | cluesOf(lastError, depth + 1);
  if (!Array.isArray(errors) || errors.length === 0) return clues;
  // Of several causes together all must say that the request was never sent.
  const all = errors.map((one) => cluesOf(one, depth + 1));
  return clues | all.reduce((bits, one) => ((bits | one) & ~IS_UNSENT) | (bits & one & IS_UNSENT));
}

export const isCancelled = (clues: number): boolean =>
  (clues & (IS_CANCELLED | IS_TIMEOUT | IS_UNSENT)) === IS_CANCELLED;

/** True for a program's own mistake and for a caller's wish. */
export const isFaultOrAbort = (clues: number): boolean =>
  isCancelled(clues) || (clues & (IS_MISTAKE | IS_TIMEOUT | IS_PERMANENT)) === IS_MISTAKE;

/** The kind of an error without an answer (spec 8.16). */
export function kindOfClues(clues: number): number {
  if (clues & IS_TIMEOUT) return TIMEOUT;
  if (isCancelled(clues) || clues & (IS_PERMANENT | IS_MISTAKE | IS_SPENT)) return PERMANENT;
  return clues & IS_THROTTLED ? THROTTLED : TRANSIENT;
}

/** The kind of an answer's error, whose status has this kind (spec 8.17). */
export function kindOfAnswer(kind: number, clues: number): number {
  if (clues & IS_SPENT) return PERMANENT;
  return clues & IS_THROTTLED ? THROTTLED : kind === PERMANENT && clues & IS_TIMEOUT ? TIMEOUT : kind;
}

/** The kind of a gRPC status, 0 when it is no failure (spec 8.3). */
export const kindOfGrpc = (code: number): number =>
  code === 0 ? 0 : code === 4 ? TIMEOUT : code === 8 ? THROTTLED : code === 14 ? TRANSIENT : PERMANENT;

/** The kind of an HTTP status, 0 when it is no failure (spec 8.2). */
export function kindOfStatus(status: number): number {
  if (status >= 100 && status < 400) return 0;
  if (status === 408 || status === 504) return TIMEOUT;
  if (status === 429) return THROTTLED;
  return status === 425 || (status >= 500 && status < 600 && status !== 501 && status !== 505) ? TRANSIENT : PERMANENT;
}
