/** The wasm module of `holdoff/guards`, compiled once for its guards and for operations without them. */
import text from "../../dist/guards.wasm";
import { instance, instanceLater } from "../module.js";

let made: object | undefined;

export const make = (): object => (made ??= instance(text));

export async function makeLater(): Promise<object> {
  const exports = await instanceLater(text);
  return (made ??= exports);
}
