/** What a front tells a front below it. */

/** True while a front sends a request: `fetch` asks its dispatcher at once. */
export let isSending = false;

/** Sends a request so that a front of `holdoff/undici` below makes no attempts of its own. */
export function sendBelow<T>(send: () => T): T {
  isSending = true;
  try {
    return send();
  } finally {
    isSending = false;
  }
}
