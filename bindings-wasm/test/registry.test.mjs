import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, Policy, Registry } from "holdoff";
import "holdoff/guards";
import { failure, VirtualClock } from "./virtual.mjs";

const down = () => Promise.reject(new Error("down"));

test("operations hear of a policy that was loaded anew", async () => {
  const registry = new Registry();
  registry.define("prices", { attempts: 2, backoff: { initial: 0 } });
  const seen = [];
  const onAttempt = ({ operation }) => void seen.push(operation);
  const load = registry.wrap(
    "prices",
    async function load(...args) {
      assert.deepEqual([this?.id, args], [7, ["a", "b"]]);
      return down();
    },
    { onAttempt },
  );
  const reader = { id: 7, load };
  assert.equal(outcomeOf(await failure(reader.load("a", "b"))).attempts, 2);
  registry.load('{ "prices": { "attempts": 4, "backoff": { "initial": "1s" } }, "search": {} }');
  const clock = new VirtualClock();
  assert.equal(outcomeOf(await failure(clock.settled(registry.retry("prices", down, { clock })))).attempts, 4);
  assert.deepEqual(seen, ["load", "load"]);
  assert.equal(await registry.retry("search", () => 1), 1);
});

test("a policy whose document is the same keeps its guards", () => {
  const registry = new Registry();
  const documents = { prices: { breaker: { failures: 2 } }, search: { attempts: 2 } };
  registry.load(documents);
  const [prices, search] = [registry.get("prices"), registry.get("search")];
  registry.load({ ...documents, search: { attempts: 3 } });
  assert.equal(registry.get("prices"), prices);
  assert.notEqual(registry.get("search"), search);
  const own = new Policy();
  assert.equal(registry.define("own", own), own);
});

test("documents are checked before anything changes", () => {
  const registry = new Registry();
  registry.load({ prices: { attempts: 2 } });
  const before = registry.get("prices");
  for (const [documents, error] of [
    [
      { prices: { attempts: 5 }, search: { atempts: 2 } },
      { path: "search.atempts", nearest: "attempts", code: 100 },
    ],
    [{ prices: { attempts: 5 }, search: 5 }, { path: "search" }],
    ['{ "prices"', { word: "not_json" }],
    [[], { word: "not_an_object" }],
  ]) {
    assert.throws(() => registry.load(documents), { name: "ConfigError", ...error });
    assert.equal(registry.get("prices"), before);
  }
  const message = /^search\.attempts = 0: must be/;
  assert.throws(() => registry.load({ search: { attempts: 0 } }), { message });
});

test("an unknown name is refused with the nearest one", async () => {
  const registry = new Registry();
  registry.define("prices", {});
  assert.throws(() => registry.get("prics"), { name: "ConfigError", code: 102, nearest: "prices" });
  assert.equal((await failure(registry.retry("search", down))).message, 'name = "search": is no policy\'s name');
  assert.throws(() => registry.get(5), { path: "name" });
  assert.throws(() => registry.define(5, {}), { path: "name" });
  assert.throws(() => registry.define("prices", { attempts: 0 }), { path: "attempts" });
});

test("options of one call replace fields of the policy that the name has", async () => {
  const registry = new Registry();
  registry.define("api", { attempts: 3, backoff: { kind: "constant", delay: 0 } });
  let calls = 0;
  const down = async () => {
    calls++;
    throw new Error("down");
  };
  await assert.rejects(registry.retry("api", down, { attempts: 1 }));
  await assert.rejects(registry.wrap("api", down, { attempts: 2 })());
  await assert.rejects(registry.retry("api", down, { deadline: 0 }), { name: "TimeoutError" });
  assert.equal(calls, 3);
});
