// What a recorder writes, what a log makes, and what a wheel says.
import { Guards } from "../../../bindings-wasm/dist/esm/guards.js";
import { Policy } from "../../../bindings-wasm/dist/esm/index.js";
import { Wheel } from "../../../bindings-wasm/dist/esm/timers.js";
import { Event, Recorder, ReplayError, replay, save } from "../../../bindings-wasm/dist/esm/tools.js";
import { answer, apply, bytesOf, CALLS, expected, hex, N, sectionsOf, text } from "./words.mjs";

/** JSON with names in a fixed order, whatever it is. */
const json = (value) =>
  JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return String(part);
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

export function* log({ policy, seed, task, inputs: [first, ...rest], steps, events, bytes, saved_at, saved }) {
  const rules = Policy.fromJson(policy);
  const fresh = (now) => new Guards({ ...sectionsOf(policy), seed: N(seed), now });
  let [call, said] = Recorder.begin(rules, N(seed), N(first.now), { guards: fresh(N(first.now)), task });
  const [written, binary] = [[], []];
  const write = ({ step, events }) => {
    for (const event of events) {
      written.push(event);
      binary.push(Event.toBytes(event, event.type === "ATTEMPT_FAILED" ? event.failureReason : ""));
    }
    return answer(step);
  };
  yield [expected(steps[0]), write(said)];
  for (const [at, input] of rest.entries()) {
    if (input.op === "resume") {
      const now = N(input.now);
      call = replay(rules, Buffer.concat(binary), { mode: "verify", guards: fresh(now), task });
      said = call.resume(now, input.reruns);
    } else said = apply(CALLS, call, input);
    yield [expected(steps[at + 1]), write(said)];
  }
  yield [json(events), json(written)];
  yield [bytes, hex(Buffer.concat(binary))];
  yield [saved, hex(save(call.call, N(saved_at)))];
  for (const form of [Buffer.concat(binary), written.map((event) => JSON.stringify(event)), written]) {
    const replayed = replay(rules, form, { mode: "verify" });
    yield [saved, hex(save(replayed.call, N(saved_at)))];
  }
  const read = written.map((event) => Event.fromJson(JSON.parse(JSON.stringify(event))));
  yield [json(written), json(read)];
}

/** What a recorder shows, as a vector says it. */
function stateText(call, savedAt) {
  const { step, sequence, attempt, reruns } = call;
  return text({ step: answer(step), sequence, attempt, reruns, saved: hex(save(call.call, N(savedAt))) });
}

const expectedState = ({ step, saved_at: _, ...rest }) => text({ ...rest, step: expected(step) });
/** Events without the texts that were lent to them. */
const bare = (events) => json(events.map(({ payload: _, failureReason: __, ...event }) => event));

export function* replayOf({ policy, mode, any_policy: anyPolicy, events, bytes, error, state, resume }) {
  const rules = Policy.fromJson(policy);
  const guards = new Guards({ ...sectionsOf(policy), seed: 0, now: N(resume?.now ?? 0) });
  let call;
  let wrong = "null";
  try {
    call = replay(rules, bytes === undefined ? events : bytesOf(bytes), { mode, anyPolicy, guards });
  } catch (raised) {
    if (!(raised instanceof ReplayError)) throw raised;
    const { code, word: name, sequence, computed } = raised;
    wrong = json({ code, name, sequence, ...(computed && { computed }) });
  }
  yield [error === undefined ? "null" : json(error), wrong];
  if (state !== undefined) yield [expectedState(state), stateText(call, state.saved_at)];
  if (resume === undefined) return;
  const said = call.resume(N(resume.now), resume.reruns);
  yield [expected(resume.step), answer(said.step)];
  yield [bare(resume.events), bare(said.events)];
  if (resume.state !== undefined) yield [expectedState(resume.state), stateText(call, resume.state.saved_at)];
}

const WHEEL_OPS = {
  insert(timers, _, at, keys, numbers) {
    const key = timers.insert(at);
    const index = Wheel.index(key);
    if (index > numbers.length) throw new Error(`index ${index} comes after ${numbers.length} others`);
    numbers[index] = keys.push(key) - 1;
    return {};
  },
  cancel: (timers, { timer }, _, keys) => ({ cancelled: timers.cancel(keys[timer]) }),
  pop(timers, _, now, _keys, numbers) {
    const due = timers.pop(now);
    return { fired: due ? { timer: numbers[Wheel.index(due.key)], at: due.at } : null };
  },
  look: (timers) => ({ next_wake: timers.nextWake ?? null, len: timers.size }),
  clear(timers) {
    timers.clear();
    return {};
  },
};

export function* wheel({ ops, answers }) {
  const timers = new Wheel();
  // The keys of all timers, and the number of the timer at each index.
  const [keys, numbers] = [[], []];
  for (const [step, event] of ops.entries()) {
    const got = apply(WHEEL_OPS, timers, event, keys, numbers);
    const { fired, next_wake: wake, ...rest } = answers[step];
    const want = { ...rest };
    if (fired !== undefined) want.fired = fired && { ...fired, at: N(fired.at) };
    if (wake !== undefined) want.next_wake = wake === null ? null : N(wake);
    yield [json(want), json(got)];
  }
}
