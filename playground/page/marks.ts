// Places of a text that are marked while it is edited: the text once more behind the text area, with underlines.
import type { Place } from "./answers";
import { html } from "./dom";

export interface Mark {
  place: Place;
  severity: "error" | "warning" | "note";
}

/** Above it a browser is slow to lay out the text twice. */
const LONGEST = 60_000;

export class Marked {
  private readonly behind = html("div", { class: "behind", "aria-hidden": "true" });

  /** The text area stands in an element of its own. */
  constructor(private readonly text: HTMLTextAreaElement) {
    text.parentElement?.prepend(this.behind);
    text.addEventListener("scroll", () => this.follow());
    // An underline at its old place would be about another word.
    text.addEventListener("input", () => this.behind.replaceChildren());
  }

  show(marks: Mark[]): void {
    const { value } = this.text;
    const parts: (Node | string)[] = [];
    let at = 0;
    for (const { place, severity } of marks.toSorted((a, b) => a.place.start - b.place.start)) {
      if (place.start < at || value.length > LONGEST) continue;
      const end = Math.min(Math.max(place.end, place.start + 1), lineEnd(value, place.start));
      parts.push(value.slice(at, place.start), html("mark", { class: severity }, value.slice(place.start, end) || " "));
      at = Math.max(end, place.start);
    }
    // The last line has its height even if it is empty.
    this.behind.replaceChildren(...(parts.length > 0 ? [...parts, `${value.slice(at)}\n`] : []));
    this.follow();
  }

  private follow(): void {
    this.behind.scrollTop = this.text.scrollTop;
    this.behind.scrollLeft = this.text.scrollLeft;
  }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** A button that selects a place of a text. */
export function goTo(text: HTMLTextAreaElement, { line, start, end }: Place): HTMLButtonElement {
  const button = html("button", { type: "button" }, `line ${line}`);
  button.addEventListener("click", () => {
    text.focus();
    text.setSelectionRange(start, Math.min(Math.max(end, start + 1), lineEnd(text.value, start)));
  });
  return button;
}
