/** A budget of retries by itself. */

import { kindOf } from "../failure.js";
import type { Time } from "../values.js";
import type { FailureKind } from "../words.js";
import type { BudgetFields } from "./fields.js";
import { checkedCount, Guard, type GuardOptions, NONE } from "./guard.js";
import { load, memory } from "./memory.js";

/** How many retries there may be for the calls there are. */
export class Budget extends Guard {
  constructor(fields?: BudgetFields["kind"] | BudgetFields, options?: GuardOptions) {
    super(0, fields ?? "ratio", options);
  }

  /** A call begins. */
  begin(now?: Time): void {
    this.at(now);
    memory().core.budget_begin();
  }

  /** May an attempt start, the first or another? */
  admit(now?: Time): boolean {
    this.at(now);
    return memory().core.budget_admit() !== 0;
  }

  /** An attempt failed in a way that may be retried. */
  fail(kind: FailureKind, now?: Time): void {
    const code = kindOf(kind);
    this.at(now);
    memory().core.budget_fail(code);
  }

  /** May there be a retry after such a failure? What it has paid, which is for {@link succeed} or {@link refund}. */
  withdraw(kind: FailureKind, now?: Time): number | undefined {
    const code = kindOf(kind);
    this.at(now);
    const withdrawal = memory().core.budget_withdraw(code) >>> 0;
    return withdrawal === NONE ? undefined : withdrawal;
  }

  /** A retry has run. */
  retried(): void {
    load(this);
    memory().core.budget_retried();
  }

  /** A retry that has paid never ran. */
  refund(withdrawal: number, now?: Time): void {
    this.at(now);
    memory().core.budget_refund(checkedCount(withdrawal, "withdrawal"));
  }

  /** The call succeeded; `withdrawal` is what its latest retry has paid. */
  succeed(withdrawal?: number, now?: Time): void {
    this.at(now);
    memory().core.budget_succeed(withdrawal === undefined ? NONE : checkedCount(withdrawal, "withdrawal"));
  }

  /** The call is over, however. */
  end(withdrawal?: number): void {
    load(this);
    memory().core.budget_end(withdrawal === undefined ? NONE : checkedCount(withdrawal, "withdrawal"));
  }

  /** The tokens, or retries, that there are. */
  balance(now?: Time): number {
    this.at(now);
    return memory().core.budget_balance();
  }

  /** The probability that an attempt is refused. */
  rejection(now?: Time): number {
    this.at(now);
    return memory().core.budget_rejection();
  }
}
