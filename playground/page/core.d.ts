// The functions of playground/src/lib.rs, as wasm-bindgen writes them. Each answers with JSON text.
declare module "core" {
  export function initSync(module: { module: BufferSource }): unknown;
  export function explain(document: string): string;
  export function look(name: string, text: string): string;
  export function simulate(policy: string, scenario: string): string;
  export function replay(document: string, log: string): string;
  export function record(document: string): string;
  export function choices(): string;
}
