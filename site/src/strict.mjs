// Every page has a content security policy without 'unsafe-inline': scripts, styles and style attributes of the built pages become files.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const POLICY = [
  "default-src 'none'",
  // The search and the small storm lab are WebAssembly.
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** An integration of Astro that rewrites what was built; `base` is where the site is on its host. */
export const strict = (base) => ({
  name: "strict",
  hooks: {
    "astro:build:done": ({ dir }) => {
      const out = fileURLToPath(dir);
      const files = new Map();
      const styles = new Map();
      const keep = (text, ending) => {
        const name = `_astro/inline.${createHash("sha256").update(text).digest("hex").slice(0, 12)}.${ending}`;
        files.set(name, text);
        return base + name;
      };
      const names = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
      const pages = names.map((name) => [join(out, name), rewritten(readFileSync(join(out, name), "utf8"), keep, styles)]);
      // A rule of an attribute has to win over those of classes, as the attribute itself does.
      const rules = [...styles].map(([text, id]) => `[data-style="${id}"]:not(#_):not(#_) {${text}}`).join("\n");
      const sheet = `<link rel="stylesheet" href="${keep(rules, "css")}">`;
      mkdirSync(join(out, "_astro"), { recursive: true });
      for (const [name, text] of files) writeFileSync(join(out, name), text);
      const meta = `<meta http-equiv="content-security-policy" content="${POLICY}">`;
      for (const [path, html] of pages) writeFileSync(path, html.replace(/<head>/i, `<head>${meta}${sheet}`));
    },
  },
});

/** A page whose scripts and styles are files; `styles` collects the texts of style attributes. */
function rewritten(html, keep, styles) {
  let page = "";
  let at = 0;
  for (let tag = next(html, at); tag; tag = next(html, at)) {
    page += html.slice(at, tag.start);
    at = tag.end;
    const { name, attributes } = tag;
    const style = attributes.find(([key]) => key === "style");
    let kept = attributes.filter((attribute) => attribute !== style);
    if (style) {
      const text = unescaped(style[1] ?? "");
      if (!styles.has(text)) styles.set(text, styles.size);
      kept = [...kept, ["data-style", String(styles.get(text))]];
    }
    const is = (key) => kept.find(([other]) => other === key);
    const inline = (name === "style" || (name === "script" && !is("src"))) && !/json/.test(is("type")?.[1] ?? "");
    const end = name === "script" || name === "style" ? html.indexOf(`</${name}>`, at) : -1;
    if (inline && end >= 0) {
      const text = html.slice(at, end);
      at = end + `</${name}>`.length;
      if (name === "style") page += `<link rel="stylesheet" href="${keep(text, "css")}">`;
      else page += `${written("script", [...kept, ["src", keep(text, "js")]], "")}</script>`;
      continue;
    }
    page += style ? written(name, kept, tag.close) : html.slice(tag.start, tag.end);
    if (end >= 0) {
      page += html.slice(at, end);
      at = end;
    }
  }
  return page + html.slice(at);
}

const written = (name, attributes, close) =>
  `<${name}${attributes.map(([key, value]) => (value === undefined ? ` ${key}` : ` ${key}="${value}"`)).join("")}${close}>`;

const unescaped = (text) => text.replaceAll("&quot;", '"').replaceAll("&#34;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");

/** The next start tag from a place on, with its attributes as they are written; comments are passed over. */
function next(html, from) {
  for (let start = html.indexOf("<", from); start >= 0; start = html.indexOf("<", start + 1)) {
    if (html.startsWith("<!--", start)) {
      start = html.indexOf("-->", start);
      if (start < 0) return undefined;
      continue;
    }
    if (!/[a-z]/i.test(html[start + 1] ?? "")) continue;
    let at = start + 1;
    while (!/[\s/>]/.test(html[at])) at += 1;
    const name = html.slice(start + 1, at);
    const attributes = [];
    while (html[at] !== ">") {
      if (/[\s/]/.test(html[at])) {
        at += 1;
        continue;
      }
      const begin = at;
      while (!/[\s=>]/.test(html[at]) && !(html[at] === "/" && html[at + 1] === ">")) at += 1;
      const key = html.slice(begin, at);
      if (html[at] !== "=") {
        attributes.push([key, undefined]);
        continue;
      }
      const quote = html[at + 1];
      if (quote === '"' || quote === "'") {
        const end = html.indexOf(quote, at + 2);
        const value = html.slice(at + 2, end);
        attributes.push([key, quote === "'" ? value.replaceAll('"', "&quot;") : value]);
        at = end + 1;
      } else {
        const value = at + 1;
        while (!/[\s>]/.test(html[at])) at += 1;
        attributes.push([key, html.slice(value, at)]);
      }
    }
    return { start, end: at + 1, name, attributes, close: html[at - 1] === "/" ? " /" : "" };
  }
  return undefined;
}
