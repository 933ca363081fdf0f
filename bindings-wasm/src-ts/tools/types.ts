/** The types of arguments and results of tools. */

import type { PolicyFields, PresetName } from "../fields.js";
import type { Length } from "../memory.js";
import type { Policy } from "../policy.js";
import type { FailureKind, InTime } from "../words.js";

/** A policy, its fields or the name of a preset. */
export type AnyPolicy = Policy | PolicyFields | PresetName;

/** One retry: what is waited before it and until then in all, in milliseconds, if attempts take no time. */
export interface Row {
  /** Which, from 1. */
  readonly retry: number;
  /** The shortest delay, whatever the draws before. */
  readonly min: number;
  /** The delay when every draw is 1/2. */
  readonly typical: number;
  readonly max: number;
  readonly minTotal: number;
  readonly typicalTotal: number;
  readonly maxTotal: number;
  /** The place of the retry before or after the deadline. */
  readonly inTime: InTime;
}

/** Something valid that is hardly meant. */
export interface Lint {
  /** Its number, the same in every language. */
  readonly code: number;
  /** The word for it, such as `no_jitter`. */
  readonly word: string;
  readonly text: string;
  /** The number in the policy, and the limit it is compared with; times in milliseconds. */
  readonly found: number | undefined;
  readonly limit: number | undefined;
}

/** An explanation: its rows as data, and everything as text. */
export interface Explanation {
  readonly rows: readonly Row[];
  readonly lints: readonly Lint[];
  /** The policy in words, a table of its retries, and what the linter says. The same text in every language. */
  toString(): string;
}

/** The options of an explanation. */
export interface ExplainOptions {
  /** The most rows. */
  rows?: number | null | undefined;
  /** The kind of the failures. */
  after?: FailureKind | null | undefined;
}

/** The options of lints. */
export interface LintOptions {
  /** The time that somebody waits for the operation. */
  within?: Length | null | undefined;
}

/** A policy read from a foreign document. */
export interface FromForm {
  readonly policy: Policy;
  /** The names of the types of errors that are never retried (Temporal). */
  readonly errorTypes: readonly string[];
}
