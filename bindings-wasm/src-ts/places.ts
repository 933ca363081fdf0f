/**
 * Where values are in memory. The file imports nothing, so that a build puts its constants in line.
 */

// The memory of the module of one call, in words; the module asserts the same numbers.
export const SEED = 0;
export const NOW = 2;
export const HINT = 4;
export const STEP = 6;
export const POLICY = 12;
export const POLICY_WORDS = 616;
export const CALL_AT = 628;
export const CALL_WORDS = 20;
export const ORIGIN = 648;
export const BUDGET = 650;
export const BUDGET_WORDS = 32;
export const SHORTAGE = 682;
export const SHORTAGE_WORDS = 8;
export const CAPACITY = 690;
export const NOTED = 692;
export const WORDS = 694;
/** The number of the latest refusal in the state of a budget. */
export const REFUSALS = 8;
