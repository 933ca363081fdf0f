// A policy as a form and as a document side by side. The document is the truth; the form shows and changes its fields.
import { type Answer, type Choices, type Explained, explain, type Problem } from "./answers";
import { delays } from "./delays";
import { html, refuseLong } from "./dom";
import { goTo, Marked } from "./marks";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

interface FormField {
  path: string;
  label: string;
  /** Shown where the document has no value. */
  hint: string;
  /** The field has a slider, too. */
  slider?: Slider;
}

interface Slider {
  min: number;
  max: number;
  step: number;
  /** Where it stands if the document has no value. */
  value: number;
  /** The kinds of the guard that have the field; the first one replaces any other. */
  kinds: string[];
}

const FIELDS: FormField[] = [
  { path: "preset", label: "Preset", hint: "default" },
  { path: "attempts", label: "Attempts", hint: "3, forever" },
  { path: "deadline", label: "Deadline of a call", hint: "none, 30s" },
  { path: "attempt_timeout", label: "Timeout of an attempt", hint: "none, 2s" },
  { path: "backoff.kind", label: "Backoff", hint: "" },
  { path: "backoff.initial", label: "First delay", hint: "100ms" },
  { path: "backoff.factor", label: "Factor", hint: "2" },
  { path: "backoff.max", label: "Longest delay", hint: "5s" },
  { path: "jitter.kind", label: "Jitter", hint: "" },
  { path: "hint.mode", label: "Retry-After", hint: "" },
  { path: "budget.kind", label: "Budget for retries", hint: "" },
  {
    path: "budget.ratio",
    label: "Retries for each call",
    hint: "0.1",
    slider: { min: 0, max: 1, step: 0.05, value: 0.1, kinds: ["ratio", "share"] },
  },
  { path: "breaker.kind", label: "Circuit breaker", hint: "" },
  {
    path: "breaker.failures",
    label: "Failures that open it",
    hint: "5",
    slider: { min: 1, max: 20, step: 1, value: 5, kinds: ["consecutive"] },
  },
  {
    path: "limiter.limit",
    label: "Attempts a second",
    hint: "no limit",
    slider: { min: 0.5, max: 10, step: 0.5, value: 10, kinds: ["gcra", "bucket", "window", "log"] },
  },
  { path: "adaptive.kind", label: "Adaptive rate", hint: "" },
];

function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): { [name: string]: Json } | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The value of a field; a section may be just its kind. */
function get(document: { [name: string]: Json }, path: string): Json | undefined {
  const [section, field] = path.split(".");
  const value = document[section];
  if (field === undefined) return value;
  return isObject(value) ? value[field] : field === "kind" || field === "mode" ? value : undefined;
}

function set(document: { [name: string]: Json }, path: string, value: Json | undefined): void {
  const [section, field] = path.split(".");
  if (field === undefined) {
    if (value === undefined) delete document[section];
    else document[section] = value;
    return;
  }
  const before = document[section];
  const inner = isObject(before) ? before : before === undefined || before === null ? {} : { kind: before };
  if (value === undefined) delete inner[field];
  else inner[field] = value;
  if (Object.keys(inner).length === 0) delete document[section];
  else document[section] = inner;
}

/** One of the two policies. */
export class Editor {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;
  private readonly problem: HTMLElement;
  private readonly marks: Marked;
  private readonly heading: HTMLElement;
  private readonly drawing = html("div");
  private readonly words = html("pre");
  private readonly controls = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private readonly sliders = new Map<Slider, { path: string; range: HTMLInputElement }>();
  private timer: number | undefined;
  private answer: Answer<Explained>;

  constructor(
    private readonly name: string,
    choices: Choices,
    document: string,
    private readonly changed: () => void,
  ) {
    const id = `policy-${name}`;
    this.problem = html("div", { class: "problem", role: "alert", id: `${id}-problem` });
    this.heading = html("h3", { id: `${id}-heading` }, `Policy ${name}`);
    this.text = html("textarea", {
      id,
      spellcheck: "false",
      autocomplete: "off",
      rows: 14,
      "aria-describedby": this.problem.id,
    });
    this.text.value = document;
    refuseLong(this.text, (message) => this.problem.replaceChildren(message));
    this.text.addEventListener("input", () => {
      this.changed();
      clearTimeout(this.timer);
      // A megabyte that is pasted in must not be read at each key.
      this.timer = window.setTimeout(() => {
        this.title = "";
        this.update();
      }, 150);
    });
    const words = new Map(choices.words);
    const fields = FIELDS.map(({ path, label, hint, slider }) => {
      const list =
        path === "preset"
          ? choices.presets
          : (words.get(path) ?? (/\.(kind|mode)$/.test(path) ? words.get(path.split(".")[0]) : undefined));
      const fieldId = `${id}-${path.replace(".", "-")}`;
      const control = list
        ? html(
            "select",
            { id: fieldId },
            html("option", { value: "" }, "(left out)"),
            ...list.map((word) => html("option", {}, word)),
          )
        : html("input", { id: fieldId, placeholder: hint, spellcheck: "false", autocomplete: "off" });
      control.addEventListener("change", () => this.edit(path, control.value.trim()));
      this.controls.set(path, control);
      const field = html("div", {}, html("label", { for: fieldId }, label), control);
      if (slider) field.append(this.slider(path, label, slider));
      return field;
    });
    this.element = html(
      "div",
      { class: "policy", role: "group", "aria-labelledby": `${id}-heading` },
      this.heading,
      html(
        "div",
        { class: "sides" },
        html("div", { class: "fields" }, ...fields),
        html(
          "div",
          {},
          html("label", { for: id }, "The same as a document (JSON)"),
          html("div", { class: "marked" }, this.text),
          this.problem,
        ),
      ),
      this.drawing,
      html("details", {}, html("summary", {}, "In words, with warnings"), this.words),
    );
    this.marks = new Marked(this.text);
    this.answer = this.update();
  }

  /** What the policy is, for the headings; empty for one that was changed by hand. */
  set title(title: string) {
    this.heading.textContent = title === "" ? `Policy ${this.name}` : `Policy ${this.name}: ${title}`;
  }

  get title(): string {
    return this.heading.textContent ?? "";
  }

  /** The document, if the core accepts it. */
  get accepted(): string | undefined {
    return "ok" in this.answer ? this.text.value : undefined;
  }

  get document(): string {
    return this.text.value;
  }

  set document(text: string) {
    this.text.value = text;
    this.update();
  }

  /** A slider for a number of a guard; a guard of another kind is replaced when it moves. */
  private slider(path: string, label: string, slider: Slider): HTMLInputElement {
    const { min, max, step, kinds } = slider;
    const range = html("input", { type: "range", min, max, step, "aria-label": `${label} of policy ${this.name}` });
    range.addEventListener("input", () => {
      const document = parsed(this.text.value);
      if (!document) return;
      const [section] = path.split(".");
      const kind = get(document, `${section}.kind`);
      if (kind !== undefined && kind !== null && !kinds.includes(String(kind))) document[section] = { kind: kinds[0] };
      set(document, path, Number(range.value));
      this.title = "";
      this.document = JSON.stringify(document, null, 2);
    });
    this.sliders.set(slider, { path, range });
    return range;
  }

  /** Puts a value of the form into the document. */
  private edit(path: string, value: string): void {
    const document = parsed(this.text.value);
    if (!document) return;
    const number = Number(value);
    set(document, path, value === "" ? undefined : Number.isFinite(number) ? number : value);
    this.title = "";
    this.document = JSON.stringify(document, null, 2);
  }

  private update(): Answer<Explained> {
    this.answer = explain(this.text.value);
    const problems = "problems" in this.answer ? this.answer.problems : [];
    this.text.setAttribute("aria-invalid", String(problems.length > 0));
    this.show(problems);
    // The drawing of a broken document is that of the last one that was not.
    this.drawing.classList.toggle("stale", problems.length > 0);
    if ("ok" in this.answer) {
      this.drawing.replaceChildren(delays(`policy ${this.name}`, this.answer.ok));
      this.words.textContent = this.answer.ok.text;
    }
    const document = parsed(this.text.value);
    for (const [path, control] of this.controls) {
      const value = document && get(document, path);
      const shown = value === undefined || value === null || typeof value === "object" ? "" : String(value);
      control.value = shown;
      control.disabled = document === undefined || (path.includes(".") && Array.isArray(document[path.split(".")[0]]));
      control.setAttribute(
        "aria-invalid",
        String(problems.some((problem) => problem.path === path || `${problem.path}.kind` === path)),
      );
    }
    for (const [slider, { path, range }] of this.sliders) {
      const value = document && get(document, path);
      range.value = String(typeof value === "number" ? value : slider.value);
      range.setAttribute("aria-valuetext", typeof value === "number" ? String(value) : "left out");
      range.disabled = document === undefined;
    }
    this.changed();
    return this.answer;
  }

  /** Marks every mistake in the document, and lists them below it, each with a way to its line. */
  private show(problems: Problem[]): void {
    this.marks.show(problems.flatMap(({ place }) => (place ? [{ place, severity: "error" as const }] : [])));
    const line = ({ message, place }: Problem) =>
      html("li", {}, ...(place ? [goTo(this.text, place), " "] : []), message);
    this.problem.replaceChildren(...(problems.length > 0 ? [html("ul", {}, ...problems.map(line))] : []));
  }
}
