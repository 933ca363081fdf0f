/** The wasm module of `hot.ts`, made from its text. In `holdoff/js` the same module as JavaScript stands in its place. */
import text from "../dist/hot.wasm";
import { decoded, instance } from "./module.js";

export const make = (): object => instance(text);

export async function makeLater(): Promise<object> {
  return (await WebAssembly.instantiate(decoded(text))).instance.exports;
}
