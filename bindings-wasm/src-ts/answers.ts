/** HTTP answers: their headers, the hints in them, and their bodies. */
import type { Clock } from "./clock.js";
import { bounded, NEVER, UNITS, type Unit } from "./errors.js";
import { LONGEST } from "./table.js";
import type { Nanos } from "./values.js";
import { clean, isObject } from "./values.js";

/** One header line: its name and its value. */
export type Line = readonly [name: string, value: string];

/** A `Headers`, a `Map`, pairs of names and values, or an object by names; several values of a name as a list. */
export type HeadersLike =
  | Iterable<readonly [string, unknown]>
  | { readonly [name: string]: unknown }
  | { get(name: string): unknown };

/** The headers to ask of an object that does not list them, such as gRPC's metadata. */
const ASKED = ["date", "retry-after", "grpc-retry-pushback-ms"];

/** The header lines of an object with headers; an empty list for any other value. */
export function linesOf(headers: unknown): Line[] {
  const lines: Line[] = [];
  if (!isObject(headers)) return lines;
  // `trim` would remove white space beyond ASCII, too, which is part of a value.
  const add = (name: unknown, value: unknown) => {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof name === "string" && (typeof one === "string" || typeof one === "number"))
        lines.push([name, `${one}`.replace(/[^\S \t\n\f\r]/g, "?")]);
    }
  };
  const { get, [Symbol.iterator]: iterate } = clean(headers as { get?: unknown; [Symbol.iterator]?: unknown });
  if (typeof iterate === "function") {
    for (const pair of headers as Iterable<unknown>) if (Array.isArray(pair)) add(pair[0], pair[1]);
  } else if (typeof get === "function") {
    for (const name of ASKED) add(name, get.call(headers, name));
  } else {
    for (const [name, value] of Object.entries(headers)) add(name, value);
  }
  return lines;
}

/** Now in nanoseconds since 1970, by the clock on the wall. */
export const wallNow = (): bigint => BigInt(Date.now()) * 1_000_000n;

/** A time on the wall, in nanoseconds since 1970; undefined where it is not known. */
type Wall = bigint | undefined;
/** Reads one value at a time of the clock on the wall, a date from the server's; undefined where it is no hint. */
type Read = (value: string, wall: Wall, from: Wall) => bigint | undefined;

const { s: SECOND, ms: MILLISECOND } = UNITS;
/** The most characters of a value that are read (spec 7.8). */
const MOST = 4096;
/** The characters of the shortest date; the part of a date after its own comma has more. */
const SHORTEST_DATE = 20;

/** A number of some units, perhaps with a fraction, rounded up to whole steps. */
function decimal(value: string, unit: bigint, step = 1n): bigint | undefined {
  const [, digits, more = ""] = /^(\d+)(?:\.(\d+))?$/.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const parts = 10n ** BigInt(more.length) * step;
  return ((BigInt(digits + more) * unit + parts - 1n) / parts) * step;
}

const millis: Read = (value) => decimal(value, MILLISECOND);

/** The span from the server's time to a moment; no time at all when it is past. */
const until = (moment: bigint | undefined, from: Wall): bigint | undefined =>
  moment === undefined || from === undefined ? undefined : moment > from ? moment - from : 0n;

/** The headers in the order in which they count. */
const HEADERS: readonly (readonly [name: string, read: Read])[] = [
  ["retry-after-ms", millis],
  ["x-ms-retry-after-ms", millis],
  ["retry-after", (value, wall, from) => decimal(value, SECOND, MILLISECOND) ?? until(momentOf(value, wall), from)],
  ["x-amz-retry-after", (value) => (/\./.test(value) ? undefined : millis(value, 0n, 0n))],
];

/** The hint of the lines of an answer with that status, 0 if it is not known; Infinity where they have none. */
export function readLines(all: readonly Line[], wall: Wall, status: number): Nanos {
  const lines = all.map(([name, value]): Line => [name.toLowerCase(), value]);
  const valuesOf = (wanted: string) => lines.filter(([name]) => name === wanted).map(([, value]) => value);
  // gRPC: a pushback that is no number means never; so does a second pushback.
  const [pushback, ...more] = valuesOf("grpc-retry-pushback-ms");
  if (pushback !== undefined) {
    const text = pushback.trim();
    const isNumber = more.length === 0 && text.length <= MOST && /^\+?\d+$/.test(text) && BigInt(text) <= LONGEST;
    return isNumber ? bounded(BigInt(text) * MILLISECOND) : NEVER;
  }
  // The answer's own clock, so that a wrong one of this machine does not matter.
  const from = latest(valuesOf("date"), momentOf, wall, wall) ?? wall;
  for (const [name, read] of HEADERS) {
    const found = latest(valuesOf(name), read, wall, from);
    if (found !== undefined) return bounded(found);
  }
  return readQuotas(lines, wall, from, status);
}

/** A quota: 1 if it is spent, 0 if something is left, undefined if it does not say; and the time to its reset. */
interface Quota {
  spent?: bigint | undefined;
  reset?: bigint | undefined;
}

/** The part of a name behind `ratelimit-`, with the resource before the word or after it. */
const QUOTA =
  /^(?:anthropic-|x-)?rate-?limit-(?:(requests|(?:(?:in|out)put-)?tokens)-)?(remaining|reset|reset-after|retry-after)(?:-(requests|(?:(?:in|out)put-)?tokens))?$/;

/** The longest time to the reset of a spent quota, else to that of a quota that does not say how much is left. */
function readQuotas(lines: readonly Line[], wall: Wall, from: Wall, status: number): Nanos {
  const quotas: Record<string, Quota> = {};
  const all: Quota[] = [];
  for (const [name, value] of lines) {
    if (name === "ratelimit") all.push(...quotasOf(value));
    const [, before, word, after] = QUOTA.exec(name) ?? [];
    if (word === undefined || (before && after)) continue;
    const quota = (quotas[before ?? after ?? ""] ??= {});
    if (word === "remaining") quota.spent = latest([value], spentOf, wall, from) ?? quota.spent;
    else quota.reset = latest([value], resetOf, wall, from) ?? quota.reset;
  }
  all.push(...Object.values(quotas));
  let longest = -1n;
  const look = (wanted: bigint | undefined): void => {
    for (const { spent, reset = -1n } of all) if (spent === wanted && reset > longest) longest = reset;
  };
  look(1n);
  if (longest < 0n && [0, 429, 503].includes(status)) look(undefined);
  return longest < 0n ? Infinity : bounded(longest);
}

/** 1 for a remaining amount of zero or below, 0 for another. */
const spentOf: Read = (value) => (/^-?\d+(?:\.\d+)?$/.test(value) ? (/^-|^[0.]+$/.test(value) ? 1n : 0n) : undefined);

/** A reset: seconds from now, a moment in seconds or milliseconds since 1970, numbers with units, or a date. */
const resetOf: Read = (value, wall, from) => {
  const seconds = decimal(value, SECOND);
  if (seconds !== undefined)
    return seconds < 10n ** 18n ? seconds : until(seconds < 10n ** 21n ? seconds : decimal(value, MILLISECOND), from);
  let span = 0n;
  // Sticky: one number with a unit directly after the other.
  const rest = value.replace(/(\d+(?:\.\d+)?)([mnu\u00b5]?s|[mhd])/gy, (_, number, unit) => {
    span += decimal(number, UNITS[unit.replace("\u00b5", "u") as Unit]) as bigint;
    return "";
  });
  return rest === "" && value !== "" ? span : until(momentOf(value, wall), from);
};

/** The quotas of a `RateLimit` field: of its policies, as in `"default";r=0;t=30`, and the one quota of draft 7, as in `remaining=0, reset=30`. */
function quotasOf(field: string): Quota[] {
  const all: Quota[] = [];
  const named: Quota = {};
  let isFormed = true;
  if (field.trim().length > MOST) return all;
  // The contents of a quoted text have no meaning here.
  for (const member of field.replace(/"(?:[^"\\]|\\[\s\S]?)*"?/g, '""').split(",")) {
    if (!member.includes("=")) continue;
    const [policy = "", ...parts] = member.split(";").map((part) => part.trim());
    const isNamed = parameter(named, policy, "remaining", "reset");
    isFormed &&= isNamed ?? true;
    const quota: Quota = {};
    const isWhole = parts.every((part) => parameter(quota, part, "r", "t") ?? part !== "");
    if (isNamed === undefined && isWhole && policy !== "") all.push(quota);
  }
  return isFormed ? [named, ...all] : all;
}

/** Reads a parameter `key=value` of a quota. Returns false if its value is no number, undefined if the text is no parameter. */
function parameter(quota: Quota, part: string, left: string, reset: string): boolean | undefined {
  const [key, value, more] = part.split("=").map((half) => half.trim());
  if (value === undefined || more !== undefined) return undefined;
  if (key !== left && key !== reset) return true;
  if (!/^\d+$/.test(value)) return false;
  if (key === left) quota.spent = /[^0]/.test(value) ? 0n : 1n;
  else quota.reset = BigInt(value) * SECOND;
  return true;
}

/** Reads the last valid value of several lines, which may list values between commas. A date contains a comma. */
function latest(lists: readonly string[], read: Read, wall: Wall, now: Wall): bigint | undefined {
  let found: bigint | undefined;
  for (let line = lists.length; found === undefined && line--; ) {
    const list = (lists[line] as string).trim();
    const parts = (list.length > MOST ? list.slice(-MOST).replace(/^[^,]*,?/, "") : list).split(",");
    while (found === undefined && parts.length > 0) {
      const part = parts.pop() as string;
      if (!/\d/.test(part)) continue;
      found = read(part.trim(), wall, now);
      if (part.length >= SHORTEST_DATE) found ??= read(`${parts.at(-1)},${part}`.trim(), wall, now);
    }
  }
  return found;
}

/** The formats of a date: the three of HTTP (RFC 9110, 5.6.7) and ISO 8601 as RFC 3339 has it. */
const FORMATS = [
  /^(?:sun|mon|tue|wed|thu|fri|sat), (?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<clock>\d\d:\d\d:\d\d) gmt$/i,
  /^(?:sun|mon|tues|wednes|thurs|fri|satur)day, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<clock>\d\d:\d\d:\d\d) gmt$/i,
  /^(?:sun|mon|tue|wed|thu|fri|sat) (?<month>[a-z]{3}) (?<day> \d|\d\d) (?<clock>\d\d:\d\d:\d\d) (?<year>\d{4})$/i,
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[t ](?<clock>\d\d:\d\d:\d\d)(?<more>\.\d+)?(?:z|(?<sign>[+-])(?<zone>\d\d:\d\d))$/i,
];
const MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec";

/** Seconds of `08:49:37` or `08:49`; NaN when it is no time of a day. */
function clock(text: string): number {
  const [hour, minute, second = 0] = text.split(":").map(Number) as [number, number, number?];
  return hour < 24 && minute < 60 && second <= 60 ? hour * 3600 + minute * 60 + second : Number.NaN;
}

/** The moment of a date, in nanoseconds since 1970. The time on the wall says the century of a year with two digits. */
function momentOf(text: string, wall: Wall): bigint | undefined {
  let found: Record<string, string | undefined> | undefined;
  if (text.length >= SHORTEST_DATE) for (const format of FORMATS) found ??= format.exec(text)?.groups;
  if (found === undefined) return undefined;
  const { year: digits = "", month: name = "", more = "", sign, zone = "00:00" } = found;
  const month = (Number(name) || MONTHS.indexOf(name.toLowerCase()) / 3 + 1) - 1;
  const day = Number(found["day"]);
  const second = clock(found["clock"] as string);
  const offset = clock(zone);
  if (!Number.isInteger(month) || month > 11 || Number.isNaN(second + offset)) return undefined;
  // A calendar repeats itself every 400 years.
  const has = (year: number): boolean => new Date(Date.UTC(year + 400, month, day)).getUTCDate() === day;
  let year = Number(digits);
  if (digits.length === 2) {
    if (wall === undefined) return undefined;
    // At most fifty years ahead, and a year that has the day.
    const now = new Date(Number(wall / MILLISECOND));
    const latest = now.getUTCFullYear() + 50;
    year = latest - ((latest - year) % 100);
    // A leap year has every day.
    if (year === latest && Date.UTC(2000, month, day) + second * 1000 > now.setUTCFullYear(2000)) year -= 100;
    for (let century = 0; century < 4 && !has(year); century++) year -= 100;
  }
  if (!has(year)) return undefined;
  if (year < 1970) return 0n;
  const seconds = Date.UTC(year, month, day) / 1000 + second - (sign === "-" ? -offset : offset);
  return decimal(Math.max(seconds, 0) + more, SECOND);
}

/** The most bytes of a body that is read to its end, and the most milliseconds. */
const SMALL = 65536;
const LONGEST_DRAIN = 500;

export interface Answer {
  readonly status: number;
  readonly headers: unknown;
}

/** The status and the headers of an answer; undefined for a value without a status. */
export function answerOf(value: unknown): Answer | undefined {
  if (!isObject(value)) return undefined;
  const { status, statusCode, headers } = clean(value as { status?: unknown; statusCode?: unknown; headers?: unknown });
  for (const one of [status, statusCode]) if (typeof one === "number") return { status: one, headers };
  return undefined;
}

const nothing = () => {};

/** The part of a web stream, or of undici's, that is used. */
interface Body {
  readonly locked?: boolean;
  getReader?(): { read(): Promise<{ done: boolean; value?: { byteLength: number } }>; cancel(): Promise<void> };
  dump?(limits: { limit: number }): unknown;
  cancel?(): unknown;
}

interface WithBody {
  readonly body?: Body | null;
  readonly bodyUsed?: boolean;
  clone?(): WithBody;
}

const cancel = async (body: Body | null | undefined) => body?.cancel?.();

/**
 * Frees the connection of an answer that nobody will read, which runtimes otherwise keep until the answer is collected. A small body
 * is read to its end, so that the connection serves the next attempt, and stays readable where the answer can be cloned; any other
 * is cancelled. A body that somebody has begun to read is theirs.
 */
export function discard(value: unknown, clock: Clock): void {
  try {
    const answer = value as WithBody;
    const { body } = answer;
    if (answerOf(value) === undefined || !body || answer.bodyUsed || body.locked) return;
    const freed = body.getReader ? drain(answer, clock) : (body.dump?.({ limit: SMALL }) ?? cancel(body));
    Promise.resolve(freed).catch(nothing);
  } catch {
    // An answer that cannot be freed is no reason to stop.
  }
}

async function drain(answer: WithBody, clock: Clock): Promise<void> {
  const copy = answer.clone?.();
  const reader = ((copy ?? answer).body as Required<Body>).getReader();
  const leave = () => {
    reader.cancel().catch(nothing);
    if (copy) cancel(answer.body).catch(nothing);
  };
  const timer = clock.setTimeout(leave, LONGEST_DRAIN);
  (timer as { unref?(): void } | undefined)?.unref?.();
  try {
    for (let left = SMALL; left >= 0; ) {
      const { done, value } = await reader.read();
      if (done) return;
      left -= (value as { byteLength: number }).byteLength;
    }
    leave();
  } finally {
    clock.clearTimeout(timer);
  }
}
