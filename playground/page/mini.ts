// The storm lab of the start page: `<div data-holdoff-mini>` becomes one slider and two curves. The same file is the page's module
// and its worker; the WebAssembly module is in it.
import { initSync, run } from "mini-core";
import { chart, count } from "./chart";
import { html } from "./dom";
import { unpack } from "./lzma";

/** Set by the build: the WebAssembly module, compressed, as base64. */
declare const WASM: string;

/** A policy's run, in the order of the numbers of playground/mini/src/lib.rs. */
interface Outcome {
  capacity: number;
  fault: [number, number];
  load: number;
  success: number;
  /** Negative: never. */
  back: number;
  goodput: number[];
}

function outcome([capacity, begin, end, load, success, back, ...goodput]: number[]): Outcome {
  return { capacity, fault: [begin, end], load, success, back, goodput };
}

const POLICIES = [
  { name: "without", label: "retries without a budget" },
  { name: "with", label: "holdoff by default" },
];
/** How long the curves take to run, in milliseconds. */
const PLAY = 5000;

/** In the worker: runs both policies for each outage that it is sent. */
function serve(): void {
  initSync({ module: unpack(Uint8Array.from(atob(WASM), (byte) => byte.charCodeAt(0))) });
  self.addEventListener("message", ({ data }: MessageEvent<number>) => {
    self.postMessage([run(data, false), run(data, true)].map((run) => [...run]));
  });
}

function sentence({ load, success, back }: Outcome): string {
  const after =
    back < 0 ? "the server never recovers" : back === 0 ? "it recovers at once" : `it recovers in ${back} s`;
  return `${load.toFixed(2)} attempts a call, ${(100 * success).toFixed(0)} % of the calls succeed, ${after}`;
}

/** Builds the lab into an element, which keeps its content until the first run is drawn. */
function mini(host: HTMLElement, id: string): void {
  const slider = html("input", { type: "range", id, min: 1, max: 60, step: 1, value: 30 });
  const shown = html("output", { for: id });
  const figure = html("figure");
  const words = html("ul", { "aria-live": "polite" });
  const lab = host.dataset.lab;
  const parts = [
    html("p", { class: "control" }, html("label", { for: id }, "The server is down for"), slider, shown),
    figure,
    words,
    ...(lab ? [html("p", {}, html("a", { href: lab }, "Try your own policy in the storm lab"))] : []),
  ];
  const worker = new Worker(import.meta.url, { type: "module" });
  let frame = 0;
  // A slider moves faster than the runs: one is asked for at a time, and then the latest.
  let [running, wanted, first] = [0, 30, true];
  const ask = () => {
    if (running !== 0 || wanted === 0) return;
    [running, wanted] = [wanted, 0];
    worker.postMessage(running);
  };
  const say = () => {
    shown.value = `${slider.value} s`;
    slider.setAttribute("aria-valuetext", `${slider.value} seconds`);
  };
  slider.addEventListener("input", () => {
    say();
    wanted = Number(slider.value);
    ask();
  });
  worker.addEventListener("message", ({ data }: MessageEvent<number[][]>) => {
    running = 0;
    if (first) {
      host.replaceChildren(...parts);
      host.classList.add("holdoff-mini");
    }
    draw(data.map(outcome));
    first = false;
    ask();
  });
  const draw = (outcomes: Outcome[]) => {
    cancelAnimationFrame(frame);
    const [{ capacity, fault }] = outcomes;
    const drawing = chart(
      outcomes.map(({ goodput }, at) => ({ name: POLICIES[at].name, numbers: goodput })),
      {
        label: `Calls that succeed in each second: ${POLICIES.map(({ label }, at) => `${label}: ${sentence(outcomes[at])}`).join("; ")}`,
        fault,
        capacity,
        most: 1.2 * capacity,
        width: Math.max(300, Math.min(640, host.clientWidth || 600)),
        name: id,
      },
    );
    figure.replaceChildren(
      html("figcaption", {}, `Calls that succeed in each second, of ${count(capacity)} that the server can answer`),
      drawing.element,
    );
    words.replaceChildren(
      ...outcomes.map((outcome, at) =>
        html("li", { class: POLICIES[at].name }, html("b", {}, POLICIES[at].label), `: ${sentence(outcome)}`),
      ),
    );
    const end = outcomes[0].goodput.length;
    if (!first || matchMedia("(prefers-reduced-motion: reduce)").matches) return drawing.show(end);
    const started = performance.now();
    const step = (now: number) => {
      const second = Math.min(((now - started) * end) / PLAY, end);
      drawing.show(second);
      if (second < end) frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
  };
  say();
  ask();
}

if (typeof document === "undefined") serve();
else if (typeof WebAssembly === "object") {
  const hosts = document.querySelectorAll<HTMLElement>("[data-holdoff-mini]");
  hosts.forEach((host, at) => {
    mini(host, `holdoff-mini-${at}`);
  });
}
