/** Wasm modules: how they are compiled, and the memory that they share with JavaScript. */

import { ConfigError, checkTime, NOT_A_DURATION, parseNanos, problem, unsupported } from "./errors.js";
import { LONGEST } from "./table.js";
import type { Duration, Same, Time } from "./values.js";
import { encoder } from "./values.js";

/** A module that says where each field of its memory is. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly PLACES: { readonly value: number };
  address(): number;
}

/** The memory of one module, and the functions over it. */
export class ModuleMemory<Core extends Exports, Field extends string> {
  readonly core: Core;
  private readonly fields: readonly Field[];
  /** Each field as words. */
  words!: Record<Field, Uint32Array>;
  /** The numbers that go in and come out, and the same places as doubles. */
  longs!: BigUint64Array;
  private doubles!: Float64Array;
  text!: Uint8Array;

  /** The memory of a compiled module that knows these fields. */
  constructor(core: Core, fields: readonly Field[]) {
    this.core = core;
    this.fields = fields;
    this.remap();
  }

  /** Finds the fields: at first, and again after memory has grown. */
  remap(): void {
    const { memory, PLACES, address } = this.core;
    const { buffer } = memory;
    const { fields } = this;
    const places = new Uint32Array(buffer, PLACES.value, fields.length * 2);
    const begin = address();
    const of = <A>(
      field: string,
      array: new (buffer: ArrayBuffer, offset: number, length: number) => A,
      size: number,
    ) => {
      const index = (fields as readonly string[]).indexOf(field) * 2;
      return new array(buffer, begin + (places[index] as number), (places[index + 1] as number) / size);
    };
    this.words = Object.fromEntries(fields.map((field) => [field, of(field, Uint32Array, 4)])) as typeof this.words;
    this.longs = of("args", BigUint64Array, 8);
    this.doubles = of("args", Float64Array, 8);
    this.text = of("text", Uint8Array, 1);
  }

  /** The memory from an address on. */
  view<A>(array: new (buffer: ArrayBuffer, offset: number, length: number) => A, at: number, length: number): A {
    return new array(this.core.memory.buffer, at, length);
  }

  /** Writes a state. */
  write(field: Field, state: Uint32Array): void {
    this.words[field].set(state);
  }

  /** A copy of a state. */
  copy(field: Field): Uint32Array {
    return this.words[field].slice();
  }

  /** Reads a state. */
  read(field: Field, state: Uint32Array): void {
    state.set(this.words[field]);
  }

  /** Writes spans, times and counts as the arguments, from the first on. */
  writeNumbers(...numbers: bigint[]): void {
    for (const [at, number] of numbers.entries()) this.longs[at] = number;
  }

  /** Writes a double; NaN for a value that is no number, which the core refuses. */
  writeDouble(at: number, value: unknown): void {
    this.doubles[at] = typeof value === "number" ? value : Number.NaN;
  }

  readNumber(at = 0): bigint {
    return this.longs[at] as bigint;
  }

  writeText(text: string): number {
    return encode(text, this.text);
  }
}

/** Writes text as UTF-8; its length. */
function encode(text: string, into: Uint8Array): number {
  const { read, written } = encoder.encodeInto(text, into);
  if (read === text.length) return written;
  // Text that is too long is not valid, and its beginning must not be, either.
  into[0] = 0x3f;
  return 1;
}

/** 2^64-1: never, or no limit. */
export const FOREVER = 0xffff_ffff_ffff_ffffn;

/** A time or another number of 64 bits on its way in. */
export function exact(value: Time, name: string): bigint {
  checkTime(value, name);
  return value === Infinity ? FOREVER : BigInt(typeof value === "number" ? Math.floor(value) : value);
}

/** On its way out: 2^64-1 is never. */
export const like = <T extends Time>(sample: T, value: bigint): Same<T> =>
  (typeof sample === "bigint" ? value : value === FOREVER ? Infinity : Number(value)) as Same<T>;

/** A time as options have it: milliseconds, text with a unit, or nanoseconds as a bigint. */
export type Length = Duration | bigint;

/** A length of time in nanoseconds; `otherwise` when it is not given. */
export function nanos(value: Length | null | undefined, name: string, otherwise?: bigint): bigint {
  if ((value === undefined || value === null) && otherwise !== undefined) return otherwise;
  if (typeof value === "string") {
    const read = parseNanos(value);
    if (read !== undefined) return read;
  } else if (typeof value === "bigint") {
    if (value >= 0n && value <= LONGEST) return value;
  } else if (typeof value === "number" && value >= 0 && value * 1e6 < 2 ** 63) {
    return BigInt(Math.floor(value * 1e6 + 0.5));
  }
  throw problem(NOT_A_DURATION, name, value);
}

/** The same, where `"none"` and, if that is the default, nothing at all are no limit. */
export const limit = (value: Length | "none" | null | undefined, name: string, otherwise?: bigint): bigint =>
  value === "none" ? FOREVER : nanos(value, name, otherwise);

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
