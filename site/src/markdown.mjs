// Makes pages of the Markdown of docs/, which stays readable where it is: links between files become links between pages, Mermaid
// becomes SVG, and code in several languages becomes tabs.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { renderMermaidSVG } from "beautiful-mermaid";
import { drawDelays } from "./delays.mjs";
import { BASE, ROOT, target } from "./pages.mjs";

/** The languages of tabs, by the words behind three backticks. */
const LANGUAGES = { js: "JavaScript", ts: "TypeScript", python: "Python", c: "C", cpp: "C++", rust: "Rust" };

/** The small storm lab, which another command builds, and its place in the start page. */
const MINI = join(ROOT, "playground/dist/mini.js");
const MINI_LAB = {
  type: "html",
  value: `<link rel="stylesheet" href="${BASE}lab/mini.css"><div class="mini-lab not-content" data-holdoff-mini data-lab="${BASE}lab/"></div><script type="module" src="${BASE}lab/mini.js"></script>`,
};

/** An address whose anchor ends with no hyphen. */
function anchored(url) {
  let end = url.length;
  if (url.includes("#")) while (url[end - 1] === "-") end -= 1;
  return url.slice(0, end);
}

/** A remark plugin; the order of its steps does not matter. */
export function repository() {
  return (tree, file) => {
    const title = tree.children.findIndex((node) => node.type === "heading" && node.depth === 1);
    if (title >= 0) tree.children.splice(title, 1);
    each(tree, (node) => {
      // Astro has no hyphen at the end of an anchor, GitHub has.
      if (node.type === "link" || node.type === "definition") node.url = anchored(target(node.url, file.path) ?? node.url);
      if (node.children) node.children = tabs(node.children.flatMap((child) => drawn(child, file)));
      if (node.type === "paragraph" && node.children.filter(({ type }) => type === "image").length > 1) node.data = { hProperties: { class: "pictures" } };
    });
  };
}

function each(node, visit) {
  visit(node);
  for (const child of node.children ?? []) each(child, visit);
}

/** Groups headings between `<!-- tabs -->` and `<!-- end -->`, and blocks of code that follow each other in different languages. */
function tabs(nodes) {
  const grouped = [];
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at];
    if (node.type === "html" && node.value === "<!-- tabs -->") {
      const end = nodes.findIndex((other, index) => index > at && other.value === "<!-- end -->");
      grouped.push(group(sections(nodes.slice(at + 1, end))));
      at = end;
      continue;
    }
    const run = [];
    while (LANGUAGES[nodes[at + run.length]?.lang] && nodes[at + run.length].type === "code") run.push(nodes[at + run.length]);
    if (new Set(run.map((code) => code.lang)).size > 1) {
      grouped.push(group(run.map((code) => [LANGUAGES[code.lang], [code]])));
      at += run.length - 1;
    } else grouped.push(node);
  }
  return grouped;
}

/** The headings of a group, each with what is below it. */
function sections(nodes) {
  const found = [];
  for (const node of nodes) {
    if (node.type === "heading") found.push([node.children.map((child) => child.value).join(""), []]);
    else found.at(-1)[1].push(node);
  }
  return found;
}

function group(panels) {
  const children = panels.map(([label, content]) => element("section", { dataLabel: label }, content));
  return element("language-tabs", {}, children);
}

/** A node that becomes an element of HTML. */
const element = (name, properties, children) => ({ type: "element-of-site", data: { hName: name, hProperties: properties }, children });

/** Replaces a Mermaid diagram by its drawing, and puts the drawing of its delays behind a document with the word "drawn". */
function drawn(node, file) {
  if (node.lang === "mermaid") return [diagram(node, file)];
  if (node.type === "html" && node.value === "<!-- mini-lab -->") return existsSync(MINI) ? [MINI_LAB] : [];
  if (node.type === "html" && /^<!-- \/?printed/.test(node.value)) return [];
  // A word of rustdoc behind a comma is no language here.
  if (node.type === "code") node.lang = node.lang?.split(",")[0];
  if (node.meta === "before") node.meta = 'title="before"';
  if (node.lang === "json" && node.meta === "drawn") return [node, figure(drawDelays(node.value))];
  return [node];
}

// A drawing that is wider than the screen scrolls, also by the keyboard.
function figure(svg) {
  const [, width] = /\bwidth="([\d.]+)"/.exec(svg);
  return { type: "html", value: `<figure class="diagram" tabindex="0" style="--width: ${width}px">${svg}</figure>` };
}

/** Draws a diagram in the colours of the page. Its `accTitle` is what a screen reader says. */
function diagram({ value }, file) {
  const [line, label] = /^[ \t]*accTitle: (.+)\n/m.exec(value) ?? [];
  if (label === undefined) throw new Error(`${file.path}: a diagram needs a line "accTitle: ..." for those who cannot see it`);
  const colours = { bg: "var(--sl-color-bg)", fg: "var(--sl-color-white)", transparent: true, padding: 12 };
  const drawing = renderMermaidSVG(value.replace(line, ""), colours);
  const style = drawing.slice(drawing.indexOf("<style>"), drawing.indexOf("</style>") + "</style>".length);
  const svg = drawing
    .replace(style, "")
    .replace("<svg ", `<svg role="img" aria-label="${label.replaceAll('"', "&quot;")}" `);
  return figure(svg);
}
