/** Where the randomness of an operation comes from: `Math.random`, unless somebody wants to repeat a run. */
import { problem, SEED_RANGE } from "./errors.js";

/** The seeds of a program that was seeded, one after the other. */
let next: (() => bigint) | undefined;

/**
 * Makes every operation of the program repeatable: the k-th one *that fails*, k from 0, gets `seedAt(n, k)`. Without an
 * argument seeds come from `Math.random` again.
 */
export function seed(n?: number | bigint | null): void {
  if (n !== undefined && n !== null) checkSeed(n, "seed");
  let failures = 0n;
  next = n === undefined || n === null ? undefined : () => seedAt(n, failures++);
}

/** True if the program's operations are repeatable. */
export const isSeeded = (): boolean => next !== undefined;

/**
 * The seed of failing operation `k`, from 0, of a program seeded with `n`: an output of splitmix64 (Steele, Lea, Flood, "Fast
 * Splittable Pseudorandom Number Generators", 2014), spec 2.5.
 */
export function seedAt(n: number | bigint, k: number | bigint): bigint {
  checkSeed(n, "n");
  checkSeed(k, "k");
  const of64 = (value: bigint) => BigInt.asUintN(64, value);
  let z = of64(BigInt(n) + (BigInt(k) + 1n) * 0x9e3779b97f4a7c15n);
  z = of64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = of64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** True for a whole number from 0 to 2^64-1 that its type holds exactly. */
export const isSeed = (value: unknown): value is number | bigint =>
  typeof value === "bigint" ? value >= 0n && value < 1n << 64n : Number.isSafeInteger(value) && (value as number) >= 0;

export function checkSeed(value: unknown, path: string): asserts value is number | bigint {
  if (!isSeed(value)) throw problem(SEED_RANGE, path, value);
}

/** The seed of an operation that has just failed for the first time. */
export function seedOf(given: number | bigint | null | undefined): number | bigint {
  const value = given ?? next?.() ?? Math.floor(Math.random() * 2 ** 53);
  checkSeed(value, "seed");
  return value;
}
