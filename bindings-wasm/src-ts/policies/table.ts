/** The fields that few policies have, and the presets. Generated from core/src/fields.rs by `cargo xtask generate`. */
import type { Row } from "../table.js";

export const FIELDS: readonly Row[] = [
  [18, "backoff.floor", 126, 0, "span"],
  [85, "backoff.offset", 65534, 0, "span"],
  [86, "backoff.from", 16, 1, "whole 0 65535"],
  [87, "backoff.until", 65534, 0, "span above"],
  [88, "backoff.repeat", 65534, 0, "flag"],
  [89, "jitter.grows", 0, 0, "flag"],
  [90, "total", 0, 4294967295, "attempts"],
  [92, "deadline_from", 0, 0, "word 0 start first_failure"],
  [91, "limits", 0, 0, "word 0 first last"],
  [93, "abort_at_deadline", 0, 1, "flag"],
  [94, "delay_from", 0, 0, "word 0 failure start"],
  [95, "reset_after", 0, Infinity, "limit"],
];

/** The word and the rule of each error about policies of any fields by its number. */
export const RULES: Readonly<Record<number, string>> = {
  115: 'delays_missing must list at least one delay',
  117: 'times_missing is needed by each stage but the last',
  118: 'too_many_stages exceeds the limit of 16 stages and 64 listed delays',
  175: 'floor_above_max must not be above the stage\'s longest delay (it is 5s unless given)',
  128: 'preset_stages has several stages in this preset: give a whole backoff, with its kind, or none of its fields',
  129: 'times_range must be a whole number from 1 to 268435455',
  176: 'offset_range must be below the stage\'s longest delay (it is 5s unless given)',
  177: 'until_place must be later than in the stages before; rules and backoffs that repeat have none',
  178: 'repeat_place is for the last stage, which needs times or a list of delays',
  179: 'limits_last "last" needs attempts and a deadline, and no clipped sleep',
  150: 'count_range must be a whole number in the range of its field',
  174: 'not_a_flag must be true or false',
  181: 'never_retries has no meaning in a rule with "retry": false',
  182: 'rule_attempts must be a whole number from 1 to 65535, or "forever"',
};

/** The presets in the order of their numbers, from 1 on, each with the numbers of its guards. */
export const PRESETS: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  "default": {},
  "langgraphgo": {},
  "langgraphgo-graph": {},
  "kubernetes": {},
  "aster": {},
  "aws-standard-2.0": { 25: 1, 26: 500, 27: 5, 28: 10, 29: 5, 30: 1 },
  "aws-standard-2.1": { 25: 1, 26: 500, 27: 14, 28: 14, 29: 5, 30: 1 },
  "grpc": {},
  "temporal": {},
  "google-cloud": {},
  "resilience4j": {},
  "polly": {},
  "chromium": {},
  "tenacity-random-exponential": {},
  "aws-adaptive": { 25: 1, 26: 500, 27: 5, 28: 10, 29: 5, 30: 1, 68: 1, 76: 1 },
  "llm": { 25: 7, 26: 100 },
};
