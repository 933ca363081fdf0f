/** A longer `setTimeout` fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Runs one attempt. Its signal aborts with `timeout` when `Date.now()` reaches `limit`, or with the reason of `cancelled`; then
 * this rejects at once, even if the work goes on.
 */
export async function runLimited<T>(
  work: (signal: AbortSignal) => Promise<T>,
  limit: number,
  timeout: unknown,
  cancelled: AbortSignal | undefined,
): Promise<T> {
  const controller = new AbortController();
  const { signal } = controller;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
  const cancel = () => controller.abort(cancelled?.reason);
  const wait = () => {
    const left = Math.ceil(limit - Date.now());
    if (left > 0) timer = setTimeout(wait, Math.min(left, LONGEST_TIMER));
    else controller.abort(timeout);
  };
  try {
    const result = work(signal);
    cancelled?.addEventListener("abort", cancel);
    if (cancelled?.aborted) cancel();
    if (limit !== Infinity) wait();
    return await Promise.race([result, aborted]);
  } finally {
    clearTimeout(timer);
    cancelled?.removeEventListener("abort", cancel);
  }
}
