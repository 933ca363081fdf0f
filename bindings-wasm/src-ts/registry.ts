/** Policies by name, which a program may load anew while it runs. */
import { ConfigError, NOT_AN_OBJECT, NOT_JSON, problem, UNKNOWN_WORD, wrongType } from "./errors.js";
import type { PolicyFields, PresetName } from "./fields.js";
import { type CallOptions, checkWork, type Work } from "./host.js";
import { nearest } from "./nearest.js";
import { Policy } from "./policy.js";
import { isFields } from "./values.js";

/** Policies by name. Operations look theirs up at each call, so they hear of a new one. */
export class Registry {
  private readonly policies = new Map<string, Policy>();

  /** Defines or replaces a policy: a `Policy`, its fields or the name of a preset. Throws a {@link ConfigError} about a wrong field. */
  define(name: string, policy: Policy | PolicyFields | PresetName): Policy {
    if (typeof name !== "string") throw wrongType("name", name, "a text");
    const made = policy instanceof Policy ? policy : new Policy(policy);
    this.policies.set(name, made);
    return made;
  }

  /** The policy of a name. Throws a {@link ConfigError} with the nearest name if there is none. */
  get(name: string): Policy {
    const policy = this.policies.get(name);
    if (policy) return policy;
    if (typeof name !== "string") throw wrongType("name", name, "a text");
    const known = nearest(name, [...this.policies.keys()]);
    throw new ConfigError(
      UNKNOWN_WORD,
      "unknown_word",
      "name",
      ` = ${JSON.stringify(name)}`,
      "is no policy's name",
      known,
    );
  }

  /**
   * Defines policies by an object, or its JSON, of a policy document for each name. Throws a {@link ConfigError} about the first
   * document that is wrong, and changes nothing then. A policy whose document says what it said before stays, with its guards.
   */
  load(documents: string | object): void {
    const loaded: [string, Policy][] = [];
    for (const [name, document] of Object.entries(parsed(documents))) {
      const policy = under(name, () => Policy.fromJson(document as object));
      if (JSON.stringify(policy) !== JSON.stringify(this.policies.get(name))) loaded.push([name, policy]);
    }
    for (const [name, policy] of loaded) this.policies.set(name, policy);
  }

  /** Runs `fn` as `retry` does, under the policy that the name has now. */
  async retry<T>(name: string, fn: Work<T>, options?: CallOptions<Awaited<T>, Awaited<T>>): Promise<Awaited<T>> {
    return this.get(name).retry(fn, options);
  }

  /** A function that retries `fn`, with its arguments and its `this`, under the policy that the name has at each call. */
  wrap<This, Args extends readonly unknown[], T>(
    name: string,
    fn: (this: This, ...args: Args) => T,
    options?: CallOptions<Awaited<T>, Awaited<T>>,
  ): (this: This, ...args: Args) => Promise<Awaited<T>> {
    checkWork(fn);
    const own = { ...options, name: options?.name ?? fn.name };
    const run = (work: Work<T>) => this.retry(name, work, own);
    return function (this: This, ...args: Args) {
      return run(() => fn.apply(this, args as never));
    };
  }
}

function parsed(documents: unknown): object {
  let value = documents;
  try {
    if (typeof value === "string") value = JSON.parse(value);
  } catch (cause) {
    throw problem(NOT_JSON, "", documents, cause);
  }
  if (!isFields(value)) throw problem(NOT_AN_OBJECT, "", value);
  return value;
}

/** The error about a document names its policy, too. */
function under<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { code, word, path, rule, message, nearest } = error;
    const value = path ? message.slice(path.length, message.indexOf(`: ${rule}`)) : "";
    throw new ConfigError(code, word, path ? `${name}.${path}` : name, value, rule, nearest, error);
  }
}
