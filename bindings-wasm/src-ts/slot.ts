/** The owner of a state. It has the state itself while another owner's is in the slot. */
export interface Keeper {
  state: Uint32Array | undefined;
}

/**
 * A place in wasm memory for one state at a time. A state is a row of 32-bit words that its JavaScript object owns; it is copied there
 * before a transition, and back when another one needs the slot, so that nothing in wasm memory belongs to one object for good.
 */
export class Slot {
  readonly #memory: () => Uint32Array;
  readonly #at: number;
  readonly #length: number;
  #keeper: Keeper | undefined;

  /** `at` and `length` are in words of the memory. */
  constructor(memory: () => Uint32Array, at: number, length: number) {
    this.#memory = memory;
    this.#at = at;
    this.#length = length;
  }

  /** Puts the state there back to its owner, and this owner's there if it has begun. */
  load(keeper: Keeper | undefined): void {
    const before = this.#keeper;
    const at = this.#at;
    const length = this.#length;
    if (before === keeper) return;
    const words = this.#memory();
    if (before) copy((before.state ??= new Uint32Array(length)), 0, words, at, length);
    if (keeper?.state) copy(words, at, keeper.state, 0, length);
    this.#keeper = keeper;
  }

  /** The state of an owner as it is now. */
  stateOf(keeper: Keeper): Uint32Array {
    if (this.#keeper === keeper) this.load(undefined);
    return keeper.state as Uint32Array;
  }

  /** Nobody asks for this state again. */
  forget(keeper: Keeper): void {
    if (this.#keeper === keeper) this.#keeper = undefined;
  }
}

/** Doubles would be quicker to copy but change the bits of what looks like a NaN. */
function copy(into: Uint32Array, at: number, from: Uint32Array, first: number, length: number): void {
  for (let i = 0; i < length; i++) into[at + i] = from[first + i] as number;
}
