/** The wasm module of `machine.ts`, made from its text. In `holdoff/js` the same module as JavaScript stands in its place. */
import hex from "../dist/machine.wasm";
import { decoded } from "./module.js";

export const make = (): object => new WebAssembly.Instance(new WebAssembly.Module(decoded(hex))).exports;
