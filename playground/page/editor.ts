// A policy as a form and as a document side by side. The document is the truth; the form shows and changes its fields.
import { type Answer, type Choices, type Explained, explain, importPolicy, type Problem } from "./answers";
import { delays } from "./delays";
import { html, refuseLong } from "./dom";

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

/** Other presets have a name of ours or are no example of a form. */
const SAMPLES: Record<string, string> = {
  resilience4j:
    '{ "maxAttempts": 4, "waitDuration": "500ms", "enableExponentialBackoff": true, "exponentialBackoffMultiplier": 2 }',
  grpc: '{ "maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"] }',
  temporal: '{ "initialInterval": "1s", "backoffCoefficient": 2, "maximumInterval": "100s", "maximumAttempts": 5 }',
};

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

/** The line of the document, from 1, that has a path's value. */
function lineOf(text: string, path: string): number | undefined {
  let from = 0;
  for (const name of path.split(/[.[\]]+/).filter((part) => part !== "" && !/^\d+$/.test(part))) {
    const at = text.indexOf(JSON.stringify(name), from);
    if (at < 0) return undefined;
    from = at;
  }
  return path === "" ? undefined : text.slice(0, from).split("\n").length;
}

/** One of the two policies. */
export class Editor {
  readonly element: HTMLElement;
  private readonly text: HTMLTextAreaElement;
  private readonly problem: HTMLElement;
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
    this.problem = html("p", { class: "problem", role: "alert", id: `${id}-problem` });
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
      clearTimeout(this.timer);
      // A megabyte that is pasted in must not be read at each key.
      this.timer = window.setTimeout(() => this.update(), 150);
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
      html("h3", { id: `${id}-heading` }, `Policy ${name}`),
      html(
        "div",
        { class: "sides" },
        html("div", { class: "fields" }, ...fields),
        html("div", {}, html("label", { for: id }, "The same as a document (JSON)"), this.text, this.problem),
      ),
      this.importer(id, choices.systems),
      this.drawing,
      html("details", {}, html("summary", {}, "In words, with warnings"), this.words),
    );
    this.answer = this.update();
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

  private importer(id: string, systems: string[]): HTMLElement {
    const form = html("select", { id: `${id}-form` }, ...systems.map((name) => html("option", {}, name)));
    const problem = html("p", { class: "problem", role: "alert", id: `${id}-foreign-problem` });
    const text = html("textarea", {
      id: `${id}-foreign`,
      rows: 6,
      spellcheck: "false",
      "aria-describedby": problem.id,
    });
    const sample = () => {
      text.placeholder = SAMPLES[form.value] ?? "its JSON text";
    };
    form.addEventListener("change", sample);
    sample();
    const button = html("button", { type: "button" }, "Import");
    button.addEventListener("click", () => {
      const answer = importPolicy(form.value, text.value || (SAMPLES[form.value] ?? ""));
      const failed = "problem" in answer;
      problem.textContent = failed ? answer.problem.message : "";
      text.setAttribute("aria-invalid", String(failed));
      if (!failed) this.document = JSON.stringify(answer.ok, null, 2);
    });
    return html(
      "details",
      {},
      html("summary", {}, "Import from another system"),
      html("label", { for: form.id }, "System"),
      form,
      html("label", { for: text.id }, "Its policy as JSON"),
      text,
      problem,
      button,
    );
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
    this.document = JSON.stringify(document, null, 2);
  }

  private update(): Answer<Explained> {
    this.answer = explain(this.text.value);
    const problem = "problem" in this.answer ? this.answer.problem : undefined;
    this.text.setAttribute("aria-invalid", String(problem !== undefined));
    this.show(problem);
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
        String(problem?.path === path || (path.endsWith(".kind") && problem?.path === path.slice(0, -5))),
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

  /** Shows the problem below the document, with a way to its line. */
  private show(problem: Problem | undefined): void {
    this.problem.replaceChildren(problem?.message ?? "");
    const text = this.text.value;
    const line = problem && text.length < 300_000 ? lineOf(text, problem.path) : undefined;
    if (line === undefined) return;
    const button = html("button", { type: "button" }, `Go to line ${line}`);
    button.addEventListener("click", () => {
      const start =
        text
          .split("\n")
          .slice(0, line - 1)
          .join("\n").length + (line > 1 ? 1 : 0);
      const end = text.indexOf("\n", start);
      this.text.focus();
      this.text.setSelectionRange(start, end < 0 ? text.length : end);
    });
    this.problem.append(" ", button);
  }
}
