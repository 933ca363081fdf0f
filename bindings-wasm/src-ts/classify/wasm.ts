/** The wasm module of `holdoff/classify`, compiled once for reading policies and for operations under them. */
import source from "../../dist/classify.wasm";
import { once } from "../module.js";

export const { make, makeLater, checkWasm } = once(source);
