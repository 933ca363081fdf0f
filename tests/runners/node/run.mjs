// Runs vectors through the npm package as it was built: `node run.mjs PATH`, where PATH is a file or a folder.
// The format is described in tests/vectors/README.md. Times go in as bigints, so that every bit is compared.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import {
  Call,
  ConfigError,
  hintOf,
  httpFailure,
  Policy,
  parseNanos,
  Retry,
  Schedule,
  seedAt,
} from "../../../bindings-wasm/dist/esm/index.js";

const NEVER = 2n ** 64n - 1n;
const SHOWN = 5;

/** A number of a vector. */
const N = (value) => (value === "never" ? NEVER : BigInt(value));

const failureOf = ({ kind, hint }) => ({
  kind,
  hint: hint === "none" ? undefined : hint === "never" ? "never" : N(hint),
});

/** A failure as a vector says it. The library says hints in milliseconds, or in nanoseconds as a bigint. */
function failureText(failure) {
  if (failure === undefined) return "null";
  const { kind, hint } = failure;
  return text({ kind, hint: hintText(hint) });
}

/** Two answers are equal when their texts are: names in a fixed order, times as decimal numbers. */
function text(value) {
  if (value === null || typeof value !== "object") return String(value);
  return `{${Object.keys(value)
    .sort()
    .map((name) => `${name}: ${value[name]}`)
    .join(", ")}}`;
}

/** What a vector expects, its numbers read. */
function expected(value) {
  if (value === null) return "null";
  const read = { ...value };
  for (const name of ["abort_at", "wake_at", "until", "retry_at", "hint"]) {
    if (name in read && read[name] !== "none" && !(name === "hint" && read[name] === "never"))
      read[name] = N(read[name]);
  }
  return text(read);
}

/** A step or a decision with the names of a vector. */
function answer(step) {
  const { kind, attempt, abortAt, wakeAt, until, cause, outcome, reason, retryAt } = step;
  if (kind === "attempt") return text({ kind, attempt, abort_at: abortAt, wake_at: wakeAt });
  if (kind === "sleep") return text({ kind, until, cause });
  if (kind === "wait") return text({ kind, until });
  const end = reason === undefined ? {} : { reason, retry_at: retryAt };
  return text(kind === "stop" ? { kind, outcome, ...end } : { kind, ...end });
}

function* call({ policy, seed, events, steps }) {
  const rules = new Policy(policy);
  let machine;
  for (const [at, event] of events.entries()) {
    const now = N(event.now ?? event.started);
    let step;
    switch (event.op) {
      case "begin":
        [machine, step] = Call.begin(rules, N(seed), now);
        break;
      case "underway":
        machine = Call.underway(rules, N(seed), now);
        break;
      case "succeed":
        step = machine.succeed(N(event.ticket), now);
        break;
      case "fail":
        step = machine.fail(N(event.ticket), now, failureOf(event.failure));
        break;
      case "tick":
        step = machine.tick(now);
        break;
      case "cancel":
        step = machine.cancel(now);
        break;
      default:
        throw new Error(`unknown event ${event.op}`);
    }
    yield [expected(steps[at]), step === undefined ? "null" : answer(step)];
  }
}

function* retry({ policy, seed, started, failures, decisions }) {
  const machine = new Retry(new Policy(policy), N(seed), N(started));
  for (const [at, { now, failure }] of failures.entries()) {
    yield [expected(decisions[at]), answer(machine.onFailure(N(now), failureOf(failure)))];
  }
}

function* schedule({ policy, seed, delays, ends }) {
  const machine = new Schedule(new Policy(policy), N(seed));
  for (const delay of delays) yield [text(N(delay)), text(machine.next().value)];
  yield [`ends: ${ends}`, `ends: ${machine.next().done}`];
}

function* policy({ policy, error }) {
  let got = null;
  try {
    new Policy(policy);
  } catch (raised) {
    if (!(raised instanceof ConfigError)) throw raised;
    const { code, word, path, nearest } = raised;
    got = { code, name: word, path, nearest: nearest ?? null };
  }
  yield [text(error), text(got)];
}

/** A hint as a vector says it. */
const hintText = (hint) => text(typeof hint === "number" ? BigInt(hint * 1e6) : (hint ?? "none"));

function* hint({ headers, wall, status = 0, hint }) {
  const now = N(wall) === NEVER ? null : N(wall);
  yield [text(hint === "none" || hint === "never" ? hint : N(hint)), hintText(hintOf(headers, { status, now }))];
}

function* classify({ retry_on, http, grpc, message, idempotent, failure, judged }) {
  const rules = Policy.fromJson({ retry_on });
  const got = rules.judge(failureOf(failure), { status: http, grpc, message, idempotent });
  yield [expected(judged), failureText(got)];
}

function* backoff({ policy, uniforms = [], kinds = [], delays, within, ends }) {
  const machine = new Schedule(new Policy(policy), 0n);
  const room = within === undefined ? 0n : N(within);
  for (const [at, want] of delays.entries()) {
    const got = machine.nextAt(uniforms[at] ?? 0, kinds[at] ?? "transient");
    const near = got !== undefined && got - N(want) <= room && N(want) - got <= room;
    yield [text(N(want)), text(near ? N(want) : (got ?? null))];
  }
  if (ends !== undefined) yield [`ends: ${ends}`, `ends: ${machine.next().done}`];
}

function* http({ status, retry_after, failure }) {
  yield [expected(failure), failureText(httpFailure(status, retry_after))];
}

function* duration({ text: given, nanos }) {
  yield [nanos === null ? "null" : text(N(nanos)), text(parseNanos(given) ?? null)];
}

function* seed({ n, k, seed }) {
  yield [text(N(seed)), text(seedAt(N(n), N(k)))];
}

const KINDS = { call, retry, schedule, backoff, policy, http, hint, classify, duration, seed };

/** The first difference of a case, or undefined. */
function difference(run, vector) {
  let at = 0;
  try {
    for (const [want, got] of run(vector)) {
      if (want !== got) return `expected ${want}, got ${got} (at step ${at})`;
      at++;
    }
  } catch (error) {
    return `expected no error, got ${error} (at step ${at})`;
  }
  return undefined;
}

/** Runs a file; true when all of it passed. */
function runFile(path, name) {
  let failed = 0;
  let passed = 0;
  const complain = (line) => {
    failed++;
    if (failed <= SHOWN) console.log(`  ${line}`);
  };
  try {
    const { kind, cases } = JSON.parse(readFileSync(path, "utf8"));
    if (!Object.hasOwn(KINDS, kind)) throw new Error(`unknown kind ${JSON.stringify(kind)}`);
    for (const vector of cases) {
      const found = difference(KINDS[kind], vector);
      if (found === undefined) passed++;
      else complain(`${vector.name}: ${found}`);
    }
  } catch (error) {
    complain(`${name}: ${error.message}`);
  }
  console.log(`${name}: ${passed} passed, ${failed} failed, 0 deviations`);
  return failed === 0;
}

function main(path) {
  if (path === undefined) {
    console.error("usage: node run.mjs FILE|FOLDER");
    return 2;
  }
  if (statSync(path).isFile()) return runFile(path, basename(path)) ? 0 : 1;
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json") && entry.name !== "schema.json")
    .map((entry) =>
      relative(path, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join("/"),
    )
    .sort();
  const results = files.map((file) => runFile(join(path, file), file));
  return results.every(Boolean) ? 0 : 1;
}

process.exitCode = main(process.argv[2]);
