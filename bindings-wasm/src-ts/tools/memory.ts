/** The third wasm module: what only people need. */
import hex from "../../dist/tools.wasm";
import { FIELDS, ModuleMemory } from "../memory.js";

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

let made: ModuleMemory<Name> | undefined;

/** Its memory, compiled on first use. */
export const memory = (): ModuleMemory<Name> => (made ??= new ModuleMemory(hex, FIELDS));
