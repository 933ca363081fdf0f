// Random logs, which each language plays by itself: only the digests are compared. Crashes are among what happens, and what
// goes on after one is the recorder that the log's bytes make. tests/vectors/README.md says how they are drawn.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { Event, Recorder, replay, save } from "../../../bindings-wasm/dist/esm/tools.js";

/** The transitions of a session, after which it is cancelled. */
const MOST = 64;
/** How often an interrupted attempt runs again. */
const RERUNS = 2;
const KINDS = ["transient", "throttled", "timeout"];

/** The digest of `count` sessions with that seed, under the policies in or below a folder. */
export function digest(folder, count, seed) {
  const here = join(folder, "log_policies.json");
  const file = existsSync(here) ? here : join(folder, "holdoff", "log_policies.json");
  const policies = JSON.parse(readFileSync(file, "utf8")).map((document) => Policy.fromJson(document));
  const sum = new Fnv();
  for (let number = 0n; number < count; number++) session(policies, seed, number, sum);
  return sum.value;
}

/** splitmix64. */
class Drawn {
  constructor(seed) {
    this.state = new BigUint64Array([seed]);
  }

  next() {
    this.state[0] += 0x9e3779b97f4a7c15n;
    let z = this.state[0];
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  pick(from) {
    return Number(this.next() % BigInt(from));
  }
}

/** FNV-1a of 64 bits, in four parts of 16 so that numbers are enough. */
class Fnv {
  parts = [0x2325, 0x8422, 0x9ce4, 0xcbf2];

  take(bytes) {
    let [a, b, c, d] = this.parts;
    for (const byte of bytes) {
      a ^= byte;
      // Times 2^40 + 0x1b3.
      const low = a * 0x1b3;
      const second = b * 0x1b3 + (low >>> 16);
      const third = c * 0x1b3 + (a << 8) + (second >>> 16);
      d = (d * 0x1b3 + (b << 8) + (third >>> 16)) & 0xffff;
      a = low & 0xffff;
      b = second & 0xffff;
      c = third & 0xffff;
    }
    this.parts = [a, b, c, d];
  }

  get value() {
    const [a, b, c, d] = this.parts.map(BigInt);
    return (d << 48n) | (c << 32n) | (b << 16n) | a;
  }
}

/** What a recorder shows of itself. */
const shown = (recorder, now) => {
  const { step, sequence, attempt, started, reruns, isGuarded } = recorder;
  return { step, sequence, attempt, started, reruns, isGuarded, saved: save(recorder.call, now) };
};

/** What another process makes of the log; it must be what this one has. */
function readBack(policy, log, live, now) {
  const replayed = replay(policy, Buffer.concat(log), { mode: "verify" });
  if (!isDeepStrictEqual(shown(replayed, now), shown(live, now))) throw new Error("the log makes another recorder");
  return replayed;
}

function failure(drawn) {
  const kind = KINDS[drawn.pick(3)];
  return drawn.pick(4) === 0 ? { kind, hint: drawn.next() % 5_000_000_000n } : kind;
}

function session(policies, seed, number, sum) {
  const drawn = new Drawn(BigInt.asUintN(64, seed + number * 0xd1342543de82ef95n));
  const policy = policies[drawn.pick(policies.length)];
  const own = drawn.next();
  let now = 1_700_000_000_000_000_000n + (drawn.next() % 1_000_000_000n);
  const log = [];
  const write = ({ step, events }) => {
    for (const event of events) {
      log.push(Event.toBytes(event, event.type === "ATTEMPT_FAILED" ? `failure ${event.attemptNumber}` : ""));
    }
    return step;
  };
  let [call, said] = Recorder.begin(policy, own, now);
  const interrupted = () => {
    const before = call;
    call = readBack(policy, log, before, now);
    before.free();
    return call.resume(now, RERUNS);
  };
  let step = write(said);
  for (let transitions = 0; step.kind !== "stop"; transitions++) {
    if (transitions === MOST) {
      said = call.cancel(now);
    } else if (step.kind === "attempt") {
      now += drawn.next() % 3_000_000_000n;
      const what = drawn.pick(16);
      if (what < 4) said = call.succeed(step.ticket, now);
      else if (what < 13) said = call.fail(step.ticket, now, failure(drawn));
      else if (what === 13) said = call.fail(step.ticket, now, "permanent");
      else said = what === 14 ? call.cancel(now) : interrupted();
    } else {
      now = step.until + (drawn.pick(4) === 0 ? drawn.next() % 10_000_000_000n : 0n);
      const what = drawn.pick(16);
      if (what === 0) said = call.cancel(now);
      else said = what === 1 ? interrupted() : call.tick(now);
    }
    step = write(said);
  }
  readBack(policy, log, call, now).free();
  for (const bytes of log) sum.take(bytes);
  sum.take(save(call.call, now));
  // Nothing is collected while a program runs without a turn.
  call.free();
}
