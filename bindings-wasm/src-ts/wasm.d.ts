declare module "*.wasm" {
  /** The module as text that `decoded` reads; the bundler puts it here. */
  const text: string;
  export default text;
}

declare module "node:async_hooks" {
  /** As much of it as is needed here, so that the sources know no runtime. */
  export class AsyncLocalStorage<T> {
    getStore(): T | undefined;
    run<R>(store: T, fn: () => R): R;
  }
}
