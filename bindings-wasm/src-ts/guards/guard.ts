/** What all guards have: a configuration, a state that is laid on the desk, and bytes of it that last. */
import { exact } from "../border.js";
import { problem, WRONG_TYPE } from "../errors.js";
import { checkSeed } from "../seed.js";
import type { Time } from "../times.js";
import { collect, type Given, type Kept, LIST, NUMBER, snake } from "../values.js";
import {
  BREAKER,
  clear,
  configAt,
  desk,
  type GuardName,
  give,
  got,
  hostNow,
  type Laid,
  LIMITER,
  lay,
  NAMES,
  randomSeed,
  roomFor,
  stateAt,
} from "./desk.js";
import { layKept } from "./kept.js";
import type { Nesting } from "./nested.js";

/** Where a guard's randomness comes from, and when it begins. */
export interface GuardOptions {
  /** A whole number from 0, as a bigint up to 2^64-1; from the operating system unless given. */
  seed?: number | bigint | null | undefined;
  /** Nanoseconds; the host's time unless given. */
  now?: Time | undefined;
}

/** Configurations, checked: the words of each guard there is, and how long a limiter's log is. */
export interface Configs {
  readonly words: readonly (Uint32Array | undefined)[];
  readonly log: number;
  readonly nesting: Nesting | undefined;
  /** Whether the breaker asks how long an attempt took; and whether it asks when one succeeded. */
  readonly asksTook: boolean;
  readonly asksWhen: boolean;
}

const NOT_SAID = 4;

/** Reads the configurations that fields say. Throws a ConfigError. */
export function configsOf(kept: Kept): Configs {
  clear();
  const { core } = desk();
  layKept(desk(), kept);
  desk().check(core.guards_build());
  const [mask, mode, cap, log] = [got(0), got(1), got(2), got(3)];
  const words = NAMES.map((_, index) => (mask & (1 << index) ? configAt(index) : undefined));
  const says = (path: string) => !Array.isArray(kept) || kept.some((given) => given.path === path);
  const kind = Array.isArray(kept) ? kept.find(({ path }) => path === "breaker" || path === "breaker.kind")?.value : "";
  return {
    words,
    log,
    nesting: mode === NOT_SAID ? undefined : { mode, cap },
    asksTook: says("breaker.slow_after"),
    asksWhen: kind !== undefined && kind !== "consecutive",
  };
}

/** The fields of sections, as the core names them. */
export function fieldsOf(sections: object): Given[] {
  const given: Given[] = [];
  collect(given, "", sections, NUMBER, 0);
  return given.filter(({ kind }) => kind !== LIST).map((field) => ({ ...field, path: snake(field.path) }));
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

/** The states of guards as the desk has them, new. Those that are not there are undefined. */
export function laidOf(configs: Configs, { seed, now }: Origin): (Laid | undefined)[] {
  clear();
  let mask = 0;
  for (const [index, config] of configs.words.entries()) {
    if (config === undefined) continue;
    mask |= 1 << index;
    desk().lay(`${NAMES[index] as GuardName}Config`, config);
  }
  desk().give(now, seed);
  desk().core.guards_new(mask);
  return configs.words.map((config, index) => (config === undefined ? undefined : laidAt(index, config, configs)));
}

function laidAt(index: number, config: Uint32Array, { log, asksTook, asksWhen }: Configs): Laid {
  return {
    index,
    config,
    words: stateAt(index),
    log: index === LIMITER && log > 0 ? new Uint32Array(log * 2) : undefined,
    ...(index === BREAKER && { asksTook, asksWhen }),
  };
}

/** What all guards have. */
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
  constructor(index: number, fields: unknown, options?: GuardOptions) {
    const section = NAMES[index] as GuardName;
    const origin = originOf(options);
    const laid = laidOf(configsOf(fieldsOf({ [section]: fields ?? null })), origin)[index];
    if (laid === undefined) throw problem(WRONG_TYPE, section, fields);
    Object.assign(this, laid);
  }

  /** Its state as bytes that last, for another process or another clock. What is in flight is not in it. */
  save(now?: Time): Uint8Array {
    this.at(now);
    const long = this.log ? desk().core.limiter_saved() : 0;
    if (this.log) behind(this.log, long);
    const length = desk().core.guard_save(1 << this.index);
    return (this.log ? behind(this.log, length) : desk().text.subarray(0, length)).slice();
  }

  /** Replaces its state by one that was saved under a configuration of the same kind. */
  protected restored(bytes: Uint8Array, now: Time | undefined): this {
    if (!(bytes instanceof Uint8Array)) throw problem(WRONG_TYPE, "bytes", bytes);
    this.at(now);
    // One byte more than there can be is enough to be told so.
    const longest = this.log ? desk().core.limiter_saved() + 1 : desk().text.length;
    const given = bytes.subarray(0, longest);
    (this.log ? behind(this.log, given.length) : desk().text).set(given);
    desk().check(desk().core.guard_restore(1 << this.index, given.length));
    return this;
  }

  /** Lays it down, and the time; the sample of how times come back. */
  protected at(now: Time | undefined): Time {
    lay(this);
    if (now === undefined) give(0, hostNow());
    else if (typeof now === "number" && Number.isSafeInteger(now) && now >= 0) give(0, now);
    else desk().give(exact(now, "now"));
    return now ?? 0;
  }

  /** @internal */
  static again(guard: Guard, bytes: Uint8Array, now: Time | undefined): void {
    guard.restored(bytes, now);
  }
}

/** The memory behind a log. */
function behind(log: Uint32Array, length: number): Uint8Array {
  const times = log.length / 2;
  const at = roomFor(times + Math.ceil(length / 8));
  return desk().memory(Uint8Array, at + times * 8, length);
}

/** Nothing held, and no place. */
export const NONE = 0xffffffff;

/** A number of things, or of tokens. */
export function counted(value: number, name: string): number {
  if (!(Number.isInteger(value) && value >= 0 && value < NONE)) throw problem(WRONG_TYPE, name, value);
  return value;
}
