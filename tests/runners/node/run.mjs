// Runs vectors through the npm package as it was built: `node run.mjs PATH`, where PATH is a file or a folder.
// The format is described in tests/vectors/README.md. Times go in as bigints, so that every bit is compared.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import {
  Adaptive,
  Breaker,
  Budget,
  Bulkhead,
  GuardedCall,
  Guards,
  Hedge,
  Limiter,
  nestedAttempts,
  nestedFailure,
  Stretch,
  Token,
} from "../../../bindings-wasm/dist/esm/guards.js";
import {
  GateConfig,
  Gates,
  restoreGuards,
  resumeCall,
  resumeRetry,
  save,
  saveGuards,
  saveJson,
} from "../../../bindings-wasm/dist/esm/tools.js";
import "../../../bindings-wasm/dist/esm/classify.js";
import "../../../bindings-wasm/dist/esm/presets.js";
import { digest } from "./logs.mjs";
import { RECORDED, RUST_ONLY } from "./recorded.mjs";
import { log, replayOf, wheel } from "./recorder.mjs";
import { leg } from "./relay.mjs";
import {
  answer,
  bytesOf,
  expected,
  failureOf,
  failureText,
  hex,
  hintText,
  N,
  NEVER,
  sectionsOf,
  text,
} from "./words.mjs";

/** `--js` runs the cases of `holdoff/js`, where the same core is JavaScript. */
const ALONE = process.argv.includes("--js");
const esm = "../../../bindings-wasm/dist/esm";
const entry = await import(`${esm}/${ALONE ? "js" : "index"}.js`);
if (ALONE) {
  delete globalThis.WebAssembly;
  await import(`${esm}/js-presets.js`);
}
const { Call, ConfigError, hintOf, httpFailure, Policy, parseNanos, Retry, Schedule, seedAt } = entry;

const SHOWN = 5;

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

/** Calls that share a budget: what is decided about each attempt, and what the budget has after it. */
function* paid({ policy, seed, started, failures, decisions, tokens }) {
  const rules = new Policy(policy);
  const { guards } = rules;
  let [call, step] = GuardedCall.begin(rules, guards, N(seed), N(started));
  for (const [at, { now: time, failure, new_call }] of failures.entries()) {
    const now = N(time);
    if (new_call) [call, step] = GuardedCall.begin(rules, guards, N(seed), now);
    else if (step.kind === "sleep") step = call.tick(now);
    if (step.kind !== "attempt") throw new Error(`no attempt runs at ${now}`);
    const { ticket } = step;
    step = failure === undefined ? call.succeed(ticket, now) : call.fail(ticket, now, failureOf(failure));
    const { kind, outcome, reason, retryAt } = step;
    const ended = outcome === "gave_up" ? { kind: "give_up", reason, retryAt } : { kind: outcome };
    yield [expected(decisions[at]), answer(kind === "stop" ? ended : step)];
    if (tokens[at] !== null) yield [text(tokens[at]), text(guards.budget.balance(now))];
  }
}

function* retry({ policy, seed, started, failures, decisions, tokens }) {
  if (tokens !== undefined) {
    yield* paid({ policy, seed, started, failures, decisions, tokens });
    return;
  }
  yield* decided(new Retry(new Policy(policy), N(seed), N(started)), failures, decisions);
}

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

const BUDGET_OPS = {
  look() {},
  begin(budget, { at }, held, call) {
    held.delete(call);
    budget.begin(at);
  },
  admit: (budget, { at }) => budget.admit(at),
  fail: (budget, { at, kind }) => budget.fail(kind, at),
  withdraw(budget, { at, kind }, held, call) {
    const paid = budget.withdraw(kind, at);
    if (paid !== undefined) held.set(call, paid);
    return paid !== undefined;
  },
  refund(budget, { at }, held, call) {
    budget.refund(held.get(call), at);
    held.delete(call);
  },
  retried: (budget) => budget.retried(),
  succeed: (budget, { at }, held, call) => budget.succeed(held.get(call), at),
  end: (budget) => budget.end(),
};

/** How many yeses a budget gives to an event; the time of the latest is left in `clock`. */
function handed(budget, event, held, clock) {
  const { op, at, call = 0, kind = "transient", times, events } = event;
  if (op === "repeat") {
    let allowed = 0;
    for (let n = 0; n < times; n++) for (const one of events) allowed += handed(budget, one, held, clock);
    return allowed;
  }
  clock.now = N(at);
  return BUDGET_OPS[op](budget, { at: clock.now, kind }, held, call) ? 1 : 0;
}

function* budget({ budget: section, seed = 0, within = 0, events, answers }) {
  const guard = documented("budget", section, { seed: N(seed), now: 0n });
  const [held, clock] = [new Map(), { now: 0n }];
  for (const [at, event] of events.entries()) {
    const count = handed(guard, event, held, clock);
    const { allowed, balance, rejection } = answers[at];
    const got = {};
    if (allowed !== undefined) got.allowed = typeof allowed === "boolean" ? count > 0 : count;
    if (balance !== undefined) got.balance = guard.balance(clock.now);
    if (rejection !== undefined) {
      const found = guard.rejection(clock.now);
      got.rejection = Math.abs(found - rejection) <= within ? rejection : found;
    }
    yield [text(answers[at]), text(got)];
  }
}

/** A guard from the section of a document, whose numbers have no unit. */
function documented(name, section, options) {
  const [{ guardFields }, classes] = [Policy.fromJson({ [name]: section }), CLASSES];
  if (guardFields === undefined) throw new Error(`no ${name} is described`);
  return new classes[name](section, options);
}

const CLASSES = {
  budget: Budget,
  breaker: Breaker,
  limiter: Limiter,
  bulkhead: Bulkhead,
  adaptive: Adaptive,
  stretch: Stretch,
  hedge: Hedge,
};

/** A time that a guard says, as a vector says it; null for none. */
const timeText = (time) => (time === undefined ? null : time);

function* breaker({ breaker: section, seed = 0, made = 0, events, answers }) {
  const guard = documented("breaker", section, { seed: N(seed), now: N(made) });
  const permits = [];
  for (const [step, event] of events.entries()) {
    const now = N(event.now);
    const permit = permits[event.permit];
    if ("permit" in event && permit === undefined) throw new Error(`event ${event.permit} gave no permit`);
    let got = {};
    switch (event.event) {
      case "acquire": {
        const { permit, retryAt } = guard.acquire(now);
        permits[step] = permit;
        got = { refused: timeText(retryAt) };
        break;
      }
      case "record":
        guard.record(permit, event.verdict, N(event.took ?? 0), now);
        break;
      case "abandon":
        guard.abandon(permit, now);
        break;
      case "hint":
        guard.hint(N(event.span), now);
        break;
      case "isolate":
        guard.isolate(now);
        break;
      case "close":
        guard.forceClose(now);
        break;
      case "reset":
        guard.reset(now);
        break;
      case "look":
        break;
      default:
        throw new Error(`unknown event ${event.event}`);
    }
    const { calls, failed, slow } = guard.rates(now);
    got = { ...got, state: guard.state(now), counts: [calls, failed, slow], openings: guard.openings };
    const { refused } = answers[step];
    const want = refused === undefined || refused === null ? answers[step] : { ...answers[step], refused: N(refused) };
    yield [text(want), text(got)];
  }
}

function* breaker_window({ config: { window_ns, slots, began_ns = 0 }, records, after }) {
  const fields = {
    kind: "time",
    window: `${window_ns}ns`,
    slots,
    minCalls: 4294967295,
    failureRate: 1,
    slowAfter: "1ns",
  };
  const guard = new Breaker(fields, { seed: 0, now: N(began_ns) });
  for (const [step, { at_ns, ...counts }] of records.entries()) {
    const now = N(at_ns);
    for (const [sort, verdict, took] of [
      ["ok", "success", 0],
      ["failed", "failure", 0],
      ["slow_ok", "success", 1],
      ["slow_failed", "failure", 1],
    ]) {
      for (let n = 0; n < (counts[sort] ?? 0); n++) guard.record(guard.acquire(now).permit, verdict, took, now);
    }
    const { calls: total, failed, slow } = guard.rates(now);
    const share = (part) => (total === 0 ? 0 : part / total);
    yield [text(after[step]), text({ total, failed, slow, failure_rate: share(failed), slow_rate: share(slow) })];
  }
}

function* limiter({ limiter: section, made = 0, events, refused }) {
  const guard = documented("limiter", section, { now: N(made) });
  for (const [step, { event, now, count = 1 }] of events.entries()) {
    const ask = { take: "take", look: "look", give_back: "giveBack" }[event];
    const got = guard[ask](count, N(now));
    yield [refused[step] === null ? "null" : text(N(refused[step])), text(timeText(got))];
  }
}

function* bulkhead({ bulkhead: section, events, answers }) {
  const guard = documented("bulkhead", section);
  const places = [];
  for (const [step, { event, place }] of events.entries()) {
    const held = places[place];
    if (place !== undefined && held === undefined) throw new Error(`event ${place} gave no place`);
    let entry;
    if (event === "enter") entry = guard.enter();
    else if (event === "enter_from") entry = guard.enterFrom(held);
    else if (event === "leave") guard.leave();
    else guard.leaveQueue(held);
    places[step] = entry?.place;
    const { running, waiting } = guard;
    yield [text(answers[step]), text({ ...(entry && { entry: entry.kind }), running, waiting })];
  }
}

function* adaptive({ adaptive: section, began_ns, start, within, events, answers }) {
  const started = start && {
    rate: start.rate,
    tokens: start.tokens,
    measured: start.measured,
    lastMaxRate: start.last_max_rate,
    throttledAt: N(start.throttled_ns),
    limits: start.limits,
  };
  const guard = documented("adaptive", section, { now: N(began_ns), start: started });
  let [now, taken, wait] = [N(began_ns), 0, undefined];
  const hand = ({ op, at_ns, throttled = false, cost = 1, times = 1, every_ns = 0, events }, later) => {
    if (at_ns !== undefined) now = N(at_ns) + later;
    if (op === "update") guard.update(throttled, now);
    else if (op === "give_back") guard.giveBack(cost, now);
    else if (op === "take" || op === "call") {
      const refused = guard.take(cost, now);
      if (refused === undefined) {
        taken++;
        if (op === "call") guard.update(throttled, now);
      } else wait = refused === NEVER ? NEVER : refused - now;
    } else if (op === "repeat") {
      for (let round = 0n; round < times; round++) {
        for (const one of events) hand(one, later + round * N(every_ns));
      }
    }
  };
  const near = (want, got) =>
    want === undefined || Math.abs(got - want) <= within * Math.max(Math.abs(want), Math.abs(got));
  const alike = (want, got) => {
    if (want === undefined) return true;
    if (got === undefined || N(want) === NEVER || got === NEVER) return got === N(want);
    return Math.abs(Number(got - N(want))) <= Math.max(within * Number(want), 1);
  };
  for (const [step, event] of events.entries()) {
    [taken, wait] = [0, undefined];
    hand(event, 0n);
    const want = answers[step];
    const got = { taken, wait_ns: wait, rate: guard.rate, measured: guard.measured, tokens: guard.tokens(now) };
    const right =
      (want.taken ?? taken) === taken &&
      alike(want.wait_ns, wait) &&
      near(want.rate, got.rate) &&
      near(want.measured, got.measured) &&
      (near(want.tokens, got.tokens) || (want.tokens === 0 && Math.abs(got.tokens) < 1e-9));
    yield [text(want), right ? text(want) : text(got)];
  }
}

function* stretch({ stretch: section, began_ns, events, delays }) {
  const guard = documented("stretch", section, { now: N(began_ns) });
  for (const [step, { op, at_ns, ok = 0, failed = 0, delay_ns }] of events.entries()) {
    let got = null;
    if (op === "stretch") got = guard.stretch(N(delay_ns), N(at_ns));
    for (let n = 0; n < ok; n++) guard.record(false, N(at_ns));
    for (let n = 0; n < failed; n++) guard.record(true, N(at_ns));
    yield [delays[step] === null ? "null" : text(N(delays[step])), text(got)];
  }
}

function* latency({ hedge: section, took_ns, quantile_ns, delay_ns }) {
  const guard = documented("hedge", section);
  const quantile = (at) => (quantile_ns[at] === null ? "null" : text(N(quantile_ns[at])));
  yield [quantile(0), text(timeText(guard.quantile))];
  for (const [at, took] of took_ns.entries()) {
    guard.record(N(took));
    yield [quantile(at + 1), text(timeText(guard.quantile))];
  }
  yield [text(N(delay_ns)), text(guard.delay)];
}

/** A number of attempts, or "forever". */
const attemptsOf = (count) => (count === "forever" ? Infinity : count);
const attemptsText = (count) => (count === Infinity ? "forever" : count);

function* nested({ nested: section, around = [], header, grpc, own, token, attempts, inner, judged }) {
  const { mode, cap } = typeof section === "string" ? { mode: section } : section;
  let known;
  if (header !== undefined) known = Token.fromHeader(header);
  else if (grpc !== undefined) known = Token.fromGrpc(grpc);
  else for (const [attempt, most] of around) known = Token.child(known, attemptsOf(attempt), attemptsOf(most));
  const said = known && {
    attempt: known.attempt,
    allowed: attemptsText(known.allowed),
    depth: known.depth,
    header: known.header,
    grpc: known.grpc ?? null,
  };
  yield [text(token), text(said ?? null)];
  const made = nestedAttempts(mode ?? "allow", known, attemptsOf(own), cap);
  yield [text(attempts), text(attemptsText(made))];
  if (inner !== undefined) {
    const failure = nestedFailure(mode ?? "allow", failureOf(inner));
    yield [expected(judged), failureText(failure)];
  }
}

function* guarded({ policy, seed, start, events, steps, after }) {
  const rules = Policy.fromJson(policy);
  const sections = sectionsOf(policy);
  let guards = new Guards({ ...sections, seed: N(seed), now: N(start) });
  let calls = [];
  for (const [at, { op, call, seed, ticket, now: time, to, failure }] of events.entries()) {
    const now = N(time);
    let step;
    if (op === "begin") [calls[call], step] = GuardedCall.begin(rules, guards, N(seed), now);
    else if (op === "succeed") step = calls[call].succeed(N(ticket), now);
    else if (op === "fail") step = calls[call].fail(N(ticket), now, failureOf(failure));
    else if (op === "abandon") step = calls[call].abandon(N(ticket), now);
    else if (op === "tick") step = calls[call].tick(now);
    else if (op === "cancel") step = calls[call].cancel(now);
    else if (op === "isolate") guards.breaker.isolate(now);
    else if (op === "force_close") guards.breaker.forceClose(now);
    else if (op === "reset") guards.breaker.reset(now);
    else if (op === "move") {
      const saved = saveGuards(guards, now);
      guards = new Guards({ ...sections, seed: N(seed ?? 0), now: N(to) });
      restoreGuards(guards, saved, N(to));
      calls = [];
    } else throw new Error(`unknown event ${op}`);
    yield [expected(steps[at]), step === undefined ? "null" : answer(step)];
  }
  if (after === undefined) return;
  const { budget, breaker, bulkhead, adaptive } = guards;
  const now = N(after.now);
  const all = {
    now: after.now,
    budget: budget?.balance(now),
    breaker: breaker?.state(now),
    openings: breaker?.openings,
    running: bulkhead?.running,
    waiting: bulkhead?.waiting,
    rate: adaptive?.rate,
  };
  const shown = Object.fromEntries(Object.keys(after).map((name) => [name, all[name]]));
  yield [text(after), text(shown)];
}

const KINDS = {
  log,
  replay: replayOf,
  wheel,
  budget,
  breaker,
  breaker_window,
  limiter,
  bulkhead,
  adaptive,
  stretch,
  latency,
  nested,
  guarded,
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

/** The kinds that need nothing but `holdoff`. */
const JS_KINDS = ["call", "retry", "schedule", "backoff", "policy", "http", "duration", "seed"];

/** True for a case that only other entries can run. */
const isElsewhere = (kind, vector) =>
  ALONE && (!JS_KINDS.includes(kind) || vector.tokens !== undefined || vector.policy?.retry_on !== undefined);

/** The verdict on a recording, which may leave out what it has none of. */
function recorded(kind, { config, inputs, expected }) {
  const read = config ?? {};
  if (typeof read !== "object" || Array.isArray(read)) throw new Error(`no configuration: ${config}`);
  return RECORDED[kind]({ config: read, inputs: inputs ?? [], expected: expected ?? [] });
}

/** What became of a case: the first difference of one of ours, the verdict on a recording. */
function outcome(kind, vector) {
  if (typeof vector !== "object") throw new Error(`no case: ${vector}`);
  if (isElsewhere(kind, vector)) return { elsewhere: true };
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

/** What lies beside the vectors. */
const NO_VECTORS = ["schema.json", "log_policies.json"];

/** Runs a file; true when all of it passed. */
function runFile(path, name) {
  let [passed, failed, deviations, elsewhere] = [0, 0, 0, 0];
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
          else if (verdict.elsewhere) elsewhere++;
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
  if (elsewhere > 0) rest = ` (${elsewhere} for ${ALONE ? "other entries" : "the Rust runner"})`;
  console.log(`${name}: ${passed} passed, ${failed} failed, ${deviations} deviations${rest}`);
  return failed === 0;
}

function main(path, ...given) {
  const options = given.filter((option) => option !== "--js");
  const [named, count, seeded, seed] = options;
  const isLogs = named === "--logs" && seeded === "--seed" && [count, seed].every((number) => /^\d+$/.test(number));
  if (named === "--relay" && options.length === 2) {
    leg(count);
    return 0;
  }
  if (path === undefined || (options.length > 0 && !isLogs)) {
    console.error("usage: node run.mjs FILE|FOLDER [--js | --logs COUNT --seed SEED | --relay LOG]");
    return 2;
  }
  if (isLogs) {
    console.log(digest(path, BigInt(count), BigInt(seed)).toString(16).padStart(16, "0"));
    return 0;
  }
  if (statSync(path).isFile()) return runFile(path, basename(path)) ? 0 : 1;
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json") && !NO_VECTORS.includes(entry.name))
    .map((entry) =>
      relative(path, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join("/"),
    )
    .sort();
  const results = files.map((file) => runFile(join(path, file), file));
  return results.every(Boolean) ? 0 : 1;
}

process.exitCode = main(...process.argv.slice(2));
