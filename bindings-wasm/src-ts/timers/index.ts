/** One timer of the host's for a million sleepers. */
export { type SleepOptions, Timers, type TimersOptions } from "./timers.js";
export { type Due, type TimerKey, Wheel } from "./wheel.js";
