import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const FOLDER = new URL("./esm/", import.meta.resolve("holdoff").replace(/\/[^/]+\/[^/]+$/, "/"));
/** Names that mean something for JavaScript itself, whatever a package does. */
const LANGUAGE = ["then", "toJSON", "value", "get", "set", "next", "return", "done"];

const PLAIN = { __proto__: null, enumerable: true, configurable: true, writable: true };

/** Every name that the package's code reads of an object, and the options of policies. */
function names() {
  const known = new Set(["backoff.kind", "retry-after", "x-should-retry", "0", "1", "9", "104"]);
  for (const file of readdirSync(FOLDER).filter((name) =>
    /^(shared|index|guards|registry|loops|lite|tools)\.js$/.test(name),
  ))
    for (const [, name] of readFileSync(new URL(file, FOLDER), "utf8").matchAll(/[.{,]\s*([a-zA-Z_$][\w$]*)/g))
      known.add(name);
  return [...known].filter((name) => !(name in Object.prototype) && !LANGUAGE.includes(name));
}

async function child() {
  const { classify, ConfigError, hintOf, httpFailure, outcomeOf, Policy, retry, wrap } = await import("holdoff");
  const lite = await import("holdoff/lite");
  const { Guards, KeyedGuards } = await import("holdoff/guards");
  const { attempts, Registry, retryStream } = await import("holdoff");
  const { VirtualClock } = await import("holdoff/testing");
  const { fromForm, toJson } = await import("holdoff/tools");
  const text = (value) => JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? String(inner) : inner));
  /** What the calls of a function come to, and how many there are. */
  const run = async (call, fail) => {
    let calls = 0;
    const fn = ({ attempt }) => {
      calls++;
      return fail ? Promise.reject(fail(attempt)) : attempt;
    };
    const end = await call(fn).then(
      (value) => `value ${value}`,
      (error) => `${error.name} ${error.message} ${outcomeOf(error)?.reason}`,
    );
    return `${calls} ${end}`;
  };
  const down = (attempt) => Object.assign(new Error("down"), { status: 503, attempt });
  const gone = () => Object.assign(new Error("gone"), { response: { status: 404 } });
  const plain = () => new Error("plain");
  const battery = async () => {
    const clock = new VirtualClock();
    const got = [];
    const does = async (work) => {
      let end;
      try {
        end = await clock.settled(Promise.resolve(work()));
      } catch (error) {
        end = error instanceof ConfigError ? `${error.message}` : `${error.stack}`;
      }
      got.push(typeof end === "string" ? end : text(end));
    };
    const options = () => ({ clock, seed: 1 });
    await does(() => run((fn) => retry(fn, options()), down));
    await does(() => run((fn) => retry(fn, options()), gone));
    await does(() => run((fn) => retry(fn, options()), plain));
    await does(() => run((fn) => retry(fn)));
    await does(() => run((fn) => retry(fn, {})));
    await does(() => run((fn) => retry(fn, { ...options(), attempts: 2, backoff: { initial: "1s" } }), down));
    await does(() => run((fn) => new Policy({ deadline: "9s" }).retry(fn, options()), down));
    await does(() =>
      run(
        (fn) =>
          wrap(function named() {
            return fn({ attempt: 1 });
          }, options())(),
        down,
      ),
    );
    await does(() => run((fn) => retry(fn, { ...options(), whenResult: true })));
    await does(() => run((fn) => lite.retry(fn, { ...options(), attempts: 2 }), down));
    await does(() => run((fn) => lite.retry(fn)));
    await does(() => classify(plain()));
    await does(() => classify({ status: 429, headers: { "retry-after": "3" } }));
    await does(() => httpFailure(503, { "retry-after-ms": "5" }));
    await does(() => hintOf(new Headers({ "retry-after": "7" })));
    await does(() => hintOf({ "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" }));
    await does(() => new Policy({ attempts: 4 }).toJSON());
    await does(() => new Policy().isFailure(404));
    await does(() => text(Policy.fromJson('{"attempts": 5}').toJSON()));
    await does(() => toJson(new Policy({ attempts: 4, backoff: { kind: "linear" } })));
    await does(() => fromForm("temporal", '{ "maximumAttempts": 4 }').policy);
    await does(() => new Policy({ atempts: 4 }));
    await does(() => new Policy({ backoff: { factr: 4 } }));
    await does(async () => {
      const guards = new Guards({ breaker: { failures: 1 } });
      const call = () => run((fn) => retry(fn, { ...options(), guards, attempts: 1 }), down);
      return [await call(), await call()];
    });
    await does(() => {
      const keyed = new KeyedGuards({ bulkhead: 1 }, { most: 3 });
      const guards = keyed.of("a");
      return guards === keyed.of("a");
    });
    await does(() => new Registry().define("ours", { attempts: 2 }));
    await does(() =>
      (async () => {
        const seen = [];
        for await (const attempt of attempts(options())) seen.push(await attempt(() => 7));
        return seen;
      })(),
    );
    await does(() =>
      (async () => {
        const seen = [];
        for await (const item of retryStream(() => [1, 2], options())) seen.push(item);
        return seen;
      })(),
    );
    return got;
  };
  const usual = await battery();
  /** The outcomes that are others while Object.prototype has properties of these names. */
  const changed = async (all, value) => {
    let got;
    for (const name of all) Object.defineProperty(Object.prototype, name, { ...PLAIN, value });
    try {
      got = await battery();
    } catch (error) {
      got = [`${error.stack}`];
    } finally {
      for (const name of all) delete Object.prototype[name];
    }
    const others = usual.flatMap((end, at) =>
      got[at] === end ? [] : [`${all} = ${value}: ${got[at]} instead of ${end}`],
    );
    if (others.length === 0 || all.length === 1) return others;
    const half = all.length >> 1;
    const parts = [await changed(all.slice(0, half), value), await changed(all.slice(half), value)].flat();
    return parts.length > 0 ? parts : others;
  };
  const all = names();
  const found = [];
  for (let at = 0; at < all.length && found.length < 20; at += 50)
    for (const value of [9, "x"]) found.push(...(await changed(all.slice(at, at + 50), value)));
  process.stdout.write(JSON.stringify({ names: all.length, usual, found }));
}

if (process.argv.includes("child")) await child();
else
  test("a property on Object.prototype changes nothing, whatever its name", () => {
    const output = execFileSync(process.execPath, ["--no-warnings", fileURLToPath(import.meta.url), "child"], {
      encoding: "utf8",
      maxBuffer: 1e9,
    });
    const { names, usual, found } = JSON.parse(output);
    assert.ok(names > 300, `${names} names`);
    assert.match(usual[0], /^3 Error down attempts/);
    assert.deepEqual(found.slice(0, 20), []);
  });
