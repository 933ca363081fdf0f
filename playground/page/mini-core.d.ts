// The functions of playground/mini/src/lib.rs, as wasm-bindgen writes them.
declare module "mini-core" {
  export function initSync(module: { module: BufferSource }): unknown;
  export function run(seconds: number, budget: boolean): Float64Array;
}
