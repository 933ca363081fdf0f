/** The hedge by itself. */

import { exact, FOREVER, type Length } from "../memory.js";
import type { Time } from "../values.js";
import type { HedgeFields } from "./fields.js";
import { Guard, type GuardOptions } from "./guard.js";
import { load, memory } from "./memory.js";

/** Decides when a second attempt starts beside a slow one. */
export class Hedge extends Guard {
  constructor(fields: Length | HedgeFields, options?: GuardOptions) {
    super(6, fields, options);
  }

  /** An attempt took so many nanoseconds. */
  record(took: Time): void {
    const span = exact(took, "took");
    load(this);
    memory().longs[1] = span;
    memory().core.hedge_record();
  }

  /** How long the share of attempts takes at most; undefined before the first record, or without a percentile. */
  get quantile(): bigint | undefined {
    this.look();
    const quantile = memory().readNumber(1);
    return quantile === FOREVER ? undefined : quantile;
  }

  /** After how many nanoseconds the next attempt starts. */
  get delay(): bigint {
    this.look();
    return memory().readNumber(2);
  }

  /** How many records there were. */
  get records(): number {
    return this.look();
  }

  private look(): number {
    load(this);
    return memory().core.hedge_look() >>> 0;
  }
}
