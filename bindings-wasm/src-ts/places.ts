/**
 * Where values are in memory. The file imports nothing, so that a build puts its constants in line.
 */

// The memory of the module of one call, in words; the module asserts the same numbers.
export const SEED = 0;
export const NOW = 2;
export const HINT = 4;
export const STEP = 6;
export const POLICY = 12;
export const CALL_AT = 140;
export const CALL_WORDS = 20;
export const ORIGIN = 160;
export const BUDGET = 162;
export const BUDGET_WORDS = 32;
export const SHORTAGE = 194;
export const SHORTAGE_WORDS = 8;
export const CAPACITY = 202;
export const NOTED = 204;
export const WORDS = 206;
/** The number of the latest refusal in the state of a budget. */
export const REFUSALS = 8;

// Where times are in a policy's words.
export const DEADLINE = 10;
export const MIN_ATTEMPT = 12;
export const ATTEMPT_TIMEOUT = 14;
export const FIRST_LIMIT = 28;
/** The word of hints and of the path, and the bits of the path: random numbers are drawn; rules decide; an attempt may be aborted. */
export const PATH = 26;
export const DRAWS = 1 << 16;
export const RULED = 4 << 16;
export const LIMITED = 16 << 16;
