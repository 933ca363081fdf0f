/** `fetch` with the retries of a policy. */
export { type FetchOptions, type ResilientFetch, resilientFetch } from "./fetching.js";
export type { FrontCall, FrontOptions, GivenOptions } from "./http.js";
