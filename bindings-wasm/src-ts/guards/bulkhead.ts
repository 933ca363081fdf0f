/** A bulkhead by itself. */
import type { BulkheadFields } from "./fields.js";
import { checkedCount, Guard, type GuardOptions, NONE } from "./guard.js";
import { load, memory, readArgument } from "./memory.js";

/** The answer of a bulkhead to a call. */
export type Entry =
  | { readonly kind: "entered" }
  | { readonly kind: "queued"; readonly place: number }
  | { readonly kind: "refused" };

/** How many attempts there may be at once. */
export class Bulkhead extends Guard {
  constructor(fields: number | BulkheadFields, options?: GuardOptions) {
    super(3, fields, options);
  }

  /** Enters it, queues, or does neither. */
  enter(): Entry {
    return this.entry(NONE);
  }

  /** Asks again, from a place in the queue. */
  enterFrom(place: number): Entry {
    return this.entry(checkedCount(place, "place"));
  }

  private entry(place: number): Entry {
    load(this);
    const answer = memory().core.bulkhead_enter(place);
    if (answer === 2) return { kind: "queued", place: readArgument(1) };
    return { kind: answer === 0 ? "entered" : "refused" };
  }

  /** A call has left. */
  leave(): void {
    this.gone(NONE);
  }

  /** A queued caller gives up its place. */
  leaveQueue(place: number): void {
    this.gone(checkedCount(place, "place"));
  }

  private gone(place: number): void {
    load(this);
    memory().core.bulkhead_leave(place);
    this.notifyWaiters();
  }

  /** How many run. */
  get running(): number {
    load(this);
    return memory().core.bulkhead_look();
  }

  /** How many wait. */
  get waiting(): number {
    load(this);
    memory().core.bulkhead_look();
    return readArgument(1);
  }
}
