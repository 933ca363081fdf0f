// Vitest, whose `test` and `expect` are globals here because nothing but the package is installed.
import { answers, expected } from "./checks.js";

test("every entry answers", async () => {
  expect(await answers()).toEqual(expected);
});
