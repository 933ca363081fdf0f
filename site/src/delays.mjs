// Draws the delays of a policy document: for each retry the range from the shortest to the longest delay, and the typical one.
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./pages.mjs";

/** Loads a module of the package that was built last, when a drawing needs it: serving the site needs none. */
const built = createRequire(join(ROOT, "bindings-wasm/package.json"));

const WIDTH = 640;
const LEFT = 70;
const RIGHT = 190;
const ROW = 26;

/** The drawing of a document as SVG in the colours of the page. Rows end with the policy's attempts, at eight at most. */
export function drawDelays(document) {
  const { Policy } = built("holdoff/guards");
  const { explain } = built("holdoff/tools");
  const rows = explain(Policy.fromJson(document), { rows: 8 }).rows.filter((row) => row.inTime !== "never");
  const x = scale(rows);
  const bars = rows.map(({ retry, min, typical, max }, index) => {
    const middle = (index + 0.5) * ROW;
    const range = max - min < 0.001 ? span(max) : `${span(min)} to ${span(max)}`;
    return (
      `<text x="0" y="${middle + 4}">retry ${retry}</text>` +
      `<rect class="range" x="${x(min)}" y="${middle - 7}" width="${Math.max(2, x(max) - x(min))}" height="14" rx="3"/>` +
      `<line class="typical" x1="${x(typical)}" x2="${x(typical)}" y1="${middle - 9}" y2="${middle + 9}"/>` +
      `<text x="${WIDTH - RIGHT + 12}" y="${middle + 4}">${range}</text>`
    );
  });
  const label = rows.map(({ retry, min, max }) => `retry ${retry}: ${span(min)} to ${span(max)}`).join(", ");
  return `<svg role="img" aria-label="Delays: ${label}" class="delays" viewBox="0 0 ${WIDTH} ${rows.length * ROW}" width="${WIDTH}">${bars.join("")}</svg>`;
}

/** A linear axis; a logarithmic one if the longest delays differ by more than fifty times. */
function scale(rows) {
  const longest = rows.map(({ max }) => Math.max(max, 1));
  const [low, high] = [Math.min(...longest), Math.max(...longest)];
  const width = WIDTH - LEFT - RIGHT;
  const start = low / 4;
  if (high / low <= 50) return (ms) => LEFT + (width * ms) / high;
  return (ms) => LEFT + (width * Math.log(Math.max(ms, start) / start)) / Math.log(high / start);
}

/** Milliseconds as a person says them. */
function span(exact) {
  const ms = Number(exact.toPrecision(3));
  const [size, unit] = ms >= 3_600_000 ? [3_600_000, "h"] : ms >= 60_000 ? [60_000, "min"] : ms >= 1000 ? [1000, "s"] : [1, "ms"];
  return `${Number((ms / size).toPrecision(3))} ${unit}`;
}
