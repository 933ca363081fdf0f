/**
 * Time that passes only when somebody sleeps: every timer fires in the next microtask, and the clock then says that its
 * delay is over. To be imported before the libraries, some of which keep the timers that they find.
 */

const hosts = performance.now.bind(performance);
let slept = 0;
let runs = false;

/** Lets the clock be the host's, with what was slept added; before that it stands still between two sleeps. */
export function letClockRun(does) {
  runs = does;
}

const timer = { ref: () => timer, unref: () => timer };
globalThis.setTimeout = (callback, delay, ...rest) => {
  slept += delay;
  queueMicrotask(rest.length === 0 ? callback : () => callback(...rest));
  return timer;
};
globalThis.clearTimeout = () => {};
performance.now = () => (runs ? hosts() + slept : slept);
