/**
 * UTF-8 for the wasm module of tools. The runtime's coders are looked up at the first use and not at import; jsdom has neither
 * a TextDecoder nor a TextEncoder.
 */

let native: { decoder: TextDecoder; encoder: TextEncoder } | undefined;

function made(): typeof native {
  if (native === undefined && typeof TextDecoder === "function" && typeof TextEncoder === "function") {
    native = { decoder: new TextDecoder("utf-8", { ignoreBOM: true }), encoder: new TextEncoder() };
  }
  return native;
}

export const decoder = {
  decode(bytes: Uint8Array): string {
    const known = made();
    if (known) return known.decoder.decode(bytes);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return decodeURIComponent(escape(text));
  },
};

export const encoder = {
  encodeInto(text: string, into: Uint8Array): { read: number; written: number } {
    const known = made();
    if (known) return known.encoder.encodeInto(text, into);
    const bytes = unescape(encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd")));
    into.set(Array.from(bytes, (byte) => byte.charCodeAt(0)));
    return { read: text.length, written: bytes.length };
  },
};
