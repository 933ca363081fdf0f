/** From text to the bytes of a wasm module. */

/** A decoder that some runtimes have; a loop that runs for the first time takes milliseconds. */
const native = globalThis as unknown as {
  Uint8Array: { fromHex?(hex: string): Uint8Array<ArrayBuffer> };
  Buffer?: { from(text: string, encoding: "hex"): Uint8Array<ArrayBuffer> };
};

/** The bytes of a module that the bundler has put here as text. */
export function decoded(hex: string): Uint8Array<ArrayBuffer> {
  if (native.Uint8Array.fromHex) return native.Uint8Array.fromHex(hex);
  return native.Buffer ? native.Buffer.from(hex, "hex") : unhexed(hex);
}

/** Four bytes at a time; the last four may overlap the ones before. */
function unhexed(hex: string): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(hex.length / 2));
  for (let i = 0; i < hex.length; i += 8) {
    const at = Math.min(i, hex.length - 8);
    view.setUint32(at / 2, Number.parseInt(hex.slice(at, at + 8), 16));
  }
  return new Uint8Array(view.buffer);
}
