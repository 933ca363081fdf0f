/**
 * One listener a signal, for all the operations that it cancels. A program has one signal for its shutdown and thousands
 * of operations; a signal looks through all its listeners when it gets one more, and Node warns of the eleventh.
 */

interface Cancellable {
  cancel(): void;
}

const audiences = new WeakMap<AbortSignal, Audience>();

class Audience {
  readonly members = new Set<Cancellable>();

  handleEvent(): void {
    for (const member of this.members) member.cancel();
  }
}

/** Cancels the operation when the signal, which has not aborted yet, does. */
export function hear(signal: AbortSignal, member: Cancellable): void {
  let audience = audiences.get(signal);
  if (audience === undefined) audiences.set(signal, (audience = new Audience()));
  if (audience.members.size === 0) signal.addEventListener("abort", audience);
  audience.members.add(member);
}

/** Leaves no listener behind. */
export function hearNoMore(signal: AbortSignal, member: Cancellable): void {
  const audience = audiences.get(signal);
  if (audience?.members.delete(member) && audience.members.size === 0) signal.removeEventListener("abort", audience);
}
