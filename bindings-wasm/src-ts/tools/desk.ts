/** The third wasm module: what only people need. */
import hex from "../../dist/tools.wasm";
import { Desk, FIELDS } from "../border.js";

type Name =
  | "document"
  | "explain"
  | "explain_rows"
  | "form_build"
  | "form_named"
  | "form_set"
  | "form_start"
  | "form_write"
  | "guards_set"
  | "guards_start"
  | "guards_upon"
  | "lint_nested"
  | "lints"
  | "nest"
  | "presets"
  | "total_wait";

let made: Desk<Name> | undefined;

/** Its desk, compiled on first use. */
export const desk = (): Desk<Name> => (made ??= new Desk(hex, FIELDS));
