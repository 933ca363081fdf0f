declare module "*.wasm" {
  /** The module; the bundler puts it here. */
  const source: import("./memory.js").Source;
  export default source;
}

declare module "node:async_hooks" {
  /** As much of it as is needed here, so that the sources know no runtime. */
  export class AsyncLocalStorage<T> {
    getStore(): T | undefined;
    run<R>(store: T, fn: () => R): R;
  }
}
