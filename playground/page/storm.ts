// The runs of both policies, drawn second by second.
import type { Outcome } from "./answers";
import { byId, drawingWidth, html, scrolling, svg, table, time } from "./dom";

const [HEIGHT, LEFT, TOP, BOTTOM] = [240, 52, 8, 22];
/** How long the animation takes, in milliseconds. */
const PLAY = 6000;

const count = (number: number) => Math.round(number).toLocaleString("en");
const percent = (part: number) => `${(100 * part).toFixed(1)} %`;

/** The next number of the series 10, 20, 40, 50, 60, 80, 100, 200, so that half of it is a round number too. */
function roundedUp(number: number): number {
  const ten = 10 ** Math.floor(Math.log10(number));
  return ten * ([1, 2, 4, 5, 6, 8].find((times) => times * ten >= number) ?? 10);
}

interface Chart {
  element: HTMLElement;
  /** Shows the run up to the end of that second. */
  show(second: number): void;
}

function chart(name: string, outcome: Outcome, most: number): Chart {
  const { attempts, goodput, capacity, fault } = outcome;
  const seconds = attempts.length;
  const whole = drawingWidth();
  const x = (second: number) => LEFT + ((whole - LEFT - 8) * second) / seconds;
  const y = (number: number) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * number) / most;
  const line = (numbers: number[]) =>
    `M${numbers.map((number, at) => `${x(at + 0.5).toFixed(1)} ${y(number).toFixed(1)}`).join("L")}`;
  const clip = `clip-${name}`;
  const window = svg("rect", { x: 0, y: 0, width: whole, height: HEIGHT });
  const head = svg("line", { class: "head", y1: TOP, y2: HEIGHT - BOTTOM });
  const ticks = [0, 0.5, 1].map((part) => part * most);
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${whole} ${HEIGHT}`, role: "img", "aria-label": `Policy ${name}: ${sentence(outcome)}` },
    svg("clipPath", { id: clip }, window),
    svg("rect", {
      class: "faulty",
      x: x(fault[0]),
      y: TOP,
      width: x(fault[1]) - x(fault[0]),
      height: HEIGHT - TOP - BOTTOM,
    }),
    ...ticks.flatMap((tick) => [
      svg("line", { class: "axis", x1: LEFT, x2: whole - 8, y1: y(tick), y2: y(tick) }),
      svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, count(tick)),
    ]),
    ...[0, fault[0], fault[1], seconds].map((second) =>
      svg("text", { x: x(second), y: HEIGHT - 6, "text-anchor": second === seconds ? "end" : "middle" }, `${second} s`),
    ),
    svg("path", { class: "capacity", d: `M${x(0)} ${y(capacity)}H${x(seconds)}` }),
    svg(
      "g",
      { "clip-path": `url(#${clip})` },
      svg("path", { class: "attempts", d: line(attempts) }),
      svg("path", { class: "goodput", d: line(goodput) }),
    ),
    head,
  );
  return {
    element: html("figure", {}, html("figcaption", {}, `Policy ${name}`), picture),
    show(second) {
      window.setAttribute("width", String(x(second)));
      for (const end of ["x1", "x2"]) head.setAttribute(end, String(x(second)));
    },
  };
}

/** A run in one sentence. */
export function sentence({ figures, cut }: Outcome): string {
  const back = figures.back === null ? "the server does not recover" : `the server recovers in ${figures.back} s`;
  const early = cut ? " The run ended early: it had too many attempts." : "";
  return `${figures.load.toFixed(2)} attempts a call, ${percent(figures.success)} of the calls succeed, ${back}.${early}`;
}

/** Draws both outcomes, and plays them. */
export class Storm {
  private charts: Chart[] = [];
  private outcomes: Outcome[] = [];
  private frame: number | undefined;
  private readonly slider = byId<HTMLInputElement>("second");
  private readonly button = byId<HTMLButtonElement>("play");

  constructor() {
    this.slider.addEventListener("input", () => {
      this.stop();
      this.show();
    });
    this.button.addEventListener("click", () => (this.frame === undefined ? this.play() : this.stop()));
  }

  /** Draws both; plays them from the begin on if `play` is given and the reader has nothing against movement. */
  draw(outcomes: Outcome[], play: boolean): void {
    this.stop();
    this.outcomes = outcomes;
    const most = roundedUp(1.05 * Math.max(...outcomes.flatMap(({ attempts, capacity }) => [...attempts, capacity])));
    this.charts = outcomes.map((outcome, at) => chart("AB"[at], outcome, most));
    byId("charts").replaceChildren(...this.charts.map(({ element }) => element));
    byId("figures").replaceChildren(scrolling("Figures", "wide", this.figures()));
    byId("seconds").replaceChildren(scrolling("Every second", "scroll", this.seconds()));
    byId("playback").hidden = false;
    this.slider.max = String(outcomes[0].attempts.length);
    const still = !play || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.slider.value = still ? this.slider.max : "0";
    this.show();
    if (!still) this.play();
  }

  private show(): void {
    const second = Number(this.slider.value);
    for (const chart of this.charts) chart.show(second);
    const at = Math.min(Math.floor(second), this.outcomes[0].attempts.length - 1);
    const parts = this.outcomes.map(
      ({ attempts, goodput }, index) => `${"AB"[index]}: ${count(attempts[at])} attempts, ${count(goodput[at])} ok`,
    );
    byId<HTMLOutputElement>("at").value = `${Math.floor(second)} s. ${parts.join("; ")}`;
  }

  private play(): void {
    const end = Number(this.slider.max);
    const from = Number(this.slider.value) >= end ? 0 : Number(this.slider.value);
    const started = performance.now();
    const step = (now: number) => {
      const second = Math.min(from + ((now - started) * end) / PLAY, end);
      this.slider.value = String(second);
      this.show();
      if (second < end) this.frame = requestAnimationFrame(step);
      else this.stop();
    };
    this.button.textContent = "Pause";
    this.frame = requestAnimationFrame(step);
  }

  private stop(): void {
    if (this.frame !== undefined) cancelAnimationFrame(this.frame);
    this.frame = undefined;
    this.button.textContent = "Play";
  }

  private figures(): HTMLTableElement {
    const row = (name: string, shown: (outcome: Outcome) => string) => [name, ...this.outcomes.map(shown)];
    return table(
      "The whole run",
      ["figure", "Policy A", "Policy B"],
      [
        row("calls", ({ figures }) => count(figures.calls)),
        row("attempts a call", ({ figures }) => figures.load.toFixed(3)),
        row("attempts a call during the fault", ({ figures }) => figures.load_in_fault.toFixed(3)),
        row("attempts a call in the worst 10 s", ({ figures }) => figures.load_at_worst.toFixed(3)),
        row("calls that succeed", ({ figures }) => percent(figures.success)),
        row("calls of the fault that succeed", ({ figures }) => percent(figures.success_in_fault)),
        row("the old goodput is back after", ({ figures }) => (figures.back === null ? "never" : `${figures.back} s`)),
        row("99 % of the successes take at most", ({ figures }) => time(figures.p99)),
        row("work for clients that had given up", ({ figures }) => percent(figures.wasted)),
      ],
    );
  }

  private seconds(): HTMLTableElement {
    const head = [
      "second",
      ...["A", "B"].flatMap((name) => [`${name}: calls`, `${name}: attempts`, `${name}: successes`]),
    ];
    const rows = this.outcomes[0].calls.map((_, at) => [
      String(at),
      ...this.outcomes.flatMap(({ calls, attempts, goodput }) => [calls[at], attempts[at], goodput[at]].map(count)),
    ]);
    return table("Every second", head, rows);
  }
}
