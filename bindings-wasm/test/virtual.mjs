/** A clock on which time passes only when everybody waits. */
export class VirtualClock {
  time = 1000;
  timers = new Map();
  longest = 0;
  #next = 1;

  now = () => this.time;

  setTimeout = (callback, milliseconds) => {
    this.longest = Math.max(this.longest, milliseconds);
    this.timers.set(this.#next, { at: this.time + milliseconds, callback });
    return this.#next++;
  };

  clearTimeout = (timer) => {
    this.timers.delete(timer);
  };

  /** Lets time pass until the promise settles; an error when nobody would ever wake it. */
  async settled(promise) {
    let open = true;
    promise.then(
      () => (open = false),
      () => (open = false),
    );
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!open) return promise;
      if (!this.#fire()) throw new Error("waits for ever");
    }
  }

  /** Moves to the next timer; false when there is none. */
  #fire() {
    const [first] = [...this.timers].sort(([, a], [, b]) => a.at - b.at);
    if (first === undefined) return false;
    const [timer, { at, callback }] = first;
    this.timers.delete(timer);
    this.time = Math.max(this.time, at);
    callback();
    return true;
  }
}

/** The error that a promise rejects with. */
export const failure = (promise) =>
  promise.then(
    () => {
      throw new Error("it succeeded");
    },
    (error) => error,
  );
