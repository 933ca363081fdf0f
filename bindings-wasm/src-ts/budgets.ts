/**
 * The budgets that loops bring to a policy that names none (spec 36), one for each key. A full budget is as good as a new one, so
 * only budgets that lack tokens are stored.
 */
import { switches } from "./alarm.js";
import { type Clock, nanosOf } from "./clock.js";
import { functions, hot, readLong, readRefusals, type StateOwner, budget as slot, write, writePolicy } from "./hot.js";
import { BUDGET, CAPACITY, NOTED, NOW, ORIGIN, REFUSALS } from "./places.js";

/** How many keys of a policy may lack tokens. Further keys share the budget of the key `undefined` until it is full. */
const MOST = 1024;

/** The capacity of a budget that a policy does not name. */
export const CAPACITY_OF_LOOPS = 20;

/** The price of a retry that a budget refused. */
export const REFUSED = -1;

/**
 * Changes a budget in the core's memory, and says if it is full then. `floor` is the number of the latest refusal with which a new budget
 * begins, undefined for a budget that has a state.
 */
type Change = (owner: StateOwner, floor: number | undefined) => boolean;

/** The budgets of one policy. Their state cannot be seen: policies that decide the same are equal. */
export class LoopBudgets {
  /** The tokens of a full budget, if a policy names them. */
  readonly capacity: number | undefined;
  /** The budgets that lack tokens, by their keys; the one used longest ago is the first. */
  readonly #short = new Map<string | undefined, StateOwner>();
  /** The number with which a new budget begins: no budget that was dropped had refused after it. */
  #floor = 0;
  #refusals = 0;

  /** Budgets of `capacity` tokens; of the default capacity if it is undefined. */
  constructor(capacity: number | undefined) {
    this.capacity = capacity;
  }

  /** The number of the latest refusal of all budgets, which a call notes when it begins: a call from before it has no grace. */
  get refusals(): number {
    return this.#refusals;
  }

  /** The number of budgets that lack tokens. */
  get size(): number {
    return this.#short.size;
  }

  /** True if a loop brings a budget to a policy of these words. */
  isFor(policy: Uint32Array): boolean {
    if (!switches.bringsBudgets) return false;
    if (this.capacity !== undefined) return true;
    const core = hot();
    writePolicy(policy);
    return core.brings_budget() === 1;
  }

  /**
   * Pays for the retry that the call in the core's memory sleeps for after a failure of that kind. Returns its price; {@link REFUSED} if
   * the budget lacks tokens, and then the call ends. `epoch` is the time on the budget's clock at time 0 of the call, `noted` the number
   * of the latest refusal when the call began.
   */
  withdraw(key: string, kind: number, epoch: number, noted: number): number {
    let price = 0;
    write(ORIGIN, epoch);
    write(NOTED, noted);
    this.change(key, (_, floor) => {
      if (floor !== undefined) functions.fill(floor);
      price = functions.withdraw(kind) | 0;
      if (price === REFUSED) write(BUDGET + REFUSALS, this.refused());
      return false;
    });
    return price;
  }

  /** A call succeeded whose retries had that price. */
  succeed(key: string, price: number, clock: Clock): void {
    if (switches.bringsBudgets) this.#credit(key, nanosOf(clock.now()), () => functions.reward(price));
  }

  /** A retry of that price never ran, as is known at `now`. */
  refund(key: string, price: number, now: number): void {
    this.#credit(key, now, () => functions.refund(price));
  }

  #credit(key: string, now: number, change: () => number): void {
    writeTime(now);
    if (this.#short.has(this.#own(key))) this.change(key, () => change() === 1);
    else this.#forgetFull();
  }

  /** The key itself, or that of the shared budget. */
  #own(key: string): string | undefined {
    const short = this.#short;
    return short.has(key) || !(short.size >= MOST || short.has(undefined)) ? key : undefined;
  }

  /** Changes the budget of a key at the time in the core's memory. */
  change(ofKey: string, change: Change): void {
    const short = this.#short;
    const key = this.#own(ofKey);
    const known = short.get(key);
    const owner = known ?? { state: undefined };
    this.#load(owner);
    const isFull = change(owner, known ? undefined : this.#floor);
    if (known) short.delete(key);
    if (isFull) this.#drop(owner);
    this.#forgetFull();
    if (!isFull) short.set(key, owner);
  }

  /** The number of another refusal. */
  refused(): number {
    return ++this.#refusals;
  }

  /** Loads a budget into the core's memory. */
  #load(owner: StateOwner): void {
    write(CAPACITY, this.capacity ?? CAPACITY_OF_LOOPS);
    slot.load(owner);
  }

  /** Forgets the budgets used longest ago, as far as they are full again by now. */
  #forgetFull(): void {
    for (const [key, owner] of this.#short) {
      this.#load(owner);
      if (functions.refund(0) === 0) break;
      this.#short.delete(key);
      this.#drop(owner);
    }
  }

  /** Drops the full budget in the core's memory, and remembers its latest refusal. */
  #drop(owner: StateOwner): void {
    this.#floor = Math.max(this.#floor, readRefusals());
    slot.forget(owner);
  }
}

const ofCalls: LoopBudgets[] = [];

/** The budgets of the calls of this process that are made with options alone, of the capacity of these. */
export const budgetsOfCalls = (budgets: LoopBudgets): LoopBudgets => (ofCalls[budgets.capacity ?? -1] ??= budgets);

/** Writes the time of the budget's clock. */
export function writeTime(now: number): void {
  hot();
  write(NOW, 0);
  write(ORIGIN, now);
}

/**
 * Says why a token budget refused a retry (spec 22.15), from words of the core: the tokens that are spent, the capacity and the price, in
 * thousandths of a token, and the nanoseconds until there are enough. `key` is that of the budget.
 */
export function shortage(words: Uint32Array, at: number, key: string): string {
  const tokens = (place: number) => Math.trunc(readLong(words, at + place) / 100) / 10;
  const wait = readLong(words, at + 6);
  // The longest time is never. A wait is rounded up by a nanosecond, which is no second.
  const again =
    wait < 2 ** 63
      ? `there are enough again in ${inWords(Math.trunc(wait / 1e9 + 0.999999))}`
      : "only successes bring more";
  const whose = key && ` for "${key}"`;
  return `the budget for retries is spent (${tokens(0)} of ${tokens(2)} tokens${whose}; a retry costs ${tokens(4)}, ${again}; a larger \`budget\` allows more)`;
}

/** Seconds in the largest unit that divides them. */
function inWords(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
