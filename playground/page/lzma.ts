// Reads LZMA, which packs the module a fifth smaller than gzip. Browsers have no reader for it.
//
// The format is that of files with the ending .lzma: a byte with the numbers of bits, the size of the dictionary, the length, and the
// stream of the range coder. The names are those of the format's specification.

/** Probabilities, all at a half. */
const probabilities = (count: number) => new Uint16Array(count).fill(1024);

class Decoder {
  private range = 0xffffffff;
  private code = 0;
  private at: number;

  constructor(private readonly bytes: Uint8Array) {
    // Behind the head of 13 bytes, and the first byte of the stream, which is 0.
    this.at = 14;
    for (let byte = 0; byte < 4; byte++) this.code = ((this.code << 8) | bytes[this.at++]) >>> 0;
  }

  private normalize(): void {
    if (this.range >= 0x1000000) return;
    this.range = (this.range << 8) >>> 0;
    this.code = ((this.code << 8) | this.bytes[this.at++]) >>> 0;
  }

  bit(model: Uint16Array, index: number): number {
    const bound = (this.range >>> 11) * model[index];
    const isZero = this.code < bound;
    if (isZero) {
      this.range = bound;
      model[index] += (2048 - model[index]) >>> 5;
    } else {
      this.range -= bound;
      this.code -= bound;
      model[index] -= model[index] >>> 5;
    }
    this.normalize();
    return isZero ? 0 : 1;
  }

  direct(count: number): number {
    let result = 0;
    for (let bit = 0; bit < count; bit++) {
      this.range >>>= 1;
      const isOne = this.code >= this.range;
      if (isOne) this.code -= this.range;
      this.normalize();
      result = (result << 1) | Number(isOne);
    }
    return result;
  }

  /** The bits of a tree whose models begin at an offset, the highest first. */
  tree(model: Uint16Array, bits: number, offset = 0): number {
    let node = 1;
    for (let bit = 0; bit < bits; bit++) node = (node << 1) | this.bit(model, offset + node);
    return node - (1 << bits);
  }

  /** The same, the lowest bit first. */
  reverse(model: Uint16Array, bits: number, offset = 0): number {
    let [node, result] = [1, 0];
    for (let bit = 0; bit < bits; bit++) {
      const value = this.bit(model, offset + node);
      node = (node << 1) | value;
      result |= value << bit;
    }
    return result;
  }
}

/** The lengths of matches: of two bytes and more. */
class Lengths {
  private readonly choice = probabilities(2);
  private readonly low = probabilities(16 << 3);
  private readonly mid = probabilities(16 << 3);
  private readonly high = probabilities(256);

  read(decoder: Decoder, position: number): number {
    if (decoder.bit(this.choice, 0) === 0) return 2 + decoder.tree(this.low, 3, position << 3);
    if (decoder.bit(this.choice, 1) === 0) return 10 + decoder.tree(this.mid, 3, position << 3);
    return 18 + decoder.tree(this.high, 8);
  }
}

/** The bytes of a .lzma file whose head has their number. */
export function unpack(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const [numbers] = bytes;
  const [lc, rest] = [numbers % 9, Math.floor(numbers / 9)];
  const [lpMask, pbMask] = [(1 << (rest % 5)) - 1, (1 << Math.floor(rest / 5)) - 1];
  const out = new Uint8Array(new DataView(bytes.buffer, bytes.byteOffset).getUint32(5, true));
  const decoder = new Decoder(bytes);
  const literals = probabilities(0x300 << (lc + (rest % 5)));
  const [isMatch, isRep0Long] = [probabilities(12 << 4), probabilities(12 << 4)];
  const [isRep, isRepG0, isRepG1, isRepG2] = [12, 12, 12, 12].map(probabilities);
  const [slots, special, align] = [probabilities(4 << 6), probabilities(128), probabilities(16)];
  const [matchLengths, repLengths] = [new Lengths(), new Lengths()];
  let [state, rep0, rep1, rep2, rep3, length] = [0, 0, 0, 0, 0, 0];
  for (let at = 0; at < out.length; ) {
    const position = at & pbMask;
    if (decoder.bit(isMatch, (state << 4) + position) === 0) {
      const before = at > 0 ? out[at - 1] : 0;
      const offset = 0x300 * (((at & lpMask) << lc) + (before >> (8 - lc)));
      let symbol = 1;
      if (state >= 7) {
        let match = out[at - rep0 - 1];
        while (symbol < 0x100) {
          const matchBit = (match >> 7) & 1;
          match <<= 1;
          const bit = decoder.bit(literals, offset + ((1 + matchBit) << 8) + symbol);
          symbol = (symbol << 1) | bit;
          if (bit !== matchBit) break;
        }
      }
      while (symbol < 0x100) symbol = (symbol << 1) | decoder.bit(literals, offset + symbol);
      out[at++] = symbol & 0xff;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    if (decoder.bit(isRep, state) === 0) {
      [rep3, rep2, rep1] = [rep2, rep1, rep0];
      length = matchLengths.read(decoder, position);
      state = state < 7 ? 7 : 10;
      const slot = decoder.tree(slots, 6, Math.min(length - 2, 3) << 6);
      rep0 = slot;
      if (slot >= 4) {
        const bits = (slot >> 1) - 1;
        rep0 = (2 | (slot & 1)) << bits;
        if (slot < 14) rep0 += decoder.reverse(special, bits, rep0 - slot);
        else rep0 += (decoder.direct(bits - 4) << 4) + decoder.reverse(align, 4);
      }
    } else {
      if (decoder.bit(isRepG0, state) === 0) {
        if (decoder.bit(isRep0Long, (state << 4) + position) === 0) {
          state = state < 7 ? 9 : 11;
          out[at] = out[at - rep0 - 1];
          at += 1;
          continue;
        }
      } else if (decoder.bit(isRepG1, state) === 0) [rep0, rep1] = [rep1, rep0];
      else if (decoder.bit(isRepG2, state) === 0) [rep0, rep1, rep2] = [rep2, rep0, rep1];
      else [rep0, rep1, rep2, rep3] = [rep3, rep0, rep1, rep2];
      length = repLengths.read(decoder, position);
      state = state < 7 ? 8 : 11;
    }
    for (; length > 0; length--, at++) out[at] = out[at - rep0 - 1];
  }
  return out;
}
