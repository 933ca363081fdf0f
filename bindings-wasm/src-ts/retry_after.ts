/** The hints that most servers send: `Retry-After` and its forms in milliseconds. Spec 7.6 and 7.9, as core/src/decide/hint has it. */
import type { Line } from "./headers.js";
import { LONGEST } from "./table.js";
import type { Nanos } from "./times.js";

/** Reads one value at a time of the clock on the wall, in nanoseconds since 1970; undefined where it is no hint. */
type Read = (value: string, wall: bigint | undefined) => bigint | undefined;

const SECOND = 1_000_000_000n;
const MILLISECOND = 1_000_000n;

/** A whole number of some units. */
const integer = (value: string, unit: bigint): bigint | undefined =>
  /^\d+$/.test(value) ? BigInt(value) * unit : undefined;

/** Milliseconds, perhaps with a fraction, rounded up to a nanosecond. */
function decimal(value: string): bigint | undefined {
  const [, digits, more = ""] = /^(\d+)(?:\.(\d+))?$/.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const unit = 10n ** BigInt(more.length);
  return BigInt(digits) * MILLISECOND + (BigInt(more) * MILLISECOND + unit - 1n) / unit;
}

/** The headers in the order in which they count. */
const HEADERS: readonly (readonly [name: string, read: Read])[] = [
  ["retry-after-ms", decimal],
  ["x-ms-retry-after-ms", decimal],
  ["retry-after", (value, wall) => integer(value, SECOND) ?? (wall === undefined ? undefined : untilDate(value, wall))],
  ["x-amz-retry-after", (value) => integer(value, MILLISECOND)],
];

/** The hint of header lines; Infinity where they have none. */
export function readLines(lines: readonly Line[], wall: bigint | undefined): Nanos {
  for (const [name, read] of HEADERS) {
    let found: bigint | undefined;
    for (const [known, value] of lines) if (known.toLowerCase() === name) found = last(value, wall, read) ?? found;
    if (found !== undefined) {
      const span = found < LONGEST ? found : LONGEST;
      return span <= Number.MAX_SAFE_INTEGER ? Number(span) : span;
    }
  }
  return Infinity;
}

/** The last readable one of the values between commas. A date may have a comma of its own. */
function last(list: string, wall: bigint | undefined, read: Read): bigint | undefined {
  let found: bigint | undefined;
  let from = 0;
  let before = 0;
  for (const part of list.split(",")) {
    const to = from + part.length;
    found = read(list.slice(from, to).trim(), wall) ?? read(list.slice(before, to).trim(), wall) ?? found;
    before = from;
    from = to + 1;
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

/** The time from the wall's until a date; no time at all when it is past. */
function untilDate(text: string, wall: bigint): bigint | undefined {
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
  const moment = BigInt(Math.max(seconds, 0)) * SECOND + (BigInt(more) * SECOND + unit - 1n) / unit;
  return moment > wall ? moment - wall : 0n;
}
