// The sidebar: at most 32 pages that a reader looks for, and the internal ones in a group that is closed.
import { isInternal, markdown, idOf } from "./pages.mjs";

const tasks = ["http", "llm", "payment", "webhook", "job", "reconnect", "testing", "telemetry", "scan"];
const concepts = ["time-line", "limits", "jitter", "budgets", "breaker", "nesting"];

/** Shorter names of pages whose titles have the words that a reader searches for. */
const LABELS = {
  "tasks/http": "Retry an HTTP call",
  "tasks/llm": "Call an LLM",
  "tasks/payment": "Charge a card once",
  "concepts/limits": "What a limit covers",
};
const named = (slug) => (LABELS[slug] ? { slug, label: LABELS[slug] } : slug);

/** The groups of the sidebar; the storm lab is built by another command, and may be missing. */
export function sidebar(hasLab) {
  return [
    {
      label: "Start",
      items: ["start", "which-policy", "coming-from", ...(hasLab ? [{ label: "Storm lab", link: "/lab/" }] : [])],
    },
    { label: "Tasks", items: tasks.map((name) => named(`tasks/${name}`)) },
    { label: "Concepts", items: concepts.map((name) => named(`concepts/${name}`)) },
    { label: "Clients", items: ["fronts", { label: "What is retried with my client", slug: "clients" }] },
    {
      label: "Guides",
      items: [
        { label: "JavaScript, TypeScript", slug: "guide-javascript" },
        { label: "Python", slug: "guide-python" },
        { label: "Rust", slug: "guide-rust" },
        { label: "C, C++", slug: "guide-c" },
        { label: "Command line", slug: "cli" },
      ],
    },
    { label: "More than one process", items: ["durable", "engines"] },
    {
      label: "Reference",
      items: [
        { label: "Fields, guards, presets", slug: "policy" },
        { label: "Errors and lints", slug: "errors" },
      ],
    },
    { label: "Evidence", items: ["evidence", "storm"] },
    { label: "Internals", collapsed: true, items: internals() },
  ];
}

/** The internal pages, their overview first. */
function internals() {
  const ids = markdown().map(idOf).filter(isInternal);
  return ["internals", ...ids.filter((id) => id !== "internals")];
}
