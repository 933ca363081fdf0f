/** From text to the bytes of a wasm module. */

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

/** The functions and the memory of the module. */
export const instance = (text: string): object =>
  new WebAssembly.Instance(new WebAssembly.Module(decoded(text))).exports;

/** The same without blocking. */
export async function instanceLater(text: string): Promise<object> {
  return (await WebAssembly.instantiate(decoded(text))).instance.exports;
}

/** The functions that make a module which several parts share. */
export function once(text: string): { make(): object; makeLater(): Promise<object> } {
  let made: object | undefined;
  return {
    make: () => (made ??= instance(text)),
    makeLater: async () => {
      const exports = await instanceLater(text);
      return (made ??= exports);
    },
  };
}
