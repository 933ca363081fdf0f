/** The valid name nearest to an unknown one, for an error that helps: spec 3.3, as core/src/nearest.rs has it. */

/** The longest name worth comparing. */
const LONGEST = 64;

/** The candidate nearest to `name`: first a candidate that it ends with, then a candidate that differs in at most a third of its letters. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  // The core counts bytes; none of those of a letter beyond ASCII is in a candidate.
  const bytes = name.replace(/[^ -~]/gu, (letter) =>
    "\0".repeat(letter < "\x80" ? 1 : letter < "\u0800" ? 2 : letter.length + 2),
  );
  let best: string | undefined;
  let least = Infinity;
  for (const candidate of candidates) {
    const distance = edits(bytes, candidate);
    const rank = distance + (name.endsWith(candidate) ? 0 : LONGEST * 2);
    if (rank < least && (name.endsWith(candidate) || distance * 3 <= candidate.length)) {
      best = candidate;
      least = rank;
    }
  }
  return best;
}

/** The edit distance of two names (Levenshtein), case ignored. */
function edits(from: string, to: string): number {
  if (from.length >= LONGEST || to.length >= LONGEST) return LONGEST;
  const row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let line = 0; line < from.length; line++) {
    let diagonal = line;
    row[0] = line + 1;
    for (let at = 1; at <= to.length; at++) {
      const above = row[at] as number;
      const swap = diagonal + (from[line]?.toLowerCase() === to[at - 1]?.toLowerCase() ? 0 : 1);
      row[at] = Math.min(swap, above + 1, (row[at - 1] as number) + 1);
      diagonal = above;
    }
  }
  return row[to.length] as number;
}
