/* tslint:disable */
/* eslint-disable */
import type { PresetName } from "../fields.js";
import type { Policy } from "../policy.js";
import type { FormName } from "../words.js";
import type { AnyPolicy, ExplainOptions, Explanation, FromForm, Lint, LintOptions } from "./types.js";



/**
 * Explains a policy, its fields or a preset: at most `rows` retries (all of them up to 100, 10 of one without an end), after
 * failures of the kind `after` (transient, and in the text every kind that has delays of its own).
 */
export function explain(policy: AnyPolicy, options?: ExplainOptions | null): Explanation;

/**
 * Reads a policy that another system wrote: JSON as text, or what was read from it. A gRPC service config with several
 * policies needs the index of one, `entry`. `errorTypes` are the names of the types of errors that are never retried
 * (Temporal).
 */
export function fromForm(form: FormName, document: string | object, options?: { entry?: number } | null): FromForm;

/**
 * The lint of nested retries, the outermost first: their attempts multiply. `found` is how often the innermost operation runs
 * at most, undefined for ever.
 */
export function lintNested(policies: readonly AnyPolicy[]): Lint | undefined;

/**
 * The lints of a policy, its fields or a preset, for a caller that waits `within` at most.
 */
export function lints(policy: AnyPolicy, options?: LintOptions | null): Lint[];

/**
 * The names of the presets.
 */
export function presets(): PresetName[];

/**
 * The policy as another system writes it. Throws a ConfigError when it cannot be said there.
 */
export function toForm(form: FormName, policy: Policy, options?: { errorTypes?: readonly string[] } | null): string;

/**
 * The policy as a JSON document, which is the same in every language and reads back to the same policy.
 */
export function toJson(policy: Policy): string;

/**
 * How long all sleeps take together if no draw spreads them, in milliseconds; undefined without an end. The deadline is not
 * looked at.
 */
export function totalWait(policy: AnyPolicy): number | undefined;

/**
 * The same in exact nanoseconds.
 */
export function totalWaitNanos(policy: AnyPolicy): bigint | undefined;
