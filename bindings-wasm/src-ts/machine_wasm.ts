/** The wasm module of `machine.ts`, made from its text. In `holdoff/js` the same module as JavaScript stands in its place. */
import text from "../dist/machine.wasm";
import { instance } from "./module.js";

export const make = (): object => instance(text);
