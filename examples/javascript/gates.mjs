// Gates: a host that fails is left alone for a while, and longer each time.
import assert from "node:assert/strict";
import { Bucket, Gates } from "holdoff/tools";

const seconds = (n) => n * 1e9;
const hosts = new Gates({ initial: "1s", max: "1m" }, { most: 1000 });

assert.equal(hosts.failure("a.example", seconds(0)), seconds(1));
assert.equal(hosts.isOpen("a.example", seconds(0.5)), false);
assert.equal(hosts.isOpen("b.example", seconds(0.5)), true);
assert.equal(hosts.failure("a.example", seconds(1)), seconds(2));
hosts.success("a.example", seconds(3));
console.log(hosts.look("a.example", seconds(3)));

// Ten calls a second on the long run, two at once.
const calls = new Bucket({ rate: 10, burst: 2 }, 0);
const waits = [1, 2, 3, 4].map(() => calls.reserve(1, 0) / 1e6);
console.log("wait", waits, "ms");
