/** Tells hooks that a breaker has changed. */
import { HookError } from "../errors.js";
import { type ChangeEvent, type ChangeHook, listeners } from "../hooks.js";
import { BREAKER_STATES, type BreakerState } from "../words.js";
import { argumentsFrom, core, readArgument } from "./memory.js";

/** A breaker that may have hooks. */
export interface Watched extends ChangeHook {
  readonly name: string;
  readonly key: string | undefined;
  /** The state that was seen last; undefined while nobody is told. */
  seen: BreakerState | undefined;
}

/** True if anybody is told about a breaker. */
const isWatched = (breaker: Watched | undefined): boolean =>
  breaker !== undefined && (!!breaker.onChange || (listeners.length > 0 && listeners.some(({ onChange }) => onChange)));

/** The state of the breaker in memory at the time there. */
function look(): BreakerState {
  const results = argumentsFrom(1).subarray(0, 10);
  const saved = results.slice();
  const state = BREAKER_STATES[core.breaker_look()] as BreakerState;
  results.set(saved);
  return state;
}

/** Runs a transition of the breaker in memory. Hooks are told in a turn of their own: they may use the memory. */
export function watched<T>(breaker: Watched | undefined, transition: () => T): T {
  if (breaker === undefined || !isWatched(breaker)) {
    if (breaker) breaker.seen = undefined;
    return transition();
  }
  const before = (breaker.seen ??= look());
  const result = transition();
  const after = (breaker.seen = look());
  if (before !== after)
    tell(breaker, { name: breaker.name, key: breaker.key, before, after, atMs: readArgument(0) / 1e6 });
  return result;
}

async function tell({ onChange }: ChangeHook, event: ChangeEvent): Promise<void> {
  const hooks = [onChange, ...listeners.map((listener) => listener.onChange)];
  await undefined;
  try {
    await Promise.all(hooks.map((hook) => hook?.(event)));
  } catch (error) {
    throw new HookError("onChange", error, undefined);
  }
}
