/** Loops around `retry`: attempts at a block of code, and streams. */
import "../index.js";

export { type AttemptAt, attempts } from "./attempts.js";
export { retryStream, type StreamOptions } from "./stream.js";
