// The pages as one text for a language model: `llms.txt` has the start, the tasks and the fields of a policy, and names the other
// pages; `llms-full.txt` has all pages but the internal ones.
import { readFileSync } from "node:fs";
import { pages, target } from "./pages.mjs";

/** The pages of `llms.txt`, and where a page that is not whole ends or begins. */
const SHORT = [
  ["start"],
  ["fronts", { to: "\n## " }],
  ["tasks/http"],
  ["tasks/llm"],
  ["tasks/payment"],
  ["tasks/job"],
  ["tasks/webhook"],
  ["tasks/testing"],
  ["policy", { from: "\n## Fields", to: "\n### " }],
];

/** The short text: every page that it does not have is a link. */
export function short(site, description) {
  const all = pages();
  const texts = SHORT.map(([id, part]) => text(all.find((page) => page.id === id), site, part));
  const names = new Set(SHORT.filter(([, part]) => !part).map(([id]) => id));
  const links = all.filter(({ id }) => !names.has(id)).map(({ id, title }) => `- [${title}](${address(id, site)})`);
  return [`# holdoff\n\n> ${description}`, ...texts, `# Other pages\n\n${links.join("\n")}`].join("\n\n");
}

/** All pages. */
export function full(site, description) {
  return [`> ${description}`, ...pages().map((page) => text(page, site))].join("\n\n");
}

const address = (id, site) => new URL(target(`/${id === "index" ? "" : `${id}/`}`, ""), site).href;

/** The Markdown of a page without its drawings, with links to the built site. */
function text({ path }, site, { from, to } = {}) {
  const whole = readFileSync(path, "utf8");
  const title = whole.slice(0, whole.indexOf("\n"));
  const begin = from ? whole.indexOf(from) : 0;
  const end = to ? whole.indexOf(to, begin + 1) : whole.length;
  if (begin < 0 || end < 0) throw new Error(`${path}: there is no "${from ?? to}" for llms.txt`);
  const part = (from ? title : "") + whole.slice(begin, end);
  const undrawn = part.replace(/^```mermaid\n[^`]*```\n/gm, "").replace(/^<!--.*-->\n/gm, "").replace(/<!--[^<>]*-->/g, "");
  return undrawn.replace(/\]\(([^()\s]+)\)/g, (link, url) => `](${linked(url, path, site) ?? url})`).trim();
}

/** A link to a page of the site as a whole address; other links as they stand. */
function linked(url, path, site) {
  if (url.startsWith("#")) return undefined;
  try {
    const found = target(url, path);
    return found && new URL(found, site).href;
  } catch {
    return undefined;
  }
}
