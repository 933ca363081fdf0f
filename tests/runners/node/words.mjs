// What vectors say and what the package says, as texts that can be compared.

export const NEVER = 2n ** 64n - 1n;

/** A number of a vector. */
export const N = (value) => (value === "never" ? NEVER : BigInt(value));

export const failureOf = ({ kind, hint, rule }) => ({
  kind,
  rule,
  hint: hint === "none" ? undefined : hint === "never" ? "never" : N(hint),
});

/** A failure as a vector says it. The library says hints in milliseconds, or in nanoseconds as a bigint. */
export function failureText(failure) {
  if (failure === undefined) return "null";
  const { kind, hint } = failure;
  return text({ kind, hint: hintText(hint) });
}

/** Two answers are equal when their texts are: names in a fixed order, times as decimal numbers. */
export function text(value) {
  if (value === null || typeof value !== "object") return String(value);
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${name}: ${value[name]}`)
    .join(", ")}}`;
}

/** What a vector expects, its numbers read. */
export function expected(value) {
  if (value === null) return "null";
  const read = { ...value };
  for (const name of ["abort_at", "wake_at", "until", "retry_at", "hint"]) {
    if (name in read && read[name] !== "none" && !(name === "hint" && read[name] === "never"))
      read[name] = N(read[name]);
  }
  return text(read);
}

/** A step or a decision with the names of a vector. */
export function answer(step) {
  const { kind, attempt, abortAt, wakeAt, until, cause, outcome, reason, retryAt } = step;
  if (kind === "attempt") return text({ kind, attempt, abort_at: abortAt, wake_at: wakeAt });
  if (kind === "sleep") return text({ kind, until, cause });
  if (kind === "wait") return text({ kind, until });
  const end = reason === undefined ? {} : { reason, retry_at: retryAt };
  return text(kind === "stop" ? { kind, outcome, ...end } : { kind, ...end });
}

/** A hint as a vector says it. */
export const hintText = (hint) => text(typeof hint === "number" ? BigInt(hint * 1e6) : (hint ?? "none"));

export const hex = (bytes) => Buffer.from(bytes).toString("hex");
export const bytesOf = (hex) => new Uint8Array(Buffer.from(hex, "hex"));

/** The operations of calls, retries that are recorded, and calls inside calls: what each asks of the machine. */
export const CALLS = {
  succeed: (machine, { ticket }, now) => machine.succeed(N(ticket), now),
  fail: (machine, { ticket, failure, text }, now) => machine.fail(N(ticket), now, failureOf(failure), text),
  abandon: (machine, { ticket, text }, now) => machine.abandon(N(ticket), now, text),
  tick: (machine, _, now) => machine.tick(now),
  cancel: (machine, _, now) => machine.cancel(now),
};

/** Does what an event says by a table of operations, each a function of the machine, the event and its time. */
export function apply(operations, machine, event, ...rest) {
  const { op = event.event, now = event.at } = event;
  if (!Object.hasOwn(operations, op)) throw new Error(`unknown operation ${op}`);
  return operations[op](machine, event, now === undefined ? undefined : N(now), ...rest);
}

const SECTIONS = ["budget", "breaker", "limiter", "bulkhead", "adaptive", "stretch", "hedge", "pause"];
export const sectionsOf = (document) => Object.fromEntries(SECTIONS.map((name) => [name, document[name]]));
