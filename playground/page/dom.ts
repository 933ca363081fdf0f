// Elements made by code: text is only ever text, so that nothing of a share link becomes markup.

import { tooLong } from "./limits";

type Attributes = Record<string, string | number | boolean | undefined>;

function fill<E extends Element>(element: E, attributes: Attributes, children: (Node | string)[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

export function html<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name: string, attributes: Attributes = {}, ...children: (Node | string)[]): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/** The element of the page with that id, which the template has. */
export function byId<E extends HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as E;
}

/** A table with a head; the first cell of each row names it. */
export function table(caption: string, head: string[], rows: string[][]): HTMLTableElement {
  const line = (cells: string[]) =>
    html("tr", {}, ...cells.map((cell, at) => (at === 0 ? html("th", { scope: "row" }, cell) : html("td", {}, cell))));
  return html(
    "table",
    {},
    html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...head.map((cell) => html("th", { scope: "col" }, cell)))),
    html("tbody", {}, ...rows.map(line)),
  );
}

/** A part of the page that scrolls by itself, with keys too. */
export function scrolling(label: string, kind: "wide" | "scroll" | "scroll events", child: Node): HTMLElement {
  return html("section", { class: kind, tabindex: 0, "aria-label": label }, child);
}

/** Keeps out a text that is too long when it is pasted or dropped. */
export function refuseLong(text: HTMLTextAreaElement, say: (message: string) => void): void {
  text.addEventListener("beforeinput", (event) => {
    const added = event.data ?? event.dataTransfer?.getData("text") ?? "";
    const problem = added.length > 1 ? (tooLong(added) ?? tooLong(text.value + added)) : undefined;
    if (problem === undefined) return;
    event.preventDefault();
    say(problem);
  });
}

/** The width of a drawing in its own units, so that its letters stay readable on a small screen. */
export function drawingWidth(): number {
  return Math.max(300, Math.min(600, innerWidth - 64));
}

/** A time in milliseconds for a person. */
export function time(millis: number): string {
  if (millis < 1) return `${+(millis * 1000).toFixed(0)} µs`;
  if (millis < 1000) return `${+millis.toFixed(0)} ms`;
  if (millis < 120_000) return `${+(millis / 1000).toFixed(1)} s`;
  return millis < 7_200_000 ? `${+(millis / 60_000).toFixed(1)} min` : `${+(millis / 3_600_000).toFixed(1)} h`;
}
