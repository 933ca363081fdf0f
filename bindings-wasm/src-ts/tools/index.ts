/** What explains a policy to people, and policies as text: loaded by those who import it. */
export { type FormName, type FromForm, fromForm, toForm, toJson } from "./document.js";
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
