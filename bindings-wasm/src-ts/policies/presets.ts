/** The presets: their stages, and the fields that differ from the defaults by their numbers. Generated from core/src/fields.rs by `cargo xtask generate`. */
import { LONGEST } from "../table.js";

/** A stage: kind, first delay, step, longest delay, number of delays. */
export type Stage = readonly [number, number, number, number | bigint, number];

/** A named policy; `guards` are the fields of its guards, where it has some. */
export interface Preset {
  readonly stages: readonly Stage[];
  readonly fields: Readonly<Record<number, number | bigint>>;
  readonly guards?: Readonly<Record<number, number>>;
  /** The kinds and the stages of its rules, and their conditions, as the core's words. */
  readonly rules?: readonly [readonly (readonly [number, ...Stage[]])[], Readonly<Record<number, number>>];
}

export const PRESETS: Readonly<Record<string, Preset>> = {
  "default": { stages: [[3, 100000000, 2, 5000000000, 0]], fields: {} },
  "langgraphgo": { stages: [[3, 100000000, 2, 5000000000, 0]], fields: { 6: 0 } },
  "langgraphgo-graph": { stages: [[3, 1000000000, 2, LONGEST, 0]], fields: { 6: 0, 8: 4 } },
  "kubernetes": { stages: [[3, 10000000, 5, LONGEST, 0]], fields: { 6: 3, 7: 0.1, 21: 1, 8: 4 } },
  "aster": { stages: [[3, 1000000000, 2, LONGEST, 0]], fields: { 6: 5, 20: 500000000 } },
  "aws-standard-2.0": { stages: [[3, 1000000000, 2, 20000000000, 0]], fields: { 13: 3, 14: 20000000000, 15: 1 }, guards: { 25: 1, 26: 500, 27: 5, 28: 10, 29: 5, 30: 1 } },
  "aws-standard-2.1": { stages: [[3, 50000000, 2, 20000000000, 0]], fields: { 13: 4, 14: LONGEST, 22: 5000000000 }, guards: { 25: 1, 26: 500, 27: 14, 28: 14, 29: 5, 30: 1 }, rules: [[[34, [3, 1000000000, 2, 20000000000, 0]]], { 129: 67371008, 178: 16777473 }] },
  "grpc": { stages: [[3, 100000000, 2, 1000000000, 0]], fields: { 6: 4, 7: 0.2, 21: 1, 8: 4, 13: 3, 14: 3600000000000 } },
  "temporal": { stages: [[3, 1000000000, 2, 100000000000, 0]], fields: { 6: 0, 8: 4294967295 } },
  "google-cloud": { stages: [[3, 1000000000, 2, 60000000000, 0]], fields: { 8: 4294967295, 9: 120000000000 } },
  "resilience4j": { stages: [[1, 500000000, 0, LONGEST, 0]], fields: { 6: 0 } },
  "polly": { stages: [[8, 2000000000, 0, LONGEST, 0]], fields: { 6: 0, 8: 4, 13: 3, 14: 3600000000000 } },
  "chromium": { stages: [[1, 0, 0, LONGEST, 2], [3, 700000000, 1.4, 900000000000, 0]], fields: { 6: 6, 7: 0.4, 8: 4294967295 } },
  "tenacity-random-exponential": { stages: [[3, 1000000000, 2, 60000000000, 0]], fields: { 8: 4294967295 } },
  "aws-adaptive": { stages: [[3, 1000000000, 2, 20000000000, 0]], fields: { 13: 3, 14: 20000000000, 15: 1 }, guards: { 25: 1, 26: 500, 27: 5, 28: 10, 29: 5, 30: 1, 68: 1, 76: 1 } },
};
