/**
 * The budgets that loops bring to a policy that names none (spec 36), one for each key. A full budget is as good as a new one, so
 * only budgets that lack tokens are stored.
 */
import { type Clock, nanosOf } from "./clock.js";
import { BUDGET_WORDS, functions, hot, NOW, ORIGIN, budget as slot, write, writePolicy } from "./hot.js";
import { readLong } from "./options.js";
import type { Keeper } from "./slot.js";
import { switches } from "./switches.js";

/** How many keys of a policy may lack tokens. Beyond them the key used longest ago gets a full budget. */
const MOST = 1024;

/** The budgets of one policy. Their state cannot be seen: policies that decide the same are equal. */
export class LoopBudgets {
  /** True if a budget lacks tokens. A getter would cost as much as all that is done for a call that succeeds at once. */
  declare readonly isShort: boolean;
  /** The budgets that lack tokens, by their keys; the one used longest ago is the first. */
  readonly #short = new Map<string, Keeper>();

  constructor() {
    Object.defineProperty(this, "isShort", { value: false, writable: true });
  }

  /** The number of budgets that lack tokens. */
  get size(): number {
    return this.#short.size;
  }

  /** True if a loop brings a budget to a policy of these words. */
  isFor(policy: Uint32Array): boolean {
    if (!switches.bringsBudgets) return false;
    const core = hot();
    writePolicy(policy);
    return core.brings_budget() === 1;
  }

  /** The function to call with the value of a call whose first attempt succeeded; it returns the value. */
  reward(key: string, clock: Clock): <V>(value: V) => V {
    return (value) => {
      this.succeed(key, 0, clock);
      return value;
    };
  }

  /**
   * Pays for the retry that the call in the core's memory sleeps for after a failure of that kind. Returns its price; 0 if the budget
   * lacks tokens, and then the call ends. `epoch` is the time on the budget's clock at time 0 of the call.
   */
  withdraw(key: string, kind: number, epoch: number): number {
    write(ORIGIN, epoch);
    const known = this.#short.get(key);
    const keeper = known ?? { state: undefined };
    slot.load(keeper);
    if (known === undefined) functions.fill();
    const price = functions.withdraw(kind);
    this.#store(key, keeper, false);
    return price;
  }

  /** A call succeeded whose latest retry had that price, 0 for none. */
  succeed(key: string, price: number, clock: Clock): void {
    if (!switches.bringsBudgets) return;
    writeTime(nanosOf(clock.now()));
    const keeper = this.#short.get(key);
    if (keeper === undefined) {
      this.#forgetFull();
      return;
    }
    slot.load(keeper);
    this.#store(key, keeper, functions.reward(price) === 1);
  }

  /** A retry of that price never ran, as is known at `now`. */
  refund(key: string, price: number, now: number): void {
    const keeper = this.#short.get(key);
    if (keeper === undefined) return;
    writeTime(now);
    slot.load(keeper);
    this.#store(key, keeper, functions.refund(price) === 1);
  }

  /** Lends the state of a budget to a transition at `now`, which changes it, and is told and says if the budget is full. */
  lend(key: string, now: number, transition: (budget: Uint32Array, isFull: boolean) => boolean): void {
    const known = this.#short.get(key);
    const keeper = known ?? { state: new Uint32Array(BUDGET_WORDS) };
    const isFull = transition(slot.stateOf(keeper), known === undefined);
    writeTime(now);
    this.#store(key, keeper, isFull);
  }

  /** Stores a budget as the one used last, unless it is full. */
  #store(key: string, keeper: Keeper, isFull: boolean): void {
    const short = this.#short;
    short.delete(key);
    if (isFull) slot.forget(keeper);
    if (short.size > 0) this.#forgetFull();
    if (!isFull) {
      if (short.size >= MOST) short.delete(short.keys().next().value as string);
      short.set(key, keeper);
    }
    this.#note();
  }

  /** Forgets the budgets used longest ago, as far as they are full again by now. */
  #forgetFull(): void {
    for (const [key, keeper] of this.#short) {
      slot.load(keeper);
      if (functions.refund(0) === 0) break;
      this.#short.delete(key);
    }
    this.#note();
  }

  #note(): void {
    (this as { isShort: boolean }).isShort = this.#short.size > 0;
  }
}

/** Writes the time of the budget's clock. */
function writeTime(now: number): void {
  hot();
  write(NOW, 0);
  write(ORIGIN, now);
}

/**
 * Says why a token budget refused a retry (spec 22.15), from words of the core: the tokens that are spent, the capacity and the price, in
 * thousandths of a token, and the nanoseconds until there are enough.
 */
export function shortage(words: Uint32Array, at: number): string {
  const tokens = (place: number) => Math.trunc(readLong(words, at + place) / 100) / 10;
  const wait = readLong(words, at + 6);
  // The longest time is never. A wait is rounded up by a nanosecond, which is no second.
  const again =
    wait < 2 ** 63
      ? `there are enough again in ${inWords(Math.trunc(wait / 1e9 + 0.999999))}`
      : "only successes bring more";
  return `the budget for retries is spent (${tokens(0)} of ${tokens(2)} tokens; a retry costs ${tokens(4)}, ${again})`;
}

/** Seconds in the largest unit that divides them. */
function inWords(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
