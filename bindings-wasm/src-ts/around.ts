/** The attempt around an operation, where the runtime has async contexts: `holdoff/node` brings them. */

/** A mark of an attempt: a retry inside it has ended without success. */
export interface Mark {
  isGivenUp: boolean;
}

interface Contexts {
  current?(): Mark | undefined;
  /** Runs a function inside an attempt. */
  run?<T>(attempt: Mark, fn: () => T): T;
}

const KEY = Symbol.for("holdoff.around");

/** The attempt around whatever runs now, for all copies of this package. */
export const around = ((globalThis as { [KEY]?: Contexts })[KEY] ??= Object.create(null) as Contexts);
