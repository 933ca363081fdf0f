// The runs of both policies, drawn second by second.
import type { Outcome } from "./answers";
import { type Chart, chart, count, roundedUp } from "./chart";
import { byId, drawingWidth, html, scrolling, table, time } from "./dom";

/** How long the animation takes, in milliseconds. */
const PLAY = 6000;

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;

/** A run in one sentence. */
export function sentence({ figures, cut }: Outcome): string {
  const back =
    figures.back === null
      ? "the server does not recover"
      : figures.back === 0
        ? "the server recovers at once"
        : `the server recovers in ${figures.back} s`;
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
  draw(outcomes: Outcome[], titles: string[], play: boolean): void {
    this.stop();
    this.outcomes = outcomes;
    const most = roundedUp(1.05 * Math.max(...outcomes.flatMap(({ attempts, capacity }) => [...attempts, capacity])));
    this.charts = outcomes.map((outcome, at) => {
      const { attempts, goodput, capacity, fault } = outcome;
      const curves = [
        { name: "attempts", numbers: attempts },
        { name: "goodput", numbers: goodput },
      ];
      const label = `${titles[at]}: ${sentence(outcome)}`;
      return chart(curves, { label, fault, capacity, most, width: drawingWidth(), name: "AB"[at] });
    });
    byId("charts").replaceChildren(
      ...this.charts.map(({ element }, at) =>
        html(
          "figure",
          {},
          html("figcaption", {}, html("strong", {}, titles[at]), html("span", {}, sentence(outcomes[at]))),
          element,
        ),
      ),
    );
    byId("figures").replaceChildren(scrolling("Figures", "wide", this.figures()));
    byId("seconds").replaceChildren(scrolling("Every second", "scroll", this.seconds()));
    this.stale = false;
    this.slider.max = String(outcomes[0].attempts.length);
    const still = !play || matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.slider.value = still ? this.slider.max : "0";
    this.show();
    if (!still) this.play();
  }

  /** True while the drawing is not that of the policies and the scenario. */
  set stale(stale: boolean) {
    byId("playback").classList.toggle("stale", stale);
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
