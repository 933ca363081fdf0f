declare module "*.wasm" {
  /** The module in base64; the bundler puts it here. */
  const base64: string;
  export default base64;
}
