/** The wasm module of `holdoff/guards`, compiled once for its guards and for operations without them. */
import source from "../../dist/guards.wasm";
import { once } from "../module.js";

export const { make, makeLater, checkWasm } = once(source);
