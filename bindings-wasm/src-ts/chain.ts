/** Questions to an error, its causes and its answer: clients wrap errors. */
import { outcomeOf } from "./errors.js";
import { clean, isObject } from "./values.js";

interface Link {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly response?: unknown;
}

/** True if a test holds for an error, for one of its causes or for an answer in it. A getter that throws says nothing. */
function some(error: unknown, test: (link: Link) => boolean, depth = 8): boolean {
  if (depth === 0 || !isObject(error)) return false;
  try {
    const { cause, response } = clean(error as Link);
    return test(error as Link) || some(cause, test, depth - 1) || some(response, test, depth - 1);
  } catch {
    return false;
  }
}

/**
 * True if a retry has already given up on this error or this answer, or on a cause of it: another retry around would only repeat
 * its attempts. Made for the predicates of other libraries, and true for what they have wrapped.
 */
export const givenUp = (error: unknown): boolean => some(error, (link) => outcomeOf(link)?.outcome === "gave_up");

/** How runtimes say that the body of a request, a stream or a `Request`, was sent before. */
const USED = /already (been )?(used|read|consumed)|unusable|disturbed|is locked|used body/i;

export const isUsedBody = (error: unknown): boolean =>
  some(error, ({ name, message }) => name === "TypeError" && USED.test(String(message)));

const finals = new WeakSet<object>();

/** Throws an error after which the retry around makes no further attempt: the error comes out as it is, with its outcome. */
export function stop(error: unknown): never {
  const final = isObject(error) ? error : new Error(String(error), { cause: error });
  finals.add(final as object);
  throw final;
}

/** True for an error of {@link stop}, once: the retry that stops asks first, and a retry around it judges the error as any other. */
export const isFinal = (error: unknown): boolean => some(error, (link) => finals.delete(link));
