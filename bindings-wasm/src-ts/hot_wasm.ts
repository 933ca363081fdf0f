/** The wasm module of `hot.ts`, made from its text. In `holdoff/js` the same module as JavaScript stands in its place. */
import hex from "../dist/hot.wasm";
import { decoded } from "./module.js";

export const make = (): object => new WebAssembly.Instance(new WebAssembly.Module(decoded(hex))).exports;

export async function makeLater(): Promise<object> {
  const { instance } = await WebAssembly.instantiate(decoded(hex));
  return instance.exports;
}
