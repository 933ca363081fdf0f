declare module "*.wasm" {
  /** The module as hexadecimal digits; the bundler puts it here. */
  const hex: string;
  export default hex;
}
