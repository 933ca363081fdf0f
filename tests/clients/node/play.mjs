// How a situation is played, in Node and in a page.

/** A clock on which no time passes: sleeps end at once. */
const clock = { now: () => 0, setTimeout: (callback) => queueMicrotask(callback), clearTimeout: () => {} };

/**
 * Plays a situation twice if there is another attempt. Returns how the attempts were judged. `seen` says how many requests of the
 * situation's id the server has seen.
 */
export async function play(retry, adapter, situation, idempotent, seen) {
  const controller = new AbortController();
  const judged = { attempts: 0, kind: "success", hint: undefined };
  const work = async () => {
    judged.attempts++;
    if (situation.abort) {
      (async () => {
        while ((await seen()) < judged.attempts);
        controller.abort(situation.reason);
      })();
    }
    return adapter.play({ ...situation, signal: situation.abort ? controller.signal : undefined });
  };
  const hooks = {
    onRetry: ({ hint }) => {
      judged.hint = hint;
    },
    onGiveUp: ({ kind, error }) => Object.assign(judged, { kind, error }),
  };
  const options = { attempts: 2, jitter: "none", budget: "none", idempotent, clock, ...hooks };
  await retry(work, adapter.answers ? { ...options, whenResult: true } : options).catch(() => {});
  const { error } = judged;
  judged.told = `${error?.name} ${error?.code} ${error?.message}`;
  return judged;
}
