/** The smallest wasm module: the only file that knows the layout of its memory. */
import text from "../../dist/lite.wasm";

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

/** Undoes what `build.mjs` does to the module: one character for most bytes, a space or a `!` before one for the others. */
const decoded = (): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/[ !]?[^ !]/g) as string[], (part) => {
    const value = part.charCodeAt(part.length - 1);
    return (value > 125 ? 57 : value - 35) + (part[1] ? (part < "!" ? 90 : 180) : 0) - 16;
  });

function take({ exports }: WebAssembly.Instance): Exports {
  core = exports as unknown as Exports;
  const { buffer } = core.memory;
  bytes = new Uint8Array(buffer, core.address(), END);
  return core;
}

/** The core, compiled on first use. */
export const wasm = (): Exports => core ?? take(new WebAssembly.Instance(new WebAssembly.Module(decoded())));

/** Compiles the core without blocking, if you want that: it takes well under a millisecond. */
export async function init(): Promise<void> {
  if (core === undefined) take((await WebAssembly.instantiate(decoded())).instance);
}
