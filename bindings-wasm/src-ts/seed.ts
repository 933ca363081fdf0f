/** Where the randomness of an operation comes from: the operating system, unless somebody wants to repeat a run. */
import { readBigint, SEED, TICKET, wasm, writeBigint, writeNumber, writeWords } from "./core.js";
import { problem, SEED_RANGE } from "./errors.js";

let program: number | bigint | undefined;
let failures = 0;

/**
 * Makes every operation of the program repeatable: the k-th one *that fails*, k from 0, gets `seedAt(n, k)`. Without an
 * argument seeds come from the operating system again.
 */
export function seed(n?: number | bigint | null): void {
  if (n !== undefined && n !== null) checkSeed(n, "seed");
  program = n ?? undefined;
  failures = 0;
}

/** True if the program's operations are repeatable. */
export const isSeeded = (): boolean => program !== undefined;

/** The seed of failing operation `k`, from 0, of a program seeded with `n`. */
export function seedAt(n: number | bigint, k: number | bigint): bigint {
  writeSeedAt(n, k);
  return readBigint(SEED);
}

/** Throws unless this is a whole number from 0 to 2^64-1, that its type holds exactly. */
export function checkSeed(value: unknown, path: string): asserts value is number | bigint {
  const right =
    typeof value === "bigint"
      ? value >= 0n && value < 1n << 64n
      : Number.isSafeInteger(value) && (value as number) >= 0;
  if (!right) throw problem(SEED_RANGE, path, value);
}

/** The operating system takes as long for a thousand words as for one. */
const random = new Uint32Array(512);
let drawn = random.length;

/** Writes the seed of an operation that has just failed for the first time. */
export function writeSeed(given: number | bigint | null | undefined): void {
  if (given !== undefined && given !== null) {
    writeExact(SEED, given, "seed");
  } else if (program !== undefined) {
    writeSeedAt(program, failures++);
  } else {
    if (drawn >= random.length) {
      crypto.getRandomValues(random);
      drawn = 0;
    }
    writeWords(SEED, random[drawn] as number, random[drawn + 1] as number);
    drawn += 2;
  }
}

function writeSeedAt(n: number | bigint, k: number | bigint): void {
  writeExact(SEED, n, "n");
  writeExact(TICKET, k, "k");
  wasm().seed();
}

function writeExact(field: number, value: number | bigint, path: string): void {
  checkSeed(value, path);
  wasm();
  if (typeof value === "bigint") writeBigint(field, value);
  else writeNumber(field, value);
}
