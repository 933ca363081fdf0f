/** The smallest wasm module: the only file that knows the layout of its memory. */
import text from "../../dist/lite.wasm";
import { decoded } from "../module.js";

interface Exports {
  memory: { readonly buffer: ArrayBuffer };
  address(): number;
  policy(...fields: number[]): number;
  step(now: number, kind: number, hint: number, attempt: number, seed: bigint): number;
  http(status: number): number;
}

// Offsets in bytes; `src/lite.rs` asserts the same numbers.
export const STEP = 36;
export const CAUSE = 37;
export const REASON = 38;
const END = 112;

let core: Exports;
/** The state of a call with its policy. */
export let bytes: Uint8Array;

function take({ exports }: WebAssembly.Instance): Exports {
  core = exports as unknown as Exports;
  const { buffer } = core.memory;
  bytes = new Uint8Array(buffer, core.address(), END);
  return core;
}

/** The core, compiled on first use. */
export const wasm = (): Exports => core ?? take(new WebAssembly.Instance(new WebAssembly.Module(decoded(text))));

/** Compiles the core without blocking, if you want that: it takes well under a millisecond. */
export async function init(): Promise<void> {
  if (core === undefined) take((await WebAssembly.instantiate(decoded(text))).instance);
}
