/** A call under guards as a machine, for programs with a loop of their own. */

import { checkSeed, wrongType } from "../errors.js";
import { checkedFailure, codeOf, hintBits } from "../failure.js";
import type { Failure } from "../hooks.js";
import { exact } from "../memory.js";
import { type Policy, type Step, stepOf, ticketOf, wordsOf } from "../policy.js";
import type { Same, Time } from "../values.js";
import type { FailureKind } from "../words.js";
import { notifyWaiters, watched } from "./guard.js";
import { Guards } from "./guards.js";
import { loadAll, loadPolicy, memory, readStep, stepLong, writeArgument } from "./memory.js";

/**
 * The whole loop as a machine under guards. It works like `Call`, and in addition: the first step may be a sleep or a stop; an
 * attempt may come with a `wakeAt`, at which to tick; a sleep for the bulkhead or the breaker may end earlier, so tick whenever
 * another call under the same guard has ended an attempt. Cancel a call that you drop before its stop, or its permits are lost.
 */
export class GuardedCall {
  private readonly policy: Uint32Array;
  private readonly guards: Guards;
  private readonly state: Uint32Array;

  private constructor(policy: Uint32Array, guards: Guards) {
    this.policy = policy;
    this.guards = guards;
    this.state = memory().copy("call");
  }

  /** A call that begins at `now`, and its first step. */
  static begin<T extends Time>(
    policy: Policy,
    guards: Guards,
    seed: number | bigint,
    now: T,
  ): [call: GuardedCall, step: Step<Same<T>>] {
    const words = wordsOf(policy);
    if (!(guards instanceof Guards)) throw wrongType("guards", guards, "Guards");
    checkSeed(seed, "seed");
    const time = exact(now, "now");
    loadAll(guards);
    loadPolicy(words);
    memory().writeNumbers(time, BigInt(seed));
    watched(guards.breaker, () => memory().core.call_begin(guards.mask));
    const step = stepLike(now);
    return [new GuardedCall(words, guards), step];
  }

  /** The attempt with this ticket succeeded at `now`. */
  succeed<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>> {
    return this.move(now, () => memory().core.call_succeed(this.guards.mask), ticketOf(ticket));
  }

  /** The attempt with this ticket failed at `now`. */
  fail<T extends Time>(ticket: number | bigint, now: T, failure: Failure | FailureKind): Step<Same<T>> {
    const number = ticketOf(ticket);
    const judged = checkedFailure(failure);
    const fail = () => {
      memory().longs[3] = hintBits(judged.hint);
      memory().core.call_fail(this.guards.mask, codeOf(judged));
    };
    return this.move(now, fail, number);
  }

  /** The attempt with this ticket ended at `now` by a fault of the program's own, which says nothing of the other side. */
  abandon<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>> {
    return this.move(now, () => memory().core.call_abandon(this.guards.mask), ticketOf(ticket));
  }

  /** Nothing but time has passed, or a place in the bulkhead or the breaker may have come free. */
  tick<T extends Time>(now: T): Step<Same<T>> {
    return this.move(now, () => memory().core.call_tick(this.guards.mask));
  }

  /** The caller wants no more of it. */
  cancel<T extends Time>(now: T): Step<Same<T>> {
    return this.move(now, () => memory().core.call_cancel(this.guards.mask));
  }

  private move<T extends Time>(now: T, transition: () => void, ticket = 0): Step<Same<T>> {
    const time = exact(now, "now");
    loadAll(this.guards);
    loadPolicy(this.policy);
    memory().write("call", this.state);
    memory().writeNumbers(time);
    writeArgument(2, ticket);
    watched(this.guards.breaker, transition);
    memory().read("call", this.state);
    const step = stepLike(now);
    notifyWaiters(this.guards);
    return step;
  }
}

function stepLike<T extends Time>(like: T): Step<Same<T>> {
  const { codes, attempt, at, wakeAt } = readStep();
  const time = (first: boolean) => (typeof like === "bigint" ? stepLong(first) : first ? at : wakeAt) as Same<T>;
  return stepOf(codes, attempt, time);
}
