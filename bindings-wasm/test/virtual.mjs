import * as testing from "holdoff/testing";

/** A clock on which time passes only when everybody waits; it begins late, and knows its longest timer. */
export class VirtualClock extends testing.VirtualClock {
  time = 1000;
  longest = 0;

  #set = this.setTimeout;

  setTimeout = (callback, milliseconds) => {
    this.longest = Math.max(this.longest, milliseconds);
    return this.#set(callback, milliseconds);
  };
}

/** The error that a promise rejects with. */
export const failure = (promise) =>
  promise.then(
    () => {
      throw new Error("it succeeded");
    },
    (error) => error,
  );
