/** The wasm module of `holdoff/powers`, made from its text. In `holdoff/js` the same module as JavaScript stands in its place. */
import text from "../dist/powers.wasm";
import { instance, instanceLater } from "./module.js";

export { checkWasm } from "./module.js";
export const make = (): object => instance(text);
export const makeLater = (): Promise<object> => instanceLater(text);
