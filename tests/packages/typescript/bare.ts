// Of a runtime's own types the package needs this one only, which Node's and the DOM's have.
declare global {
  interface AbortSignal {
    readonly aborted: boolean;
  }
}

export { retry } from "holdoff";
