/**
 * One listener a signal, for all the operations that it cancels. A program has one signal for its shutdown and thousands
 * of operations; a signal looks through all its listeners when it gets one more, and Node warns of the eleventh.
 */
interface Cancellable {
  cancel(): void;
}

const audiences = new WeakMap<AbortSignal, Audience>();

class Audience extends Set<Cancellable> {
  handleEvent(): void {
    for (const member of this) member.cancel();
  }
}

/** Cancels the operation when the signal, which has not aborted yet, does. */
export function addAbortListener(signal: AbortSignal, member: Cancellable): void {
  let audience = audiences.get(signal);
  if (audience === undefined) audiences.set(signal, (audience = new Audience()));
  if (audience.size === 0) signal.addEventListener("abort", audience);
  audience.add(member);
}

/** Leaves no listener behind. */
export function removeAbortListener(signal: AbortSignal, member: Cancellable): void {
  const audience = audiences.get(signal);
  if (audience?.delete(member) && audience.size === 0) signal.removeEventListener("abort", audience);
}

/** Keeps the signal of a caller alive as long as the signal that follows it. */
const followed = new WeakMap<AbortSignal, AbortSignal>();

/**
 * The signal of a controller, which aborts with the caller's signal, too, however long after the operation. The runtime knows who still
 * listens to it, so nothing is left at the caller's signal; where it does not, the controller is.
 */
export function follow(controller: AbortController, caller: AbortSignal | null | undefined): AbortSignal {
  const { signal } = controller;
  if (!caller) return signal;
  if (AbortSignal.any && caller instanceof AbortSignal) {
    const both = AbortSignal.any([signal, caller]);
    followed.set(both, caller);
    return both;
  }
  const abort = () => controller.abort(caller.reason);
  if (caller.aborted) abort();
  else addAbortListener(caller, { cancel: abort });
  return signal;
}
