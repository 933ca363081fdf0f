/** Everything that a plain retry does without, loaded only if imported. */
export * from "./all.js";
export { Call, type Decision, Retry, Schedule } from "./machine.js";
