/** What a front tells a front below it. */

const KEY = Symbol.for("holdoff.sending");

/** Shared by all copies of this package: those for `import` and for `require`. */
const state = ((globalThis as { [KEY]?: { isSending: boolean } })[KEY] ??= { isSending: false });

/** True while a front sends a request: `fetch` asks its dispatcher at once. */
export const isSending = (): boolean => state.isSending;

/** Sends a request so that a front of `holdoff/undici` below makes no attempts of its own. */
export function sendBelow<T>(send: () => T): T {
  state.isSending = true;
  try {
    return send();
  } finally {
    state.isSending = false;
  }
}
