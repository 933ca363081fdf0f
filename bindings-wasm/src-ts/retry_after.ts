/** The hints that most servers send: `Retry-After` and its forms in milliseconds. Spec 7.6 and 7.9, as core/src/decide/hint has it. */
import type { Line } from "./headers.js";
import { LONGEST } from "./table.js";
import type { Nanos } from "./times.js";

/** A time on the wall, in nanoseconds since 1970; undefined where it is not known. */
type Wall = bigint | undefined;
/** Reads one value at a time of the clock on the wall, a date from the server's; undefined where it is no hint. */
type Read = (value: string, wall: Wall, from: Wall) => bigint | undefined;

const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;

/** A number of some units, perhaps with a fraction, rounded up to whole steps. */
function decimal(value: string, unit: bigint, step = 1n): bigint | undefined {
  const [, digits, more = ""] = /^(\d+)(?:\.(\d+))?$/.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const parts = 10n ** BigInt(more.length) * step;
  return BigInt(digits) * unit + ((BigInt(more) * unit + parts - 1n) / parts) * step;
}

const millis: Read = (value) => decimal(value, MILLISECOND);

/** The headers in the order in which they count. */
const HEADERS: readonly (readonly [name: string, read: Read])[] = [
  ["retry-after-ms", millis],
  ["x-ms-retry-after-ms", millis],
  [
    "retry-after",
    (value, wall, from) => {
      const span = decimal(value, SECOND, MILLISECOND);
      if (span !== undefined || from === undefined) return span;
      const moment = momentOf(value, wall);
      return moment !== undefined && moment < from ? 0n : moment && moment - from;
    },
  ],
  ["x-amz-retry-after", (value) => (/\./.test(value) ? undefined : millis(value, 0n, 0n))],
];

/** The hint of header lines; Infinity where they have none. */
export function readLines(lines: readonly Line[], wall: Wall): Nanos {
  // The answer's own clock, so that a wrong one of this machine does not matter.
  const from = latest(lines, "date", momentOf, wall, wall) ?? wall;
  for (const [name, read] of HEADERS) {
    const found = latest(lines, name, read, wall, from);
    if (found !== undefined) {
      const span = found < LONGEST ? found : LONGEST;
      return span <= Number.MAX_SAFE_INTEGER ? Number(span) : span;
    }
  }
  return Infinity;
}

/** The last readable value of a header, of those between commas, too. A date may have a comma of its own. */
function latest(lines: readonly Line[], name: string, read: Read, wall: Wall, now: Wall): bigint | undefined {
  let found: bigint | undefined;
  for (const [known, list] of lines) {
    if (known.toLowerCase() !== name) continue;
    let from = 0;
    let before = 0;
    for (const part of list.split(",")) {
      const to = from + part.length;
      found = read(list.slice(from, to).trim(), wall, now) ?? read(list.slice(before, to).trim(), wall, now) ?? found;
      before = from;
      from = to + 1;
    }
  }
  return found;
}

/** The formats of a date: the three of HTTP (RFC 9110, 5.6.7) and ISO 8601 as RFC 3339 has it. */
const FORMATS = [
  /^(?:sun|mon|tue|wed|thu|fri|sat), (?<day>\d\d) (?<month>[a-z]{3}) (?<year>\d{4}) (?<clock>[\d:]{8}) gmt$/i,
  /^(?:sun|mon|tues|wednes|thurs|fri|satur)day, (?<day>\d\d)-(?<month>[a-z]{3})-(?<year>\d\d) (?<clock>[\d:]{8}) gmt$/i,
  /^(?:sun|mon|tue|wed|thu|fri|sat) (?<month>[a-z]{3}) (?<day> \d|\d\d) (?<clock>[\d:]{8}) (?<year>\d{4})$/i,
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[t ](?<clock>[\d:]{8})(?:\.(?<more>\d+))?(?:z|(?<sign>[+-])(?<zone>\d\d:\d\d))$/i,
];
const MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec";

/** Seconds of `08:49:37` or `08:49`; undefined when it is no time of a day. */
function clock(text: string): number | undefined {
  const [, hour, minute, second = 0] = /^(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)?.map(Number) ?? [];
  if (hour === undefined || minute === undefined) return undefined;
  const right = hour < 24 && minute < 60 && (Number.isNaN(second) || second <= 60);
  return right ? hour * 3600 + minute * 60 + (second || 0) : undefined;
}

/** The moment of a date, in nanoseconds since 1970. The time on the wall says the century of a year with two digits. */
function momentOf(text: string, wall: Wall): bigint | undefined {
  let found: Record<string, string | undefined> | undefined;
  for (const format of FORMATS) found ??= format.exec(text)?.groups;
  if (found === undefined) return undefined;
  const { year: digits = "", month: name = "", more = "", sign, zone } = found;
  const at = MONTHS.indexOf(name.toLowerCase());
  const month = /\d/.test(name) ? Number(name) - 1 : at % 3 === 0 ? at / 3 : -1;
  const day = Number(found["day"]);
  // A calendar repeats itself every 400 years.
  const has = (year: number): boolean => new Date(Date.UTC(year + 400, month, day)).getUTCDate() === day;
  const second = clock(found["clock"] as string);
  const offset = clock(zone ?? "00:00");
  if (month < 0 || month > 11 || second === undefined || offset === undefined) return undefined;
  let year = Number(digits);
  if (digits.length === 2) {
    if (wall === undefined) return undefined;
    // At most fifty years ahead, and a year that has the day.
    const now = new Date(Number(wall / MILLISECOND));
    const latest = now.getUTCFullYear() + 50;
    year = latest - ((latest - year) % 100);
    const within = (month: number, day: number, second: number) => (month * 31 + day) * 86_401 + second;
    const passed = Number((wall / SECOND) % 86_400n);
    const isLate = within(month, day, second) > within(now.getUTCMonth(), now.getUTCDate(), passed);
    if (year === latest && isLate) year -= 100;
    for (let century = 0; century < 4 && !has(year); century++) year -= 100;
  }
  if (!has(year)) return undefined;
  if (year < 1970) return 0n;
  const seconds = Date.UTC(year, month, day) / 1000 + second - (sign === "-" ? -offset : offset);
  const unit = 10n ** BigInt(more.length);
  return BigInt(Math.max(seconds, 0)) * SECOND + (BigInt(more) * SECOND + unit - 1n) / unit;
}
