/** Explanations of policies, and policies as text: loaded only if imported. */

export type { FormName } from "../words.js";
export { type FromForm, fromForm, toForm, toJson } from "./document.js";
export {
  type Explanation,
  explain,
  type Lint,
  lintNested,
  lints,
  presets,
  type Row,
  totalWait,
  totalWaitNanos,
} from "./explain.js";
