// Curves over the seconds of a run, with the fault and what the server can do.
import { svg } from "./dom";

const [LEFT, TOP, BOTTOM] = [52, 8, 22];

export interface Curve {
  /** The class of the line, which gives its colour. */
  name: string;
  /** A number for each second. */
  numbers: number[];
}

export interface Axes {
  /** What a screen reader says of the drawing. */
  label: string;
  /** The fault's begin and end, in seconds. */
  fault: [number, number];
  capacity: number;
  /** The number at the top. */
  most: number;
  /** The width of the drawing in its own units. */
  width: number;
  /** A name that no other drawing of the page has. */
  name: string;
}

export interface Chart {
  element: SVGElement;
  /** Shows the curves up to the end of that second. */
  show(second: number): void;
}

export const count = (number: number) => Math.round(number).toLocaleString("en");

/** The next number of the series 10, 20, 40, 50, 60, 80, 100, 200, so that half of it is a round number too. */
export function roundedUp(number: number): number {
  const ten = 10 ** Math.floor(Math.log10(number));
  return ten * ([1, 2, 4, 5, 6, 8].find((times) => times * ten >= number) ?? 10);
}

export function chart(curves: Curve[], { label, fault, capacity, most, width, name }: Axes): Chart {
  // Two of them have room on a small screen.
  const height = width < 450 ? 160 : 220;
  const seconds = curves[0].numbers.length;
  const x = (second: number) => LEFT + ((width - LEFT - 8) * second) / seconds;
  const y = (number: number) => height - BOTTOM - ((height - TOP - BOTTOM) * number) / most;
  const line = (numbers: number[]) =>
    `M${numbers.map((number, at) => `${x(at + 0.5).toFixed(1)} ${y(number).toFixed(1)}`).join("L")}`;
  const clip = `clip-${name}`;
  const window = svg("rect", { x: 0, y: 0, width, height });
  const head = svg("line", { class: "head", y1: TOP, y2: height - BOTTOM });
  const ticks = [0, 0.5, 1].map((part) => part * most);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    svg("clipPath", { id: clip }, window),
    svg("rect", {
      class: "faulty",
      x: x(fault[0]),
      y: TOP,
      width: x(fault[1]) - x(fault[0]),
      height: height - TOP - BOTTOM,
    }),
    ...ticks.flatMap((tick) => [
      svg("line", { class: "axis", x1: LEFT, x2: width - 8, y1: y(tick), y2: y(tick) }),
      svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, count(tick)),
    ]),
    ...[0, ...apart(fault, seconds), seconds].map((second) =>
      svg("text", { x: x(second), y: height - 6, "text-anchor": second === seconds ? "end" : "middle" }, `${second} s`),
    ),
    svg("path", { class: "capacity", d: `M${x(0)} ${y(capacity)}H${x(seconds)}` }),
    svg(
      "g",
      { "clip-path": `url(#${clip})` },
      ...curves.map(({ name, numbers }) => svg("path", { class: name, d: line(numbers) })),
    ),
    head,
  );
  return {
    element: picture,
    show(second) {
      window.setAttribute("width", String(x(second)));
      for (const end of ["x1", "x2"]) head.setAttribute(end, String(x(second)));
      head.toggleAttribute("hidden", second >= seconds);
    },
  };
}

/** The ends of the fault whose numbers have room beside each other. */
function apart([begin, end]: [number, number], seconds: number): number[] {
  return end - begin < seconds / 10 ? [end] : [begin, end];
}
