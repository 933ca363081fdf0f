/** The border to the smallest module: the only file that knows where things lie in its memory. */
import text from "../../dist/lite.wasm";

interface Exports {
  memory: { readonly buffer: ArrayBuffer };
  desk(): number;
  policy(...fields: number[]): number;
  begin(seed: bigint): void;
  step(now: number, kind: number, hint: number): number;
  http(status: number): number;
}

// Fields of the desk in bytes; `src/lite.rs` asserts the same numbers.
export const CALL = 8;
const END = 320;

let core: Exports;
/** The desk; what is said of a step comes first. */
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
  bytes = new Uint8Array(buffer, core.desk(), END);
  return core;
}

/** The core, compiled on first use. */
export const wasm = (): Exports => core ?? take(new WebAssembly.Instance(new WebAssembly.Module(decoded())));

/**
 * Compiles the core without blocking. Never needed, except in browsers that refuse to compile more than 4 KB at once on
 * their main thread (Chrome before 115): await it there before anything else.
 */
export async function init(): Promise<void> {
  if (core === undefined) take((await WebAssembly.instantiate(decoded())).instance);
}
