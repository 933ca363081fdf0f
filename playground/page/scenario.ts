// The sliders of the scenario: the clients, the server and its fault.
import type { Run } from "./answers";
import { byId, html } from "./dom";

interface Slider {
  name: string;
  label: string;
  min: number;
  max: number;
  step: number;
  value: number;
  /** The kinds of faults that have it; every kind unless given. */
  faults?: string[];
  unit?: string;
  /** It is always in sight. */
  first?: boolean;
}

const SLIDERS: Slider[] = [
  { name: "clients", label: "Clients", min: 100, max: 10_000, step: 100, value: 3000 },
  { name: "rate", label: "Calls of each client", min: 0.1, max: 3, step: 0.1, value: 1, unit: "/s" },
  { name: "load", label: "Load without failures", min: 0.1, max: 1.5, step: 0.05, value: 0.8, unit: "of the capacity" },
  { name: "lasts", label: "The fault lasts", min: 1, max: 120, step: 1, value: 30, unit: "s", first: true },
  { name: "after", label: "Time after it", min: 10, max: 120, step: 5, value: 40, unit: "s" },
  { name: "patience", label: "A client waits for an answer", min: 0.1, max: 10, step: 0.1, value: 1, unit: "s" },
  {
    name: "share",
    label: "Share",
    min: 0.05,
    max: 1,
    step: 0.05,
    value: 0.5,
    faults: ["errors", "timeouts", "rate-limit"],
  },
  { name: "retry_after", label: "Retry-After", min: 0, max: 30, step: 1, value: 5, faults: ["rate-limit"], unit: "s" },
  {
    name: "factor",
    label: "Slower at first",
    min: 1,
    max: 20,
    step: 1,
    value: 5,
    faults: ["cold-cache"],
    unit: "times",
  },
  {
    name: "requests",
    label: "Requests that warm it",
    min: 1000,
    max: 100_000,
    step: 1000,
    value: 20_000,
    faults: ["cold-cache"],
  },
];

const FAULTS: [string, string][] = [
  ["down", "down"],
  ["down-then-full", "down, then a full queue"],
  ["slow", "half the speed"],
  ["errors", "a share of errors"],
  ["timeouts", "a share of timeouts"],
  ["rate-limit", "a rate limit with Retry-After"],
  ["cold-cache", "down, then a cold cache"],
];

/** A run may have so many attempts, so that no policy keeps the page busy for long. */
const MOST_ATTEMPTS = 6_000_000;

/** A scenario as the form has it. */
export type Scenario = Record<string, number | string | boolean>;

export class ScenarioForm {
  private readonly inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();

  constructor(changed: () => void) {
    const parts = [byId("scenario-first"), byId("scenario-more")];
    const [first, more] = parts;
    const fault = html(
      "select",
      { id: "scenario-fault" },
      ...FAULTS.map(([value, label]) => html("option", { value }, label)),
    );
    first.append(html("div", {}, html("label", { for: "scenario-fault" }, "The server is"), fault));
    this.inputs.set("fault", fault);
    for (const slider of SLIDERS) (slider.first || slider.faults ? first : more).append(this.slider(slider));
    const seed = html("input", { id: "scenario-seed", type: "number", min: 0, max: 4294967295, step: 1, value: 7 });
    this.inputs.set("seed", seed);
    more.append(html("div", {}, html("label", { for: "scenario-seed" }, "Seed"), seed));
    const closed = html("input", { id: "scenario-closed", type: "checkbox" });
    this.inputs.set("closed", closed);
    more.append(html("label", { class: "check" }, closed, "Clients wait for their call to end"));
    for (const part of parts) {
      part.addEventListener("input", () => {
        this.show();
        changed();
      });
    }
    this.show();
  }

  private slider({ name, label, min, max, step, value }: Slider): HTMLElement {
    const input = html("input", { id: `scenario-${name}`, type: "range", min, max, step, value });
    this.inputs.set(name, input);
    return html(
      "div",
      { id: `scenario-${name}-field` },
      html(
        "div",
        { class: "named" },
        html("label", { for: `scenario-${name}` }, label),
        html("output", { for: `scenario-${name}`, id: `scenario-${name}-shown` }),
      ),
      input,
    );
  }

  /** The values beside the sliders, and only the sliders that the fault has. */
  private show(): void {
    const fault = this.value("fault");
    for (const { name, faults, unit } of SLIDERS) {
      const value = Number(this.value(name)).toLocaleString("en");
      const text = unit === undefined ? value : `${value} ${unit}`;
      (document.getElementById(`scenario-${name}-shown`) as HTMLOutputElement).value = text;
      this.inputs.get(name)?.setAttribute("aria-valuetext", text);
      (document.getElementById(`scenario-${name}-field`) as HTMLElement).hidden =
        faults !== undefined && !faults.includes(fault);
    }
  }

  private value(name: string): string {
    return this.inputs.get(name)?.value ?? "";
  }

  /** The values, for a link. */
  get values(): Scenario {
    const entries = [...this.inputs].map(([name, input]): [string, number | string | boolean] => {
      if (input instanceof HTMLSelectElement) return [name, input.value];
      return [name, input.type === "checkbox" ? input.checked : Number(input.value)];
    });
    return Object.fromEntries(entries);
  }

  /** Takes the values that the form knows; each control keeps them in its range. */
  set values(values: Scenario) {
    for (const [name, input] of this.inputs) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (input instanceof HTMLSelectElement) {
        if (FAULTS.some(([fault]) => fault === value)) input.value = String(value);
      } else if (input.type === "checkbox") {
        input.checked = value === true;
      } else if (typeof value === "number" && Number.isFinite(value)) {
        const number = Math.min(Math.max(value, Number(input.min)), Number(input.max));
        input.value = String(input.type === "range" ? number : Math.trunc(number));
      }
    }
    this.show();
  }

  /** What the simulator runs. */
  run(policy: string): Run {
    const { fault, closed, seed, ...numbers } = this.values;
    const own = SLIDERS.filter(({ faults }) => faults?.includes(String(fault))).map(({ name }) => [
      name,
      numbers[name],
    ]);
    const common = SLIDERS.filter(({ faults }) => faults === undefined).map(({ name }) => [name, numbers[name]]);
    const scenario = {
      ...Object.fromEntries(common),
      fault,
      ...Object.fromEntries(own),
      closed,
      seed,
      most_attempts: MOST_ATTEMPTS,
    };
    return { policy, scenario: JSON.stringify(scenario) };
  }
}
