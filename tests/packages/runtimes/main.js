// Deno and Bun, which resolve the package and compile its modules in their own ways.
import assert from "node:assert/strict";
import { answers, expected } from "./checks.js";

assert.deepEqual(await answers(), expected);
