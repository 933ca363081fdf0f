/**
 * What others wrote is read in linear time: documents, states, logs, headers, durations. The work is the time of the processor. It is held
 * against that of a harmless text of the same length, so it does not depend on the machine.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { hintOf, Policy, parseDuration } from "holdoff";
import { Event, fromForm, Recorder, replay, resumeCall } from "holdoff/tools";

const { length, pieces, samples } = JSON.parse(
  readFileSync(new URL("../../tests/adversarial.json", import.meta.url), "utf8"),
);

/** How much more work than the harmless text a text may be. A quadratic reader takes many thousand times as much. */
const TIMES = 1000;

/** The microseconds of the processor that a reader takes; it may refuse what it reads. */
function work(read, given) {
  const before = process.cpuUsage();
  try {
    read(given);
  } catch (error) {
    assert.doesNotMatch(String(error), /call stack/);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function* texts() {
  for (const piece of pieces) {
    const text = piece.repeat(length / piece.length);
    yield text;
  }
}

function* places(value, path = []) {
  yield [path, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* places(inner, [...path, key]);
}

/** The JSON of a value in which another text stands at a place. */
function withText(value, path, text) {
  if (path.length === 0) return text;
  const changed = structuredClone(value);
  const last = path.slice(0, -1).reduce((inner, key) => inner[key], changed);
  last[path.at(-1)] = "@@@";
  return JSON.stringify(changed).split('"@@@"').join(text);
}

function filled(open, entry, close) {
  const count = Math.ceil(length / (entry(0).length + 1));
  return open + Array.from({ length: count }, (_, at) => entry(at)).join() + close;
}

/** A long name in the place of each one, around lists of many items. */
function* longNames(sample) {
  const long = length * 8;
  const longer = (value) => {
    if (Array.isArray(value))
      return Array(Math.ceil(long / JSON.stringify(value).length))
        .fill(value)
        .flat();
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, longer(inner)]));
  };
  const text = JSON.stringify(longer(sample));
  for (const [path] of places(sample)) yield text.replace(`"${path.at(-1)}":`, `"${"a".repeat(long)}":`);
}

function* documents(sample) {
  yield* longNames(sample);
  for (const [path, value] of places(sample)) {
    const one = JSON.stringify(value);
    const of = (text) => withText(sample, path, text);
    for (const text of texts()) yield of(JSON.stringify(text));
    yield of("9".repeat(length));
    yield of(`0.${"9".repeat(length)}`);
    yield of(`1e${"9".repeat(length)}`);
    yield of("[".repeat(length));
    yield of('{"a":'.repeat(length / 5));
    yield of(" ".repeat(length) + one);
    yield of(filled("[", () => one, "]"));
    yield of(filled("[", (at) => `"${at}"`, "]"));
    yield of(filled("{", (at) => `"${at}":${one}`, "}"));
    yield of(filled("{", (at) => `"x-${at}":0`, "}"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    for (const [name, inner] of Object.entries(value)) {
      yield of(filled("{", () => `${JSON.stringify(name)}:${JSON.stringify(inner)}`, "}"));
    }
  }
}

const harmless = JSON.stringify("x".repeat(length));

function hold(what, read, inputs) {
  // The first readings compile.
  for (let k = 0; k < 3; k++) work(Policy.fromJson, harmless);
  const harmlessWork = Math.max(work(Policy.fromJson, harmless), 500);
  let count = 0;
  for (const given of inputs) {
    count++;
    const allowed = TIMES * harmlessWork * Math.max(1, given.length / length);
    let took = work(read, given);
    if (took > allowed) took = Math.min(work(read, given), work(read, given), work(read, given));
    assert.ok(took <= allowed, `${what}: ${String(given).slice(0, 200)} took ${took} us, more than ${allowed}`);
  }
  assert.ok(count > 20, `${count} inputs`);
}

for (const [name, sample] of Object.entries(samples)) {
  const policy = new Policy();
  const readers = {
    policy: Policy.fromJson,
    state: (text) => resumeCall(text, policy, 0),
    event: (text) => Event.fromJson(text),
  };
  const read = readers[name] ?? ((text) => fromForm(name, text));
  test(`${name}: read in linear time`, () => {
    read(JSON.stringify(sample));
    hold(name, read, documents(sample));
  });
}

test("durations and headers are read in linear time", () => {
  hold(
    "durations",
    parseDuration,
    [...texts()].flatMap((text) => [text, `1${text}s`]),
  );
  for (const name of [
    "Retry-After",
    "Date",
    "RateLimit",
    "X-RateLimit-Reset",
    "x-ratelimit-remaining-tokens",
    "anthropic-ratelimit-requests-reset",
    "retry-after-ms",
    "grpc-retry-pushback-ms",
  ]) {
    hold(
      name,
      (value) => hintOf([[name, value], ...Array(1000).fill([name, value.slice(0, 100)])], { status: 429 }),
      texts(),
    );
    hold(name, (value) => hintOf({ [name]: value }, { status: 429 }), texts());
    hold("a header's name", (value) => hintOf({ [name + value]: "1", [value + name]: "1" }, { status: 429 }), texts());
  }
});

test("logs are read in linear time", () => {
  const [, { events }] = Recorder.begin(new Policy(), 1, 0);
  const log = events.flatMap((event) => [...Event.toBytes(event)]);
  const many = Array.from({ length: Math.floor(length / log.length) }, () => log).flat();
  const inputs = [Uint8Array.from(many), Uint8Array.from(many.slice(0, -1))];
  for (let byte = 0; byte < 256; byte++) {
    inputs.push(new Uint8Array(length).fill(byte), Uint8Array.from([...log, ...Array(length).fill(byte)]));
  }
  hold("logs", (bytes) => Event.readAll(bytes), inputs);
  hold("replay", (bytes) => replay(new Policy(), bytes), inputs);
});
