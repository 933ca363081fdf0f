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
  ConfigError,
  hintOf,
  httpFailure,
  Policy,
  parseNanos,
  retry as runRetry,
  seedAt,
} from "../../../bindings-wasm/dist/esm/index.js";
import {
  Call,
  Chaos,
  explain,
  fromForm,
  GateConfig,
  Gates,
  Layered,
  Layers,
  LoopBackoff,
  Retry,
  restoreGuards,
  resumeCall,
  resumeRetry,
  Schedule,
  save,
  saveGuards,
  saveJson,
  toJson,
  totalWaitNanos,
  WaitBackoff,
} from "../../../bindings-wasm/dist/esm/tools.js";
import "../../../bindings-wasm/dist/esm/rules.js";
import "../../../bindings-wasm/dist/esm/policies.js";
import { digest } from "./logs.mjs";
import { RECORDED } from "./recorded.mjs";
import { log, replayOf, wheel } from "./recorder.mjs";
import { leg } from "./relay.mjs";
import { events, scripted } from "./trace.mjs";
import {
  answer,
  apply,
  bytesOf,
  CALLS,
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

const SHOWN = 5;

/** The call that begins with an event, and its step. */
function begun(policy, seed, event) {
  const now = N(event.now ?? event.started);
  if (event.op === "begin") return Call.begin(policy, N(seed), now);
  if (event.op !== "underway") throw new Error(`no call begins with ${event.op}`);
  return [Call.underway(policy, N(seed), now), undefined];
}

function* call({ policy, seed, events: [first, ...rest], steps }) {
  const [machine, step] = begun(new Policy(policy), seed, first);
  yield [expected(steps[0]), step === undefined ? "null" : answer(step)];
  for (const [at, event] of rest.entries()) yield [expected(steps[at + 1]), answer(apply(CALLS, machine, event))];
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
    for (const event of rest) apply(CALLS, saved, event);
  }
  yield [bytes, hex(save(saved, N(saved_at)))];
  yield [JSON.stringify(json), JSON.stringify(JSON.parse(saveJson(saved, N(saved_at))))];
  for (const state of [bytesOf(bytes), json, JSON.stringify(json)]) {
    if (machine === "retry") {
      yield* decided(resumeRetry(state, rules, N(resumed_at)), then, decisions);
    } else {
      const resumed = resumeCall(state, rules, N(resumed_at));
      for (const [at, event] of then.entries()) yield [expected(steps[at]), answer(apply(CALLS, resumed, event))];
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

const GATE_OPS = {
  failure: (gates, { key, u = 0 }, now) => gates.failure(key, now, u),
  success: (gates, { key }, now) => gates.success(key, now),
  release_at: (gates, { key, at }) => gates.releaseAt(key, N(at)),
  forget: (gates, { key }) => gates.forget(key),
  look() {},
};

function* keyed_gate({ gate: { preset, ...fields }, most, ops, answers }) {
  const gates = new Gates(GATES[preset](fields), { most });
  for (const [at, event] of ops.entries()) {
    apply(GATE_OPS, gates, event);
    const { isOpen, release, isDiscardable } = gates.look(event.key, N(event.now));
    const keys = most && { keys: [...gates.keys()].sort() };
    const want = { ...answers[at], release: N(answers[at].release) };
    yield [text(want), text({ reject: !isOpen, release, can_discard: isDiscardable, ...keys })];
  }
}

const LAYERED_OPS = {
  ...CALLS,
  fail: (machine, { ticket, failure, outward }, now) =>
    machine.fail(N(ticket), now, failureOf(failure), outward && failureOf(outward)),
};

function* layered({ outer, inner, attempts, go_on_after: reasons, seed, events, answers }) {
  const usual = ["attempts", "deadline", "hint", "permanent"];
  const goOnAfter = reasons && Object.fromEntries(usual.map((reason) => [reason, reasons.includes(reason)]));
  const layers = new Layers(new Policy(outer), new Policy(inner), { attempts, goOnAfter });
  let machine;
  for (const [at, event] of events.entries()) {
    let step;
    if (event.op === "begin") [machine, step] = Layered.begin(layers, N(seed), N(event.now));
    else if (event.op === "underway") machine = Layered.underway(layers, N(seed), N(event.started));
    else step = apply(LAYERED_OPS, machine, event);
    const { step: want, ...levels } = answers[at];
    yield [expected(want), step === undefined ? "null" : answer(step)];
    const { outerAttempt, innerAttempt, stoppedBy = null, innerReason = null } = machine.state;
    const counts = { outer_attempt: outerAttempt, inner_attempt: innerAttempt };
    yield [text(levels), text({ ...counts, stopped_by: stoppedBy, inner_reason: innerReason })];
  }
}

function* chaos({ seed, failure_rate: failureRate, latency_rate: latencyRate, shortest, longest, asks, answers }) {
  const machine = new Chaos({ seed: N(seed), failureRate, latencyRate, shortest: N(shortest), longest: N(longest) });
  for (const [at, ask] of asks.entries()) {
    const { fails, latency } = answers[at];
    yield [text([fails, N(latency)]), text([machine.fails(N(ask)), machine.latency(N(ask))])];
  }
}

function* loop_backoff({ backoff: { duration, cap, steps, ...factors }, reset, made, asks, delays }) {
  const backoff = { duration: N(duration), cap: N(cap), steps: N(steps), ...factors };
  const { after_quiet: quiet, every } = reset;
  const rule = quiet !== undefined ? { afterQuiet: N(quiet) } : every !== undefined ? { every: N(every) } : {};
  const machine = new LoopBackoff(new WaitBackoff(backoff), rule, N(made));
  for (const [at, { now, u = 0 }] of asks.entries()) yield [text(N(delays[at])), text(machine.next(N(now), u))];
}

async function* trace({ policy, seed, script, trace: told }) {
  const got = await events(runRetry, script, { policy: new Policy(policy), seed: N(seed) });
  for (const [at, event] of told.entries()) yield [text(scripted(event)), text(got[at] ?? null)];
  yield [text(told.length), text(got.length)];
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

function* form({ form: name, entry, text: given, document, error }) {
  const options = entry === null ? {} : { entry };
  for (const input of [given, JSON.parse(given)]) {
    const read = () => fromForm(name, input, options).policy;
    if (document === null) yield [text(error), refusal(read, error.rule !== undefined)];
    else yield [toJson(Policy.fromJson(document)), toJson(read())];
  }
}

function* explained({ policy, lines, total_wait: wait }) {
  yield [text(lines), text(String(explain(policy)).trimEnd().split("\n"))];
  yield [text(wait === null ? null : N(wait)), text(totalWaitNanos(policy) ?? null)];
}

function* hint({ headers, wall = "never", status = 0, hint }) {
  const now = N(wall) === NEVER ? null : N(wall);
  yield [text(hint === "none" || hint === "never" ? hint : N(hint)), hintText(hintOf(headers, { status, wall: now }))];
}

function* classify({ policy, http, grpc, codes, types, message, idempotent, failure, judged, ...facts }) {
  const { unsent, program_fault: programFault, should_retry: shouldRetry, rule } = facts;
  const known = { status: http, grpc, codes, types, message, idempotent, unsent, programFault, shouldRetry };
  const got = Policy.fromJson(policy).judge(failureOf(failure), known);
  yield [expected(judged), failureText(got)];
  if (rule !== undefined) yield [text(rule), text(got.rule ?? 0)];
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
  begin(budget, { call }, now, held) {
    held.delete(call);
    budget.begin(now);
  },
  admit: (budget, _, now) => budget.admit(now),
  fail: (budget, { kind = "transient" }, now) => budget.fail(kind, now),
  withdraw(budget, { call, kind = "transient" }, now, held) {
    const paid = budget.withdraw(kind, now);
    if (paid !== undefined) held.set(call, paid);
    return paid !== undefined;
  },
  refund(budget, { call }, now, held) {
    budget.refund(held.get(call), now);
    held.delete(call);
  },
  retried: (budget) => budget.retried(),
  succeed: (budget, { call }, now, held) => budget.succeed(held.get(call), now),
  end: (budget) => budget.end(),
};

/** How many yeses a budget gives to an event; the time of the latest is left in `clock`. */
function handed(budget, event, held, clock) {
  if (event.op !== "repeat") {
    clock.now = N(event.at);
    return apply(BUDGET_OPS, budget, event, held) ? 1 : 0;
  }
  let allowed = 0;
  for (let n = 0; n < event.times; n++) for (const one of event.events) allowed += handed(budget, one, held, clock);
  return allowed;
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

const BREAKER_OPS = {
  acquire: (breaker, _, now) => breaker.acquire(now),
  record: (breaker, { verdict, took = 0 }, now, permit) => breaker.record(permit, verdict, N(took), now),
  abandon: (breaker, _, now, permit) => breaker.abandon(permit, now),
  hint: (breaker, { span }, now) => breaker.hint(N(span), now),
  isolate: (breaker, _, now) => breaker.isolate(now),
  close: (breaker, _, now) => breaker.forceClose(now),
  reset: (breaker, _, now) => breaker.reset(now),
  look() {},
};

function* breaker({ breaker: section, seed = 0, made = 0, events, answers }) {
  const guard = documented("breaker", section, { seed: N(seed), now: N(made) });
  const permits = [];
  for (const [step, event] of events.entries()) {
    const [now, permit] = [N(event.now), permits[event.permit]];
    if ("permit" in event && permit === undefined) throw new Error(`event ${event.permit} gave no permit`);
    const acquired = apply(BREAKER_OPS, guard, event, permit);
    permits[step] = acquired?.permit;
    const { calls, failed, slow } = guard.rates(now);
    const got = { state: guard.state(now), counts: [calls, failed, slow], openings: guard.openings };
    if (acquired) got.refused = timeText(acquired.retryAt);
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

const LIMITER_OPS = {
  take: (limiter, { count = 1 }, now) => limiter.take(count, now),
  look: (limiter, { count = 1 }, now) => limiter.look(count, now),
  give_back: (limiter, { count = 1 }, now) => limiter.giveBack(count, now),
};

function* limiter({ limiter: section, made = 0, events, refused }) {
  const guard = documented("limiter", section, { now: N(made) });
  for (const [step, event] of events.entries()) {
    const got = apply(LIMITER_OPS, guard, event);
    yield [refused[step] === null ? "null" : text(N(refused[step])), text(timeText(got))];
  }
}

const BULKHEAD_OPS = {
  enter: (bulkhead) => bulkhead.enter(),
  enter_from: (bulkhead, _event, _now, place) => bulkhead.enterFrom(place),
  leave: (bulkhead) => bulkhead.leave(),
  leave_queue: (bulkhead, _event, _now, place) => bulkhead.leaveQueue(place),
};

function* bulkhead({ bulkhead: section, events, answers }) {
  const guard = documented("bulkhead", section);
  const places = [];
  for (const [step, event] of events.entries()) {
    const held = places[event.place];
    if (event.place !== undefined && held === undefined) throw new Error(`event ${event.place} gave no place`);
    const entry = apply(BULKHEAD_OPS, guard, event, held);
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

const SET_OPS = {
  isolate: ({ breaker }, _, now) => breaker.isolate(now),
  force_close: ({ breaker }, _, now) => breaker.forceClose(now),
  reset: ({ breaker }, _, now) => breaker.reset(now),
};

function* guarded({ policy, seed, start, events, steps, after }) {
  const rules = Policy.fromJson(policy);
  const sections = sectionsOf(policy);
  let guards = new Guards({ ...sections, seed: N(seed), now: N(start) });
  let calls = [];
  for (const [at, event] of events.entries()) {
    const { op, call } = event;
    const now = N(event.now);
    let step;
    if (op === "begin") [calls[call], step] = GuardedCall.begin(rules, guards, N(event.seed), now);
    else if (op === "move") {
      const saved = saveGuards(guards, now);
      guards = new Guards({ ...sections, seed: N(event.seed ?? 0), now: N(event.to) });
      restoreGuards(guards, saved, N(event.to));
      calls = [];
    } else if (call === undefined) step = apply(SET_OPS, guards, event);
    else step = apply(CALLS, calls[call], event);
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
  form,
  explain: explained,
  http,
  hint,
  classify,
  save: saveOf,
  resume,
  keyed_gate,
  layered,
  chaos,
  loop_backoff,
  duration,
  seed,
  trace,
};

/** The verdict on a recording, which may leave out what it has none of. */
function recorded(kind, { config, inputs, expected }) {
  const read = config ?? {};
  if (typeof read !== "object" || Array.isArray(read)) throw new Error(`no configuration: ${config}`);
  return RECORDED[kind]({ config: read, inputs: inputs ?? [], expected: expected ?? [] });
}

/** What became of a case: the first difference of one of ours, the verdict on a recording. */
async function outcome(kind, vector) {
  if (typeof vector !== "object") throw new Error(`no case: ${vector}`);
  if (Object.hasOwn(RECORDED, kind)) return recorded(kind, vector);
  let at = 0;
  try {
    for await (const [want, got] of KINDS[kind](vector)) {
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
  const token = /"(?:[^"\\]|\\[\s\S]?)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
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
async function runFile(path, name) {
  let [passed, failed, deviations, elsewhere] = [0, 0, 0, 0];
  let rest = "";
  const complain = (line) => {
    failed++;
    if (failed <= SHOWN) console.log(`  ${line}`);
  };
  try {
    const { kind, cases } = parse(readFileSync(path, "utf8"));
    if (!Object.hasOwn(KINDS, kind) && !Object.hasOwn(RECORDED, kind)) {
      throw new Error(`unknown kind ${JSON.stringify(kind)}`);
    } else {
      for (const vector of cases) {
        try {
          const verdict = await outcome(kind, vector);
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
  if (elsewhere > 0) rest = ` (${elsewhere} for the Rust runner)`;
  console.log(`${name}: ${passed} passed, ${failed} failed, ${deviations} deviations${rest}`);
  return failed === 0;
}

async function main(path, ...options) {
  const [named, count, seeded, seed] = options;
  const isLogs = named === "--logs" && seeded === "--seed" && [count, seed].every((number) => /^\d+$/.test(number));
  if (named === "--relay" && options.length === 2) {
    leg(count);
    return 0;
  }
  if (path === undefined || (options.length > 0 && !isLogs)) {
    console.error("usage: node run.mjs FILE|FOLDER [--logs COUNT --seed SEED | --relay LOG]");
    return 2;
  }
  if (isLogs) {
    console.log(digest(path, BigInt(count), BigInt(seed)).toString(16).padStart(16, "0"));
    return 0;
  }
  if (statSync(path).isFile()) return (await runFile(path, basename(path))) ? 0 : 1;
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json") && !NO_VECTORS.includes(entry.name))
    .map((entry) =>
      relative(path, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join("/"),
    )
    .sort();
  let failed = 0;
  for (const file of files) if (!(await runFile(join(path, file), file))) failed = 1;
  return failed;
}

process.exitCode = await main(...process.argv.slice(2));
