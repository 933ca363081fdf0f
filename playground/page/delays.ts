// The delays of a policy as a drawing: one line a retry, from the end of the delay before it.
import type { Explained } from "./answers";
import { drawingWidth, html, scrolling, svg, table, time } from "./dom";

const [LEFT, RIGHT, LINE] = [64, 70, 22];

export function delays(name: string, { rows, deadline, more }: Explained): HTMLElement {
  const figure = html("figure", { class: "delays" });
  if (rows.length === 0) {
    figure.append(html("p", {}, "No retry: one attempt and no delay."));
    return figure;
  }
  const whole = drawingWidth();
  const ends = rows.map((row) => row.typical_total - row.typical + row.max);
  const longest = Math.max(...ends, 1);
  const span = deadline !== null && deadline < 2 * longest ? Math.max(longest, deadline) : longest;
  const x = (millis: number) => LEFT + ((whole - LEFT - RIGHT) * millis) / span;
  const height = rows.length * LINE + 26;
  const last = rows[rows.length - 1];
  const total = `${rows.length} ${rows.length === 1 ? "retry" : "retries"}, typically ${time(last.typical_total)} of waiting`;
  const picture = svg("svg", {
    viewBox: `0 0 ${whole} ${height}`,
    role: "img",
    "aria-label": `Delays of ${name}: ${total}`,
  });
  rows.forEach((row, at) => {
    const start = row.typical_total - row.typical;
    const y = at * LINE + 4;
    const group = svg("g", { class: row.in_time === "never" ? "late" : undefined });
    const width = Math.max(x(start + row.max) - x(start + row.min), 2);
    group.append(
      svg("text", { x: 0, y: y + 13 }, `retry ${row.retry}`),
      svg("line", { class: "axis", x1: x(0), x2: x(start), y1: y + 9, y2: y + 9 }),
      svg("rect", { class: "range", x: x(start + row.min), y, width, height: 18 }),
      svg("rect", { class: "tick", x: x(row.typical_total) - 1.5, y, width: 3, height: 18 }),
      svg("text", { x: Math.min(x(start + row.max) + 4, whole - RIGHT + 4), y: y + 13 }, time(row.typical)),
    );
    picture.append(group);
  });
  const base = height - 6;
  picture.append(
    svg("text", { x: x(0), y: base }, "0"),
    svg("text", { x: x(span), y: base, "text-anchor": "end" }, time(span)),
  );
  if (deadline !== null && deadline <= span) {
    picture.append(svg("line", { class: "deadline", x1: x(deadline), x2: x(deadline), y1: 0, y2: height - 20 }));
  }
  const rest = more === null ? "; retries go on for ever" : more > 0 ? `; ${more} more retries are not drawn` : "";
  const until = deadline === null ? "no deadline" : `deadline ${time(deadline)}`;
  figure.append(
    picture,
    html(
      "figcaption",
      { class: "label" },
      `${total}, ${until}${rest}. Bar: the range of a delay; mark: the typical one.`,
    ),
  );
  const cells = rows.map((row) => [
    String(row.retry),
    time(row.min),
    time(row.typical),
    time(row.max),
    time(row.typical_total),
    time(row.max_total),
    row.in_time,
  ]);
  const head = ["retry", "shortest", "typical", "longest", "typical sum", "longest sum", "before the deadline"];
  const scroll = scrolling(`The delays of ${name} as a table`, "wide", table(`Delays of ${name}`, head, cells));
  figure.append(html("details", {}, html("summary", {}, "The delays as a table"), scroll));
  return figure;
}
