/** A set of guards for each key: a host, tenant or partition. */
import { hostNow, nanosOf } from "../clock.js";
import { seedAt, wrongType } from "../errors.js";
import type { ChangeHook } from "../hooks.js";
import { type Length, nanos } from "../memory.js";
import { bareCopy } from "../values.js";
import { originOf } from "./guard.js";
import { type Blueprint, blueprintOf, Guards, type GuardsOptions } from "./guards.js";
import { areAtRest } from "./memory.js";

/** How many keys in use are passed over at each use, to find one at rest. */
const LOOKS = 16;

/** How many sets are kept, and for how long. */
export interface KeyedOptions {
  /** The largest number of keys; 10,000 unless given. A new key takes the place of the key used longest ago whose guards are at rest. */
  most?: number | null | undefined;
  /** For how long a key at rest is kept that nobody asks for; 10 minutes unless given. */
  idle?: Length | null | undefined;
  /** Milliseconds since any moment; the host's clock unless given. */
  now?: (() => number) | null | undefined;
}

interface Entry {
  readonly guards: Guards;
  usedAt: number;
}

/**
 * Guards by a key. Guards that are given as objects are shared by all keys.
 *
 * A set is dropped only at rest: its breaker is closed and counts no failure, no call is in its bulkhead, its budget and its limiter are
 * full. While the 16 keys used longest ago are all in use, new keys share one set.
 */
export class KeyedGuards<Key = string> {
  private readonly blueprint: Blueprint;
  private readonly onChange: ChangeHook["onChange"];
  private readonly seed: bigint;
  private readonly most: number;
  private readonly idle: number;
  private readonly clock: () => number;
  /** The least recently used first. */
  private readonly entries = new Map<Key, Entry>();
  /** The set of the keys that find no place. */
  private shared: Guards | undefined = undefined;
  private made = 0;

  constructor(options: GuardsOptions, own: KeyedOptions = {}) {
    const { most, idle, now } = bareCopy(own);
    const longest = most ?? 10_000;
    if (!(Number.isInteger(longest) && longest >= 1)) throw wrongType("most", most, "a whole number from 1");
    this.blueprint = blueprintOf(options);
    const { seed, onChange } = originOf({ ...options, now: 0 });
    this.seed = seed;
    this.onChange = onChange;
    this.most = longest;
    this.idle = Number(nanos(idle, "idle", 600_000_000_000n));
    this.clock = now ? () => nanosOf(now()) : hostNow;
  }

  /**
   * The guards of a key: the same ones each time, unless they were at rest and another key took their place. Ask anew for each
   * operation, when it begins.
   */
  of(key: Key): Guards {
    const now = this.clock();
    const { entries, most } = this;
    let inUse = 0;
    // The key used longest ago is first; a key in use becomes the last.
    for (const [eldest, entry] of entries) {
      const isFull = entries.size >= most && !entries.has(key);
      if (inUse === LOOKS || (!isFull && now - entry.usedAt <= this.idle)) break;
      entries.delete(eldest);
      if (this.isAtRest(entry.guards, now)) continue;
      inUse++;
      entry.usedAt = now;
      entries.set(eldest, entry);
    }
    let entry = entries.get(key);
    if (!entry) {
      if (entries.size >= most || (this.shared && !this.isAtRest(this.shared, now))) {
        return (this.shared ??= this.make(undefined, now));
      }
      this.shared = undefined;
      entry = { guards: this.make(String(key), now), usedAt: now };
    }
    entry.usedAt = now;
    entries.delete(key);
    entries.set(key, entry);
    return entry.guards;
  }

  /** True if nothing is lost when a set is made anew. Guards of all keys are not made anew. */
  private isAtRest({ all }: Guards, now: number): boolean {
    const own = all.filter((guard) => !this.blueprint.shared.includes(guard));
    return areAtRest(own, now);
  }

  private make(key: string | undefined, now: number): Guards {
    const { onChange } = this;
    return Guards.of(this.blueprint, { seed: seedAt(this.seed, this.made++), now, key, onChange });
  }

  /** Forgets a key; operations under its guards go on under them. */
  delete(key: Key): boolean {
    return this.entries.delete(key);
  }

  /** How many keys there are. */
  get size(): number {
    return this.entries.size;
  }
}
