/** What all fronts of `holdoff` share: their options, and the options of one request. Decisions are the policy's. */
import "../index.js";
import { discard } from "../answers.js";
import { system } from "../clock.js";
import { unsupported, wrongType } from "../errors.js";
import type { PresetName } from "../fields.js";
import { type CallOptions, checkedOptions, type Guarding, isHostField, type Work } from "../host.js";
import { Policy, run } from "../policy.js";
import { policyOfFunction, type WrapOptions } from "../retry.js";
import { IDEMPOTENT, MEGABYTE } from "./request.js";

/** Options of a front: a policy or its fields, and how to run its requests. */
export type FrontOptions = Omit<WrapOptions, "signal" | "fallback" | "token" | "guards"> & {
  /** Guards of all requests, or `KeyedGuards` with a set for each origin. */
  guards?: Guarding | { of(origin: string): Guarding } | null | undefined;
  /**
   * The most bytes of an answer that are read in its attempt, and of a stream that are recorded to be sent again: a number or text such as
   * `"64kb"`; 1 MB unless given, 0 for none.
   */
  body?: number | string | null | undefined;
};

/** Options of one request. */
export type FrontCall = Omit<CallOptions, "signal" | "fallback" | "token"> & Pick<FrontOptions, "body">;

/** A policy, the name of a preset, or options. */
export type GivenOptions<O extends object = FrontOptions> = Policy | PresetName | O;

/** What a client says about one request. */
export interface RequestFacts {
  readonly method: string;
  /** Its address, or its origin. */
  readonly url: string | URL | undefined;
  readonly idempotent: boolean;
  readonly signal?: AbortSignal | null | undefined;
  /** Returns false if the body cannot be sent again. */
  readonly canSend?: (() => boolean) | undefined;
}

/** True if a request may run twice by its method, or because it has an idempotency key. Headers are an object, or pairs. */
export function mayRepeat(method: string, headers: unknown): boolean {
  if (IDEMPOTENT.test(method)) return true;
  const given = Object(headers);
  const names: unknown[] = Symbol.iterator in given ? [...given].flat() : Object.keys(given);
  return names.some((name) => /^idempotency-key$/i.test(String(name)));
}

/** The number of bytes of a size. */
export function bytesOf(size: number | string | null | undefined, otherwise: number): number {
  const [, digits, unit] = /^(\d+)([km]?)b$/i.exec(String(size)) ?? [];
  const factor = { "": 1, k: 1024, m: MEGABYTE }[unit?.toLowerCase() as "k"];
  const bytes = digits ? Number(digits) * factor : (size ?? otherwise);
  if (typeof bytes === "number" && bytes >= 0) return bytes;
  throw wrongType("body", size, 'a number of bytes or text such as "64kb"');
}

/** A front that is set up: a policy and its options. */
export class Front {
  readonly policy: Policy;
  readonly body: number;
  readonly options: CallOptions;
  readonly guards: FrontOptions["guards"];

  constructor(given: GivenOptions = {}) {
    const isPolicy = given instanceof Policy || typeof given === "string";
    const { body, guards, ...own } = checkedOptions<FrontOptions>(isPolicy ? { policy: given } : given);
    this.policy = policyOfFunction(own);
    this.body = bytesOf(body, MEGABYTE);
    this.guards = guards;
    const whenResult = typeof own.whenResult === "function" ? own.whenResult : true;
    this.options = { ...Object.fromEntries(Object.entries(own).filter(([name]) => isHostField(name))), whenResult };
  }

  /** True if an attempt may end before its caller's signal aborts. */
  isLimited(own: FrontCall | null | undefined): boolean {
    return this.policy.firstLimit < Infinity || !!(own || this.guards || this.policy.guards);
  }

  /** The options of one request. */
  optionsOf<V>({ method, url, idempotent, signal, canSend }: RequestFacts): CallOptions<V> {
    const key = url ? new URL(url, globalThis.location?.href).origin : "";
    const name = `${method.toUpperCase()} ${key}`.trim();
    return { name, key, idempotent, ...this.options, signal, canSend } as CallOptions<V>;
  }

  /** Runs the attempts of one request. */
  run<T>(work: Work<T>, facts: RequestFacts, own?: FrontCall | null): Promise<Awaited<T>> {
    const options = this.optionsOf<Awaited<T>>(facts);
    const { guards } = this;
    if (!guards && !own) return run(work, this.policy, options);
    const { body, ...given } = own ?? {};
    const all = { ...options, ...given } as CallOptions<Awaited<T>>;
    if (guards) {
      const { onRetry } = all;
      all.guards = "of" in guards ? guards.of(all.key as string) : guards;
      // Under guards the next attempt may wait for the connection of this answer.
      all.onRetry = (event) => {
        const told = onRetry?.(event);
        discard(event.value, options.clock ?? system);
        return told;
      };
    }
    return this.policy.retry(work, all);
  }
}

/** A front whose client makes the attempts, so that no guard but the budget can hold one back. */
export function frontOfSteps(given: GivenOptions | undefined): Front {
  const front = new Front(given);
  if (front.guards || front.policy.guards)
    throw unsupported("guards", "are not for clients that make the attempts themselves");
  return front;
}
