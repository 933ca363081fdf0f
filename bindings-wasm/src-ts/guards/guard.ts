/** The base of all guards: a configuration, a state, and its bytes. */

import { hostNow } from "../clock.js";
import { problem, WRONG_TYPE } from "../errors.js";
import { exact } from "../memory.js";
import { checkSeed } from "../seed.js";
import type { Time } from "../times.js";
import { collect, type FieldValue, LIST, NUMBER, snake } from "../values.js";
import { type Configs, configsOf } from "./configs.js";
import {
  BREAKER,
  clear,
  type GuardName,
  LIMITER,
  load,
  memory,
  NAMES,
  randomSeed,
  type StoredGuard,
  stateAt,
  writeArgument,
} from "./memory.js";

/** Where a guard's randomness comes from, and when it begins. */
export interface GuardOptions {
  /** A whole number from 0, as a bigint up to 2^64-1; from the operating system unless given. */
  seed?: number | bigint | null | undefined;
  /** Nanoseconds; the host's time unless given. */
  now?: Time | undefined;
}

/** The fields of sections, as the core names them. */
export function fieldsOf(sections: object): FieldValue[] {
  const values: FieldValue[] = [];
  collect(values, "", sections, NUMBER, 0);
  return values.filter(({ kind }) => kind !== LIST).map((field) => ({ ...field, path: snake(field.path) }));
}

/** Anything that has fresh states and the seed and the time that they begin with. */
export interface Origin {
  readonly seed: bigint;
  readonly now: bigint;
}

export function originOf({ seed, now }: GuardOptions = {}): Origin {
  if (seed !== undefined && seed !== null) checkSeed(seed, "seed");
  return {
    seed: seed === undefined || seed === null ? randomSeed() : BigInt(seed),
    now: now === undefined ? BigInt(hostNow()) : exact(now, "now"),
  };
}

/** New states of guards; undefined where a set has no such guard. */
export function storedGuards(configs: Configs, { seed, now }: Origin): (StoredGuard | undefined)[] {
  clear();
  let mask = 0;
  for (const [index, config] of configs.words.entries()) {
    if (config === undefined) continue;
    mask |= 1 << index;
    memory().write(`${NAMES[index] as GuardName}Config`, config);
  }
  memory().writeNumbers(now, seed);
  memory().core.guards_new(mask);
  return configs.words.map((config, index) => (config === undefined ? undefined : storedGuard(index, config, configs)));
}

function storedGuard(index: number, config: Uint32Array, { log, asksTook, asksWhen }: Configs): StoredGuard {
  return {
    index,
    config,
    words: stateAt(index),
    log: index === LIMITER && log > 0 ? new Uint32Array(log * 2) : undefined,
    slot: 0,
    ...(index === BREAKER && { asksTook, asksWhen }),
  };
}

/** The base of all guards. */
export abstract class Guard {
  /** @internal */
  declare readonly index: number;
  /** @internal */
  declare readonly config: Uint32Array;
  /** @internal */
  declare readonly words: Uint32Array;
  /** @internal */
  declare readonly log: Uint32Array | undefined;
  /** @internal */
  declare slot: number;

  /** @internal */
  constructor(index: number, fields: unknown, options?: GuardOptions) {
    const section = NAMES[index] as GuardName;
    const origin = originOf(options);
    const state = storedGuards(configsOf(fieldsOf({ [section]: fields ?? null })), origin)[index];
    if (state === undefined) throw problem(WRONG_TYPE, section, fields);
    Object.assign(this, state);
  }

  /** Lays it down, and the time; the sample of how times come back. */
  protected at(now: Time | undefined): Time {
    load(this);
    if (now === undefined) writeArgument(0, hostNow());
    else if (typeof now === "number" && Number.isSafeInteger(now) && now >= 0) writeArgument(0, now);
    else memory().writeNumbers(exact(now, "now"));
    return now ?? 0;
  }
}

/** Nothing held, and no place. */
export const NONE = 0xffffffff;

/** A number of things, or of tokens. */
export function counted(value: number, name: string): number {
  if (!(Number.isInteger(value) && value >= 0 && value < NONE)) throw problem(WRONG_TYPE, name, value);
  return value;
}
