// The Node host.
import { readFileSync } from "node:fs";
import { trace } from "./calls.mjs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(await trace("node", plan)));
