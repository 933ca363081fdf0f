/** The guards that many calls share, as a set. */

import { problem, UNKNOWN_FIELD, wrongType } from "../errors.js";
import type { ChangeHook } from "../hooks.js";
import {
  type CompiledPolicy,
  type Guarding,
  type HostOptions,
  makeGuardsWith,
  type SharedStates,
  type Work,
} from "../host.js";
import type { Time } from "../values.js";
import { bareCopy, type GuardField, isFields } from "../values.js";
import CLASSES, { GuardSet } from "./classes.js";
import type { Nesting } from "./configs.js";
import { type Configs, configsOf } from "./configs.js";
import type { GuardFields } from "./fields.js";
import { fieldsOf, Guard, type GuardOptions, notifyWaiters, type Origin, originOf, storedGuards } from "./guard.js";
import { clear, type GuardName, NAMES } from "./memory.js";

/** The guards of a set: the fields of each, or one there is already, which sets may share. */
export interface GuardsOptions extends Sections, ChangeHook {
  /** The seed of the breaker's and the budget's draws: a whole number from 0, as a bigint up to 2^64-1; random unless given. */
  seed?: GuardOptions["seed"];
  /** When they begin, in nanoseconds; at the host's time unless given. */
  now?: Time | undefined;
  /** Their name, for `onChange`. */
  name?: GuardOptions["name"];
}

/** The options that are no sections. */
const OTHERS = ["seed", "now", "name", "onChange"];

/** The parts of a set of guards, to make any number of sets. */
export interface Blueprint {
  readonly configs: Configs;
  readonly shared: readonly (Guard | undefined)[];
}

/** Reads the options of a set. */
export function blueprintOf(options: GuardsOptions): Blueprint {
  if (!isFields(options)) throw wrongType("guards", options, "an object of guards and their fields");
  const shared: (Guard | undefined)[] = NAMES.map(() => undefined);
  const sections: Record<string, unknown> = {};
  for (const [name, value] of Object.entries<unknown>(options)) {
    if (OTHERS.includes(name) || value === undefined || value === null) continue;
    const index = NAMES.indexOf(name as GuardName);
    if (value instanceof Guard) {
      if (value.index !== index) throw wrongType(name, value, "a guard of this name");
      shared[index] = value;
    } else {
      if (name === "nested" || name === "preset") throw problem(UNKNOWN_FIELD, name, value);
      sections[name] = value;
    }
  }
  return { configs: configsOf(fieldsOf(sections)), shared };
}

/**
 * Guards that many operations share, so that a fleet stays alive when the other side is ill. Hand them to `retry`, `wrap` or a
 * policy's `retry` as `guards`.
 */
export class Guards extends GuardSet implements Guarding {
  /** @internal */
  declare readonly mask: number;
  /** @internal */
  declare readonly all: readonly Guard[];
  /**
   * The nesting of the policy that these guards belong to.
   * @internal
   */
  declare readonly nesting: Nesting | undefined;
  /**
   * True if they have a budget, or say that there is to be none: then loops bring none.
   * @internal
   */
  declare readonly namesBudget: boolean;
  /**
   * True if there are guards, none of them runs attempts side by side, and no breaker of theirs has a hook.
   * @internal
   */
  declare readonly isQuick: boolean;

  /** Throws a `ConfigError` with the whole path of what is wrong. */
  constructor(options: GuardsOptions = {}) {
    super();
    fill(this, blueprintOf(options), options);
  }

  /** @internal */
  static of(blueprint: Blueprint, options?: GuardOptions): Guards {
    const guards = Object.create(Guards.prototype) as Guards;
    fill(guards, blueprint, options);
    return guards;
  }

  /** Runs `fn` under a policy and these guards, as `retry` does with its option `guards`. */
  run<T>(fn: Work<T>, policy: CompiledPolicy, options?: HostOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
    return runWith(this, fn, policy, options && bareCopy(options));
  }

  /** No object of fields, not even to another copy of this package. */
  get [Symbol.toStringTag](): string {
    return "Guards";
  }
}

declare module "../host.js" {
  interface GuardSet extends Guards {}
}

type Writable = { -readonly [Name in keyof Guards]: Guards[Name] };

function fill(guards: Guards, { configs, shared }: Blueprint, options?: GuardOptions): void {
  const made = madeOf(configs, originOf(options));
  const into = guards as Writable;
  const all: Guard[] = [];
  let mask = 0;
  for (const [index, name] of NAMES.entries()) {
    const guard = shared[index] ?? made[index];
    (into as Record<GuardName, Guard | undefined>)[name] = guard;
    if (guard === undefined) continue;
    all.push(guard);
    mask |= 1 << index;
  }
  const { breaker } = guards;
  into.mask = mask;
  into.all = all;
  into.nesting = configs.nesting;
  into.namesBudget = configs.namesBudget || guards.budget !== undefined;
  into.isQuick = mask !== 0 && guards.hedge === undefined && !breaker?.onChange;
}

const statesOf = (guards: Guards): SharedStates => ({
  take() {
    clear();
    return guards.all;
  },
  notify: () => notifyWaiters(guards),
});

/** Runs an operation under guards: the loop of `engine.ts`. */
type Run = <T>(
  guards: Guards,
  fn: Work<T>,
  policy: CompiledPolicy,
  options: HostOptions<Awaited<T>, Awaited<T>> | undefined,
) => Promise<Awaited<T>>;

let runWith: Run;

/** Lets policies and recorded calls have guards, under which `run` runs operations. */
export function letPoliciesHaveGuards(run: Run): void {
  runWith = run;
  makeGuardsWith({
    check: (guardFields: readonly GuardField[]) => void configsOf(guardFields),
    make: (guardFields: readonly GuardField[]) => Guards.of({ configs: configsOf(guardFields), shared: [] }),
    states: (guards) => (guards instanceof Guards ? statesOf(guards) : undefined),
  });
}

/** New guards of configurations; undefined where a set has no such guard. */
const madeOf = (configs: Configs, origin: Origin): (Guard | undefined)[] =>
  storedGuards(configs, origin).map(
    (laid) => laid && Object.assign(Object.create(CLASSES[laid.index]?.prototype as Guard), laid),
  );

/** A guard by its name, or the fields to make it of. */
export type Sections = { [Name in GuardName]?: GuardFields[Name] | Guards[Name] };
