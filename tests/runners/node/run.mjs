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
import {
  GateConfig,
  Gates,
  resumeCall,
  resumeRetry,
  save,
  saveJson,
} from "../../../bindings-wasm/dist/esm/machines.js";
import { RECORDED, RUST_ONLY } from "./recorded.mjs";

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

/** The call that begins with an event, and its step. */
function begun(policy, seed, event) {
  const now = N(event.now ?? event.started);
  if (event.op === "begin") return Call.begin(policy, N(seed), now);
  if (event.op !== "underway") throw new Error(`no call begins with ${event.op}`);
  return [Call.underway(policy, N(seed), now), undefined];
}

/** What a call says to an event that is no beginning. */
function next(machine, event) {
  const now = N(event.now);
  switch (event.op) {
    case "succeed":
      return machine.succeed(N(event.ticket), now);
    case "fail":
      return machine.fail(N(event.ticket), now, failureOf(event.failure));
    case "tick":
      return machine.tick(now);
    case "cancel":
      return machine.cancel(now);
    default:
      throw new Error(`unknown event ${event.op}`);
  }
}

function* call({ policy, seed, events: [first, ...rest], steps }) {
  const [machine, step] = begun(new Policy(policy), seed, first);
  yield [expected(steps[0]), step === undefined ? "null" : answer(step)];
  for (const [at, event] of rest.entries()) yield [expected(steps[at + 1]), answer(next(machine, event))];
}

function* decided(machine, failures, decisions) {
  for (const [at, { now, failure }] of failures.entries()) {
    yield [expected(decisions[at]), answer(machine.onFailure(N(now), failureOf(failure)))];
  }
}

function* retry({ policy, seed, started, failures, decisions }) {
  yield* decided(new Retry(new Policy(policy), N(seed), N(started)), failures, decisions);
}

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytesOf = (hex) => new Uint8Array(Buffer.from(hex, "hex"));

function* saveOf({ machine, policy, seed, started, failures, events, saved_at, bytes, json, ...after }) {
  const { resumed_at, then, decisions, steps } = after;
  const rules = new Policy(policy);
  let saved;
  if (machine === "retry") {
    saved = new Retry(rules, N(seed), N(started));
    for (const { now, failure } of failures) saved.onFailure(N(now), failureOf(failure));
  } else {
    const [first, ...rest] = events;
    [saved] = begun(rules, seed, first);
    for (const event of rest) next(saved, event);
  }
  yield [bytes, hex(save(saved, N(saved_at)))];
  yield [JSON.stringify(json), JSON.stringify(JSON.parse(saveJson(saved, N(saved_at))))];
  for (const state of [bytesOf(bytes), json, JSON.stringify(json)]) {
    if (machine === "retry") {
      yield* decided(resumeRetry(state, rules, N(resumed_at)), then, decisions);
    } else {
      const resumed = resumeCall(state, rules, N(resumed_at));
      for (const [at, event] of then.entries()) yield [expected(steps[at]), answer(next(resumed, event))];
    }
  }
}

function* resume({ machine, policy, bytes, json, forced = false, error }) {
  const rules = new Policy(policy);
  const state = bytes === undefined ? json : bytesOf(bytes);
  yield [text(error), refusal(() => (machine === "retry" ? resumeRetry : resumeCall)(state, rules, 0, { forced }))];
}

const GATES = {
  chromium: (policy) => GateConfig.chromium(policy),
  flowcontrol: ({ initial, max, max_jitter }) =>
    GateConfig.flowcontrol({ initial: N(initial), max: N(max), maxJitter: max_jitter }),
  item_exponential: ({ base, max }) => GateConfig.itemExponential(N(base), N(max)),
  fast_slow: ({ fast, slow, max_fast_attempts }) => GateConfig.fastSlow(N(fast), N(slow), max_fast_attempts),
};

function* keyed_gate({ gate: { preset, ...fields }, ops, answers }) {
  const gates = new Gates(GATES[preset](fields));
  for (const [at, { op, now, u = 0, at: opens }] of ops.entries()) {
    if (op === "failure") gates.failure("it", N(now), u);
    else if (op === "success") gates.success("it", N(now));
    else if (op === "release_at") gates.releaseAt("it", N(opens));
    else if (op === "forget") gates.forget("it");
    else if (op !== "look") throw new Error(`unknown op ${op}`);
    const { isOpen, release, isDiscardable } = gates.look("it", N(now));
    const want = { ...answers[at], release: N(answers[at].release) };
    yield [text(want), text({ reject: !isOpen, release, can_discard: isDiscardable })];
  }
}

function* schedule({ policy, seed, delays, ends }) {
  const machine = new Schedule(new Policy(policy), N(seed));
  for (const delay of delays) yield [text(N(delay)), text(machine.next().value)];
  yield [`ends: ${ends}`, `ends: ${machine.next().done}`];
}

/** What is wrong with something, as a vector says it. */
function refusal(make, withRule = false) {
  try {
    make();
    return "null";
  } catch (raised) {
    if (!(raised instanceof ConfigError)) throw raised;
    const { code, word, path, nearest, rule } = raised;
    return text({ code, name: word, path, nearest: nearest ?? null, ...(withRule && { rule }) });
  }
}

function* policy({ policy, error }) {
  yield [text(error), refusal(() => new Policy(policy))];
}

function* document({ text: given, error }) {
  yield [text(error), refusal(() => Policy.fromJson(given), error?.rule !== undefined)];
}

/** A hint as a vector says it. */
const hintText = (hint) => text(typeof hint === "number" ? BigInt(hint * 1e6) : (hint ?? "none"));

function* hint({ headers, wall = "never", status = 0, hint }) {
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
  const room = N(within ?? 0);
  for (const [at, want] of delays.entries()) {
    const got = machine.nextAt(uniforms[at] ?? 0, kinds[at] ?? "transient");
    const near = got !== undefined && got - N(want) <= room && N(want) - got <= room;
    yield [text(N(want)), text(near ? N(want) : (got ?? null))];
  }
  if (typeof ends === "boolean") yield [`ends: ${ends}`, `ends: ${machine.next().done}`];
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

const KINDS = {
  call,
  retry,
  schedule,
  backoff,
  policy,
  document,
  http,
  hint,
  classify,
  save: saveOf,
  resume,
  keyed_gate,
  duration,
  seed,
};

/** The verdict on a recording, which may leave out what it has none of. */
function recorded(kind, { config, inputs, expected }) {
  const read = config ?? {};
  if (typeof read !== "object" || Array.isArray(read)) throw new Error(`no configuration: ${config}`);
  return RECORDED[kind]({ config: read, inputs: inputs ?? [], expected: expected ?? [] });
}

/** What became of a case: the first difference of one of ours, the verdict on a recording. */
function outcome(kind, vector) {
  if (typeof vector !== "object") throw new Error(`no case: ${vector}`);
  if (Object.hasOwn(RECORDED, kind)) return recorded(kind, vector);
  let at = 0;
  try {
    for (const [want, got] of KINDS[kind](vector)) {
      if (want !== got) return { difference: `expected ${want}, got ${got} (at step ${at})` };
      at++;
    }
  } catch (error) {
    return { difference: `expected no error, got ${error} (at step ${at})` };
  }
  return { deviations: 0 };
}

/** JSON whose whole numbers keep all their bits: those above 2^53 come as bigints. */
function parse(json) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  const marked = json.replace(token, (part) => (/^-?\d{16,}$/.test(part) ? `"#n${part}"` : part));
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== "string" || !value.startsWith("#n")) return value;
    const number = BigInt(value.slice(2));
    return Number.isSafeInteger(Number(number)) ? Number(number) : number;
  });
}

/** Runs a file; true when all of it passed. */
function runFile(path, name) {
  let [passed, failed, deviations, later] = [0, 0, 0, 0];
  let rest = "";
  const complain = (line) => {
    failed++;
    if (failed <= SHOWN) console.log(`  ${line}`);
  };
  try {
    const { kind, cases } = parse(readFileSync(path, "utf8"));
    if (RUST_ONLY.includes(kind)) {
      rest = ` (${cases.length} for the Rust runner)`;
    } else if (!Object.hasOwn(KINDS, kind) && !Object.hasOwn(RECORDED, kind)) {
      throw new Error(`unknown kind ${JSON.stringify(kind)}`);
    } else {
      for (const vector of cases) {
        try {
          const verdict = outcome(kind, vector);
          if (verdict.difference !== undefined) complain(`${vector.name}: ${verdict.difference}`);
          else if (verdict.notYet) later++;
          else if (verdict.outOfDomain) deviations++;
          else {
            passed++;
            deviations += verdict.deviations;
          }
        } catch (error) {
          complain(`${vector.name}: ${error.message}`);
        }
      }
    }
  } catch (error) {
    complain(`${name}: ${error.message}`);
  }
  if (later > 0) rest = `, ${later} for later`;
  console.log(`${name}: ${passed} passed, ${failed} failed, ${deviations} deviations${rest}`);
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
