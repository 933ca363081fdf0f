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

type Bytes = string | (() => Uint8Array<ArrayBuffer>);
/**
 * A wasm module as `build.mjs` puts it into an entry: text that {@link decoded} reads, a function that returns its bytes, or a file that
 * the runtime has compiled.
 */
export type Source = Bytes | WebAssembly.Module;

const bytesOf = (source: Bytes) => (typeof source === "string" ? decoded(source) : source());

/** Compiles a module. Throws a {@link ConfigError} that says what to import where wasm is refused. */
export function compile(source: Source): WebAssembly.Module {
  if (typeof source === "object") return source;
  const bytes = bytesOf(source);
  try {
    return new WebAssembly.Module(bytes);
  } catch (cause) {
    throw unsupported(WASM, 'is not allowed here; import "holdoff/lite", which needs none', cause);
  }
}

let isAllowed = false;

/** Throws that error before there is anything to compile: an empty module is enough to ask. */
function checkWasm(source: Source): void {
  if (!isAllowed) compile(typeof source === "object" ? source : () => Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  isAllowed = true;
}

function instance(source: Source): object {
  const module = compile(source);
  return new WebAssembly.Instance(module).exports;
}

/** The functions that make an instance of a module, which several parts share. */
export function once(source: Source): { make(): object; makeLater(): Promise<object>; checkWasm(): void } {
  let exports: object | undefined;
  return {
    make: () => (exports ??= instance(source)),
    makeLater: async () => {
      checkWasm(source);
      const module = typeof source === "object" ? source : await WebAssembly.compile(bytesOf(source));
      const later = await WebAssembly.instantiate(module);
      return (exports ??= later.exports);
    },
    checkWasm: () => checkWasm(source),
  };
}
