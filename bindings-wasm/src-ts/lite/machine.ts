/**
 * The retry loop under a policy of one stage without powers, decided as the core decides (docs/spec.md). Times are nanoseconds
 * in doubles, exact up to 104 days. `test/lite.test.mjs` holds this machine against the core's.
 */
import { PERMANENT } from "../codes.js";
import type { Cause, StopReason } from "../words.js";
import { LONGEST, type Policy } from "./policy.js";

/** A step and its time: to abort the attempt at, to sleep until, or before which another try is in vain. */
export type Step =
  | { readonly kind: "attempt"; readonly at: number }
  | { readonly kind: "sleep"; readonly at: number; readonly cause: Cause }
  | { readonly kind: "stop"; readonly at: number; readonly reason: StopReason };

const stop = (reason: StopReason, at = Infinity): Step => ({ kind: "stop", at, reason });

// PCG XSH RR 64/32 (O'Neill, 2014) on its default stream (spec 2.2).
const INCREMENT = 0x1405_7b7e_f767_814fn;
const advanced = (state: bigint) => BigInt.asUintN(64, state * 0x5851_f42d_4c95_7f2dn + INCREMENT);

/** One call of an operation from its first failure on; the first attempt runs since time 0. */
export class Machine {
  private readonly policy: Policy;
  private random: bigint;
  /** The latest delay before jitter. */
  private base = 0;
  private latest = 0;
  /** The end of the sleep. */
  private until = 0;
  /** The number of the latest attempt. */
  attempt = 1;

  constructor(policy: Policy, seed: bigint) {
    this.policy = policy;
    this.random = advanced(seed + INCREMENT);
  }

  /** The attempt failed at `now` with a kind's number and a hint in milliseconds: below 0 for never, NaN for none. */
  fail(now: number, kind: number, hint: number): Step {
    const { attempts, hintMax, deadline, minAttempt, clips } = this.policy;
    now = this.observe(now);
    if (kind === PERMANENT || hint < 0) return stop("permanent");
    if (this.attempt >= attempts) return stop("attempts");
    const asked = hint >= 0 ? Math.min(Math.floor(hint * 1e6 + 0.5), LONGEST) : 0;
    if (asked > hintMax) return stop("hint", now + asked);
    const [low, delay] = this.delay();
    // spec 7.2: the whole range moves up until its bottom is the hint
    const lift = Math.max(asked - low, 0);
    const until = now + delay + lift;
    // spec 6.2 and 6.3
    const lastStart = deadline - minAttempt;
    if (until < deadline && until <= lastStart) return this.sleep(until, lift > 0 ? "hint" : "backoff");
    if (clips && now < lastStart && now + asked <= lastStart) return this.sleep(lastStart, "clip");
    return stop("deadline", until);
  }

  /** The sleep is over at `now`. */
  wake(now: number): Step {
    const { attemptTimeout, deadline } = this.policy;
    now = this.observe(now);
    // spec 6.4: the host woke up too late for this one
    if (now >= deadline) return stop("deadline", this.until);
    this.attempt++;
    return { kind: "attempt", at: Math.min(now + attemptTimeout, deadline) };
  }

  /** The shortest delay that the next draw could lead to, and the drawn delay (spec 4 and 5). */
  private delay(): [low: number, delay: number] {
    const { kind, jitter, initial, increment, factor, max } = this.policy;
    const [first, decorrelated] = [this.attempt === 1, kind === "decorrelated"];
    const previous = first ? initial : this.base;
    const grown =
      kind === "linear" ? previous + increment : kind === "constant" ? previous : Math.floor(previous * factor);
    const high = first && !decorrelated ? previous : Math.min(grown, max);
    const low = decorrelated ? initial : jitter === "full" ? 0 : jitter === "equal" ? Math.floor(high / 2) : high;
    const delay = low + Math.floor(this.draw() * Math.max(high - low, 0));
    this.base = decorrelated ? delay : high;
    return [low, delay];
  }

  /** A uniform number from [0, 1), a multiple of 2^-32. */
  private draw(): number {
    const state = this.random;
    this.random = advanced(state);
    const [bits, by] = [Number(BigInt.asUintN(32, (state ^ (state >> 18n)) >> 27n)), Number(state >> 59n)];
    return (((bits >>> by) | (bits << -by)) >>> 0) / 2 ** 32;
  }

  private sleep(at: number, cause: Cause): Step {
    this.until = at;
    return { kind: "sleep", at, cause };
  }

  private observe(now: number): number {
    return (this.latest = Math.max(this.latest, now));
  }
}
