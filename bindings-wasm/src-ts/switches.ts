/** Switches of the process, which the tests of a program set and every copy of this package reads. */

const KEY = Symbol.for("holdoff.switches");

export interface Switches {
  /** No operation has more attempts. */
  readonly attempts: number;
  /** True if sleeps end at once. */
  readonly skipsSleeps: boolean;
  /** True if loops bring budgets to policies that name none. */
  readonly bringsBudgets: boolean;
}

export const switches = ((globalThis as { [KEY]?: Switches })[KEY] ??= {
  attempts: Infinity,
  skipsSleeps: false,
  bringsBudgets: true,
});

/** Sets switches. Returns a function that sets them to what they were. */
export function turn(some: Partial<Switches>): () => void {
  const before = { ...switches };
  Object.assign(switches, some);
  return () => void Object.assign(switches, before);
}
