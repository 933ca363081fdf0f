/** A bulkhead by itself, and who waits for it. */
import type { BulkheadFields } from "./fields.js";
import { counted, Guard, type GuardOptions, NONE } from "./guard.js";
import { load, memory, readArgument } from "./memory.js";

/** An operation that waits for a place in a bulkhead. */
export interface Waiter {
  /** Asks for the place again; false when it still waits. */
  ask(): boolean;
}

/** The answer of a bulkhead to a call. */
export type Entry =
  | { readonly kind: "entered" }
  | { readonly kind: "queued"; readonly place: number }
  | { readonly kind: "refused" };

/** How many attempts there may be at once. */
export class Bulkhead extends Guard {
  /** The operations that wait, the first first. */
  private waiters: Set<Waiter> | undefined;
  private notifying: boolean | undefined;

  constructor(fields: number | BulkheadFields, options?: GuardOptions) {
    super(3, fields, options);
  }

  /** Enters it, queues, or does neither. */
  enter(): Entry {
    return this.entry(NONE);
  }

  /** Asks again, from a place in the queue. */
  enterFrom(place: number): Entry {
    return this.entry(counted(place, "place"));
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
    this.gone(counted(place, "place"));
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

  /** @internal */
  addWaiter(waiter: Waiter): void {
    (this.waiters ??= new Set()).add(waiter);
  }

  /** @internal */
  removeWaiter(waiter: Waiter): void {
    if (this.waiters?.delete(waiter)) this.notifyWaiters();
  }

  /**
   * Tells the waiting operations, in their order, that a place may be free, after the current code has run.
   * @internal
   */
  notifyWaiters(): void {
    if (this.notifying || !this.waiters?.size) return;
    this.notifying = true;
    queueMicrotask(() => {
      this.notifying = false;
      for (const waiter of this.waiters ?? []) if (!waiter.ask()) break;
    });
  }
}
