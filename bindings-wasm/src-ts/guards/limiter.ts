/** A limiter by itself. */

import { like } from "../memory.js";
import type { Same, Time } from "../values.js";
import type { LimiterFields } from "./fields.js";
import { checkedCount, Guard, type GuardOptions } from "./guard.js";
import { memory } from "./memory.js";

/** How many attempts there may be in a time. */
export class Limiter extends Guard {
  constructor(fields: LimiterFields, options?: GuardOptions) {
    super(2, fields, options);
  }

  /** Takes so many; undefined, or when they can be taken. */
  take<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const many = checkedCount(count, "count");
    const sample = this.at(now) as T;
    return memory().core.limiter_take(many) !== 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** Could so many be taken? Undefined, or when they can be. */
  look<T extends Time = number>(count = 1, now?: T): Same<T> | undefined {
    const many = checkedCount(count, "count");
    const sample = this.at(now) as T;
    return memory().core.limiter_look(many) !== 0 ? undefined : like(sample, memory().readNumber(1));
  }

  /** So many that were taken were not used. */
  giveBack(count = 1, now?: Time): void {
    const many = checkedCount(count, "count");
    this.at(now);
    memory().core.limiter_give_back(many);
  }
}
