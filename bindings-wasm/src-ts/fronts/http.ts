/** What all fronts of `holdoff` share: their options, and the options of one request. Decisions are the policy's. */
import "../index.js";
import { discard } from "../answers.js";
import { system } from "../clock.js";
import { wrongType } from "../errors.js";
import type { PresetName } from "../fields.js";
import { type CallOptions, checkedOptions, type Guarding, isHostField } from "../host.js";
import { Policy } from "../policy.js";
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
function bytesOf(size: number | string | null | undefined, otherwise: number): number {
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
  private readonly options: Omit<CallOptions, "guards">;
  private readonly guards: FrontOptions["guards"];

  constructor(given: GivenOptions = {}) {
    const isPolicy = given instanceof Policy || typeof given === "string";
    const { body, guards, ...own } = checkedOptions<FrontOptions>(isPolicy ? { policy: given } : given);
    this.policy = policyOfFunction(own);
    this.body = bytesOf(body, MEGABYTE);
    this.guards = guards;
    this.options = Object.fromEntries(Object.entries(own).filter(([name]) => isHostField(name)));
  }

  /** True if an attempt may end before its caller's signal aborts. */
  isLimited(own: FrontCall | undefined): boolean {
    return this.policy.firstLimit < Infinity || !!(own || this.guards || this.policy.guards);
  }

  bodyOf(own: FrontCall | undefined): number {
    return own?.body === undefined ? this.body : bytesOf(own.body, this.body);
  }

  /** The options of one request. */
  optionsOf<V>(facts: RequestFacts, own?: FrontCall): CallOptions<V> {
    const { method, idempotent, signal, canSend } = facts;
    const origin = facts.url ? new URL(facts.url, globalThis.location?.href).origin : "";
    const { guards } = this;
    const { body, ...given } = own ?? {};
    const name = `${method.toUpperCase()} ${origin}`.trim();
    const options = { name, key: origin, idempotent, ...this.options, ...given };
    const whenResult = typeof options.whenResult === "function" ? options.whenResult : true;
    const all: CallOptions = { ...options, signal, canSend, whenResult };
    if (!guards) return all as CallOptions<V>;
    all.guards = "of" in guards ? guards.of(options.key as string) : guards;
    // Under guards the next attempt may wait for the connection of this answer.
    all.onRetry = (event) => {
      const told = options.onRetry?.(event);
      discard(event.value, options.clock ?? system);
      return told;
    };
    return all as CallOptions<V>;
  }
}

const KEY = Symbol.for("holdoff.fronts");

/** Runs an attempt so that a front of `holdoff/undici` below it makes none of its own. */
export type Within = { run<T>(inside: true, fn: () => T): T; getStore(): true | undefined };

/** For all copies of this package; empty where there is no other front below. */
export const fronts = ((globalThis as { [KEY]?: { within?: Within } })[KEY] ??= {});

export const inFront = <T>(fn: () => T): T => (fronts.within ? fronts.within.run(true, fn) : fn());
