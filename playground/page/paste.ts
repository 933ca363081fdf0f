// The policies of other systems: three examples, and what a reader pastes, drops or opens.
import { type Answer, type Finding, type Look, look, type Problem } from "./answers";
import { byId, html, refuseLong } from "./dom";
import { readFile } from "./files";
import { goTo, type Mark, Marked } from "./marks";

/** A policy that is shown against holdoff's default. */
export interface Other {
  /** What it is, for the heading of its drawing. */
  name: string;
  document: string;
}

const SYSTEMS: Record<string, string> = {
  tenacity: "tenacity",
  holdoff: "your policy",
  istio: "Istio",
  polly: "Polly",
  grpc: "gRPC",
  dapr: "Dapr",
  resilience4j: "resilience4j",
  "step-functions": "Step Functions",
  "gateway-api": "Gateway API",
  "serverless-workflow": "Serverless Workflow",
  temporal: "Temporal",
};

/** What each system does unless it is configured, as its own files would say it. */
const EXAMPLES: { label: string; text: string; file?: string }[] = [
  {
    label: "Polly's standard handler",
    text: `{
  // AddStandardResilienceHandler() without options
  "HttpStandardResilience": {
    "Retry": { "MaxRetryAttempts": 3, "BackoffType": "Exponential", "UseJitter": true, "Delay": "00:00:02" },
    "TotalRequestTimeout": { "Timeout": "00:00:30" },
    "AttemptTimeout": { "Timeout": "00:00:10" },
    "CircuitBreaker": { "FailureRatio": 0.1, "MinimumThroughput": 100, "SamplingDuration": "00:00:30", "BreakDuration": "00:00:05" }
  }
}`,
  },
  { label: "tenacity's default", text: "@retry  # no arguments: for ever, without a wait\ndef load():\n    ..." },
  {
    label: "Istio's default",
    text: `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: payments
spec:
  hosts: [payments]
  http:
    - retries:
        attempts: 2
        retryOn: connect-failure,refused-stream,unavailable,cancelled,503
      route:
        - destination: { host: payments }`,
  },
];

/** What is found in no text. */
const EMPTY: Answer<Look> = { problems: [] };

export class Paste {
  private readonly text = byId<HTMLTextAreaElement>("paste");
  private readonly problem = byId("paste-problem");
  private readonly choice = byId<HTMLSelectElement>("paste-policy");
  private readonly marks = new Marked(this.text);
  private timer: number | undefined;
  private found: Look["policies"] = [];
  private label = "";

  constructor(private readonly show: (other: Other) => void) {
    byId("chips").append(
      ...EXAMPLES.map(({ label, text }) => {
        const chip = html("button", { type: "button", class: "chip" }, label);
        chip.addEventListener("click", () => this.read("", text, label));
        return chip;
      }),
    );
    refuseLong(this.text, (message) => this.fail([{ path: "", message, place: null }]));
    this.text.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.read("", this.text.value), 200);
    });
    this.choice.addEventListener("change", () => this.choose());
    const picker = byId<HTMLInputElement>("paste-file");
    picker.addEventListener("change", () => this.open(picker.files?.[0]));
    this.anywhere();
  }

  /** A file that is dropped anywhere, and a text that is pasted where nothing takes it. */
  private anywhere(): void {
    const isOther = (event: Event) => event.target instanceof Element && event.target.closest("#log") !== null;
    for (const name of ["dragover", "dragleave", "drop"] as const) {
      addEventListener(name, (event) => {
        if (isOther(event) || !event.dataTransfer) return;
        event.preventDefault();
        this.text.classList.toggle("dropping", name === "dragover");
        if (name !== "drop") return;
        const [file] = event.dataTransfer.files;
        if (file) void this.open(file);
        else this.read("", event.dataTransfer.getData("text"));
      });
    }
    addEventListener("paste", (event) => {
      if (event.target instanceof Element && event.target.closest("input, textarea, select")) return;
      const [file] = event.clipboardData?.files ?? [];
      if (file) void this.open(file);
      else this.read("", event.clipboardData?.getData("text") ?? "");
    });
  }

  private async open(file: File | undefined): Promise<void> {
    if (!file) return;
    const read = await readFile(file);
    if (typeof read === "string") this.fail([{ path: "", message: read, place: null }]);
    else this.read(file.name, read.text);
  }

  /** Reads a text, and shows the first policy of it. */
  private read(name: string, text: string, label = ""): void {
    if (this.text.value !== text) this.text.value = text;
    this.label = label;
    const answer: Answer<Look> = text.trim() === "" ? EMPTY : look(name, text);
    if ("problems" in answer) {
      this.fail(answer.problems);
      return;
    }
    const { policies, findings, notes } = answer.ok;
    this.found = policies;
    this.choice.replaceChildren(
      ...policies.map(({ form, name }, at) => html("option", { value: at }, name === "" ? form : `${name} (${form})`)),
    );
    byId("paste-choice").hidden = policies.length < 2;
    const errors = findings.filter(({ severity }) => severity === "error");
    this.text.setAttribute("aria-invalid", String(errors.length > 0));
    this.problem.replaceChildren(...(policies.length === 0 ? ["No policy of this text can be shown."] : []));
    this.marks.show(findings.flatMap(({ place, severity }): Mark[] => (place ? [{ place, severity }] : [])));
    byId("findings").replaceChildren(this.list(findings, notes));
    this.choose();
  }

  /** Shows the chosen policy. */
  private choose(): void {
    const policy = this.found[Number(this.choice.value)];
    if (!policy) return;
    const { form, name, document } = policy;
    const own = [SYSTEMS[form] ?? form, ...(name === "" ? [] : [name])].join(", ");
    this.show({ name: this.label || own, document: JSON.stringify(JSON.parse(document), null, 2) });
  }

  private clear(): void {
    this.found = [];
    byId("paste-choice").hidden = true;
    this.problem.replaceChildren();
    this.text.setAttribute("aria-invalid", "false");
    this.marks.show([]);
    byId("findings").replaceChildren();
  }

  private fail(problems: Problem[]): void {
    this.clear();
    this.text.setAttribute("aria-invalid", String(problems.length > 0));
    this.marks.show(problems.flatMap(({ place }): Mark[] => (place ? [{ place, severity: "error" }] : [])));
    const line = ({ message, place }: Problem) =>
      html("li", {}, ...(place ? [goTo(this.text, place), " "] : []), message);
    this.problem.replaceChildren(html("ul", {}, ...problems.map(line)));
  }

  /** The findings, worst first, as the command line prints them. */
  private list(findings: Finding[], notes: string[]): HTMLElement {
    const count =
      findings.length === 0
        ? "holdoff scan finds no mistake in it."
        : findings.length === 1
          ? "holdoff scan finds:"
          : `holdoff scan finds ${findings.length} mistakes:`;
    const line = ({ severity, code, name, policy, message, effect, place, line, page }: Finding) =>
      html(
        "li",
        { class: severity },
        html("strong", {}, severity),
        " ",
        html("a", { href: page, rel: "noreferrer" }, `${code} ${name}`),
        " ",
        ...(place ? [goTo(this.text, place), " "] : line === null ? [] : [`line ${line} `]),
        `${policy === "" || this.found.length < 2 ? "" : `${policy}: `}${message}.${effect === "" ? "" : ` ${effect}`}`,
      );
    return html(
      "div",
      {},
      html("p", { role: "status" }, count),
      html(
        "ul",
        { class: "findings" },
        ...findings.map(line),
        ...notes.map((note) => html("li", { class: "note" }, note)),
      ),
    );
  }
}
