/** A set of guards for each key: a host, tenant or partition. */

import { hostNow, nanosOf } from "../clock.js";
import { wrongType } from "../errors.js";
import type { ChangeHook } from "../hooks.js";
import { type Length, nanos } from "../memory.js";
import { seedAt } from "../seed.js";
import { bareCopy } from "../values.js";
import { originOf } from "./guard.js";
import { type Blueprint, blueprintOf, Guards, type GuardsOptions } from "./guards.js";

/** How many sets are kept, and for how long. */
export interface KeyedOptions {
  /** The largest number of keys; 10,000 unless given. The key used least recently is dropped first. */
  most?: number | null | undefined;
  /** For how long a key is kept that nobody asks for; 10 minutes unless given. */
  idle?: Length | null | undefined;
  /** Milliseconds since any moment; the host's clock unless given. */
  now?: (() => number) | null | undefined;
}

interface Entry {
  readonly guards: Guards;
  usedAt: number;
}

/** Guards by a key. Guards that are given as objects are shared by all keys. */
export class KeyedGuards<Key = string> {
  private readonly blueprint: Blueprint;
  private readonly onChange: ChangeHook["onChange"];
  private readonly seed: bigint;
  private readonly most: number;
  private readonly idle: number;
  private readonly clock: () => number;
  /** The least recently used first. */
  private readonly entries = new Map<Key, Entry>();
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

  /** The guards of a key; new ones for a key that is new, or was not asked for lately. */
  of(key: Key): Guards {
    const now = this.clock();
    const known = this.entries.get(key);
    if (known) this.entries.delete(key);
    // The eldest are first: what is idle is there, and goes a few at a time.
    for (const [eldest, { usedAt }] of this.entries) {
      if (now - usedAt <= this.idle && this.entries.size < this.most) break;
      this.entries.delete(eldest);
    }
    const fresh = known && now - known.usedAt <= this.idle;
    const entry = fresh ? known : { guards: this.make(key, now), usedAt: now };
    entry.usedAt = now;
    this.entries.set(key, entry);
    return entry.guards;
  }

  private make(key: Key, now: number): Guards {
    const { onChange } = this;
    return Guards.of(this.blueprint, { seed: seedAt(this.seed, this.made++), now, name: String(key), onChange });
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
