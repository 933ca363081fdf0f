// What the runners of recorded files share: verdicts, and how a recording is read and compared.

/** The original's result is no example for so many inputs. */
export const same = (deviations = 0) => ({ deviations });
/** The configuration is outside the declared domain, and what is promised there holds. */
export const OUT_OF_DOMAIN = { outOfDomain: true };

/** Its host is the Rust runner's. */
export const ELSEWHERE = { elsewhere: true };

/** The longest span. */
export const MAX = 2n ** 63n - 1n;

/** A length of time as documents have it. */
export const ns = (value) => `${value}ns`;

/** Each input with what was recorded for it. */
export function steps(inputs, expected) {
  if (inputs.length !== expected.length) throw new Error(`${inputs.length} inputs, but ${expected.length} results`);
  return inputs.map((input, at) => [at, input, expected[at]]);
}

export function check(at, what, expected, got) {
  const [want, have] = [expected, got].map(text);
  if (want !== have) throw new Error(`input ${at}: ${what}: expected ${want}, got ${have}`);
}

/** What a value says: whole numbers of any type alike. */
export const text = (value) =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" || Number.isInteger(part) ? `#${part}` : part));

/** A whole number of 64 bits, zero when it is not there. */
export function whole(from, name, missing = 0n) {
  const value = from[name] ?? missing;
  if (typeof value === "bigint") return value;
  if (Number.isInteger(value) && Math.abs(value) <= 2 ** 53) return BigInt(value);
  throw new Error(`${name} is no whole number: ${value}`);
}
