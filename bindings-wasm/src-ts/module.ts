/** From text to the bytes of a wasm module, and to its functions. */
import { ConfigError, unsupported } from "./errors.js";

/** Undoes what `build.mjs` does to a module: one character for most bytes, a space or a `!` before one for the others. */
export function decoded(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  let base = -16;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 34) {
      base = code < 33 ? 74 : 164;
    } else {
      bytes[length++] = (((code > 125 ? 57 : code - 35) + 40) % 90) + base;
      base = -16;
    }
  }
  return bytes.subarray(0, length);
}

/** The path of the error about a runtime, or a page's Content-Security-Policy, that refuses wasm. */
const WASM = "WebAssembly";

export const isRefusal = (error: unknown): boolean => error instanceof ConfigError && error.path === WASM;

/** Compiles a module. Throws a {@link ConfigError} that says what to import where wasm is refused. */
export function compile(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch (cause) {
    throw unsupported(WASM, 'is not allowed here; import "holdoff/lite", which needs none', cause);
  }
}

let isAllowed = false;

/** Throws that error before there is anything to compile: an empty module is enough to ask. */
export function checkWasm(): void {
  if (!isAllowed) compile(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  isAllowed = true;
}

/** The functions and the memory of a module. */
export function made(bytes: Uint8Array<ArrayBuffer>): object {
  const module = compile(bytes);
  return new WebAssembly.Instance(module).exports;
}

/** The same without blocking. */
export async function madeLater(bytes: Uint8Array<ArrayBuffer>): Promise<object> {
  checkWasm();
  return (await WebAssembly.instantiate(bytes)).instance.exports;
}

export const instance = (text: string): object => made(decoded(text));

export const instanceLater = (text: string): Promise<object> => madeLater(decoded(text));

/** The functions that make a module which several parts share. */
export function once(text: string): { make(): object; makeLater(): Promise<object>; checkWasm(): void } {
  let exports: object | undefined;
  return {
    make: () => (exports ??= instance(text)),
    makeLater: async () => {
      const later = await instanceLater(text);
      return (exports ??= later);
    },
    checkWasm,
  };
}
