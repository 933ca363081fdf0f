/** The stretch by itself: longer delays while much fails. */

import { exact, like } from "../memory.js";
import type { Same, Time } from "../values.js";
import type { StretchFields } from "./fields.js";
import { Guard, type GuardOptions } from "./guard.js";
import { memory, readArgument } from "./memory.js";

/** Longer delays while much fails. */
export class Stretch extends Guard {
  constructor(fields: number | StretchFields, options?: GuardOptions) {
    super(5, fields, options);
  }

  /** An attempt ended. */
  record(failed: boolean, now?: Time): void {
    this.at(now);
    memory().core.stretch_record(failed ? 1 : 0);
  }

  /** The stretched delay, in nanoseconds. */
  stretch<T extends Time>(delay: T, now?: Time): Same<T> {
    const long = exact(delay, "delay");
    this.at(now);
    memory().longs[1] = long;
    memory().core.stretch_delay();
    return like(delay, memory().readNumber(1));
  }

  /** The attempts that count, and how many of them failed. */
  counts(now?: Time): { readonly calls: number; readonly failed: number } {
    this.at(now);
    const calls = memory().core.stretch_look();
    return { calls, failed: readArgument(1) };
  }
}
