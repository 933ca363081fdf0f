/** The wasm module of tools, which wasm-bindgen has wrapped. */
import source from "../../dist/tools.wasm";
import { compile } from "../module.js";

/** Stands for the exports of the module until one of them is read, and then makes it. */
export const atFirstUse = <T extends object>(init: (parts: { module: WebAssembly.Module }) => T): T =>
  new Proxy({} as T, { get: (_, name) => init({ module: compile(source) })[name as keyof T] });
