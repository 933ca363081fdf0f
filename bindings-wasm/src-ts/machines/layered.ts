/** A retry inside a retry, as one machine with one cap over both levels. */

import { readBigint, SPAN } from "../core.js";
import { ATTEMPTS_RANGE, problem, WRONG_TYPE } from "../errors.js";
import { type Failure, writeFailure } from "../failure.js";
import { type Step, stepOf, ticketOf, wordsOf } from "../machine.js";
import { exact, like } from "../memory.js";
import type { Policy } from "../policy.js";
import { checkSeed } from "../seed.js";
import type { Same, Time } from "../times.js";
import { type FailureKind, LEVELS, type Level, REASONS, type StopReason } from "../words.js";
import { memory } from "./memory.js";

/** The options between the two levels. */
export interface LayersOptions {
  /** How many attempts there may be over both; as many as the two policies allow unless given. */
  attempts?: number | null | undefined;
  /**
   * True for each reason after which the outer level goes on when the inner one gave up. By default it goes on after attempts,
   * deadline and hint, and not after a permanent failure.
   */
  goOnAfter?: Partial<Record<StopReason, boolean>> | null | undefined;
}

const UNCAPPED = 0xffffffff;

/** The policies of both levels. */
export class Layers {
  private readonly words: Uint32Array;

  constructor(outer: Policy, inner: Policy, options: LayersOptions = {}) {
    const { attempts, goOnAfter } = options;
    const cap = attempts ?? UNCAPPED;
    const right = Number.isInteger(cap) && cap >= 0 && (cap < UNCAPPED || attempts === undefined || attempts === null);
    if (!right) throw problem(ATTEMPTS_RANGE, "attempts", attempts);
    const reasons = Object.entries(goOnAfter ?? {}).map(([reason, goesOn]) => {
      const code = Math.max(0, REASONS.indexOf(reason as StopReason, 1));
      if (code === 0) throw problem(WRONG_TYPE, `goOnAfter.${reason}`, goesOn);
      return [code, goesOn ? 1 : 0] as const;
    });
    memory().write("policy", wordsOf(outer));
    memory().write("inner", wordsOf(inner));
    const { core } = memory();
    memory().check(core.layers(cap));
    for (const [code, goesOn] of reasons) core.layers_go_on(code, goesOn);
    this.words = memory().copy("layers");
  }

  /** The most attempts there can be over both levels, or Infinity. */
  get attempts(): number {
    memory().write("layers", this.words);
    const most = memory().core.layers_attempts() >>> 0;
    return most === UNCAPPED ? Infinity : most;
  }
}

/** A call inside a call: driven as a {@link Call} is. */
export class Layered {
  private readonly layers: Uint32Array;
  private readonly words: Uint32Array;

  private constructor(layers: Uint32Array) {
    this.layers = layers;
    this.words = memory().copy("layered");
  }

  /** Begins at `now` with the first attempt of both levels, and its first step. */
  static begin<T extends Time>(layers: Layers, seed: number | bigint, now: T): [Layered, Step<Same<T>>] {
    writeOrigin(layers, seed, now);
    memory().core.layered_begin();
    return [new Layered(layers["words"]), readStep(now)];
  }

  /** One whose first attempt, ticket 1, already runs since `started`. */
  static underway(layers: Layers, seed: number | bigint, started: Time): Layered {
    writeOrigin(layers, seed, started);
    memory().core.layered_underway();
    return new Layered(layers["words"]);
  }

  /** The attempt with this ticket succeeded at `now`. */
  succeed<T extends Time>(ticket: number | bigint, now: T): Step<Same<T>> {
    return this.answer(now, ticket, memory().core.layered_succeed);
  }

  /** The attempt with this ticket failed at `now`. `outward` is what the outer level is told if the inner one gives up. */
  fail<T extends Time>(
    ticket: number | bigint,
    now: T,
    failure: Failure | FailureKind,
    outward?: Failure | FailureKind,
  ): Step<Same<T>> {
    const kind = writeFailure(failure);
    const hint = readBigint(SPAN);
    const told = outward === undefined ? 0 : writeFailure(outward);
    return this.answer(now, ticket, () => memory().core.layered_fail(kind, told), hint, readBigint(SPAN));
  }

  /** Why the inner level would give up if that attempt failed like that; undefined when it would not. */
  wouldGiveUp(ticket: number | bigint, now: Time, failure: Failure | FailureKind): StopReason | undefined {
    const kind = writeFailure(failure);
    memory().writeNumbers(exact(now, "now"), BigInt(ticketOf(ticket)), readBigint(SPAN));
    this.load();
    const reason = memory().core.layered_would_give_up(kind);
    return reason === 0 ? undefined : (REASONS[reason] as StopReason);
  }

  /** Nothing but time has passed. */
  tick<T extends Time>(now: T): Step<Same<T>> {
    return this.answer(now, 0, memory().core.layered_tick);
  }

  /** The caller wants no more of it. */
  cancel<T extends Time>(now: T): Step<Same<T>> {
    return this.answer(now, 0, memory().core.layered_cancel);
  }

  /** The attempts so far, and once it gave up the level that did and why the inner one last did. */
  get state(): {
    attempt: number;
    outerAttempt: number;
    innerAttempt: number;
    stoppedBy: Level | undefined;
    innerReason: StopReason | undefined;
  } {
    this.load();
    memory().core.layered_look();
    const [attempt, outerAttempt, innerAttempt, level, reason] = [0, 1, 2, 3, 4].map((at) =>
      Number(memory().readNumber(at)),
    ) as [number, number, number, number, number];
    const stoppedBy = level === 0 ? undefined : (LEVELS[level] as Level);
    return {
      attempt,
      outerAttempt,
      innerAttempt,
      stoppedBy,
      innerReason: reason === 0 ? undefined : (REASONS[reason] as StopReason),
    };
  }

  private load(): void {
    memory().write("layers", this.layers);
    memory().write("layered", this.words);
  }

  private answer<T extends Time>(
    now: T,
    ticket: number | bigint,
    ask: () => number,
    ...hints: bigint[]
  ): Step<Same<T>> {
    memory().writeNumbers(exact(now, "now"), BigInt(ticketOf(ticket)), ...hints);
    this.load();
    ask();
    memory().read("layered", this.words);
    return readStep(now);
  }
}

function writeOrigin(layers: Layers, seed: number | bigint, now: Time): void {
  if (!(layers instanceof Layers)) throw problem(WRONG_TYPE, "layers", layers);
  checkSeed(seed, "seed");
  memory().writeNumbers(exact(now, "now"), BigInt(seed));
  memory().write("layers", layers["words"]);
}

function readStep<T extends Time>(now: T): Step<Same<T>> {
  const { words } = memory();
  const [codes, attempt] = words.step as unknown as [number, number];
  const long = (at: number) => BigInt(words.step[at] as number) | (BigInt(words.step[at + 1] as number) << 32n);
  return stepOf(codes, attempt, (first) => like(now, long(first ? 2 : 4)));
}
