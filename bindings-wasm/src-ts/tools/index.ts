/** Explanations of policies, and policies as text: loaded only if imported. */

export type { FormName } from "../words.js";
export { explain, fromForm, lintNested, lints, presets, toForm, toJson, totalWait, totalWaitNanos } from "./core.js";
export type { AnyPolicy, ExplainOptions, Explanation, FromForm, Lint, LintOptions, Row } from "./types.js";
