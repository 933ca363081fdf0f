// The longest text that the page reads: a browser needs minutes to lay out a million lines.

/** In characters. The core has the same limit, in bytes. */
export const LONGEST = 256 * 1024;
/** The core reads as many events. */
const LINES = 10_000;

const shown = (number: number) => number.toLocaleString("en");

/** Says that a text is too long; `undefined` if it is not. */
export function tooLong(text: string): string | undefined {
  if (text.length > LONGEST)
    return `The text has ${shown(text.length)} characters; at most ${shown(LONGEST)} are read.`;
  const lines = text.split("\n").length - 1;
  return lines > LINES ? `The text has ${shown(lines)} lines; at most ${shown(LINES)} are read.` : undefined;
}
