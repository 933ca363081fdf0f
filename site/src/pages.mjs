// Where a file of the repository is in the site: pages of docs/ by their names, and every other file below source/.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** The root of the repository; Astro starts in site/ and moves its modules. */
export const ROOT = resolve("..");
export const FOLDER = join(ROOT, "docs");

/** Where the site is on its host: `/`, or the folder of an older version. */
export const BASE = `/${process.env.BASE ?? ""}/`.replace(/\/+/g, "/");

/** The version of these pages, which is that of the packages. */
export const VERSION = /^version = "(.+)"$/m.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"))[1];

/** True for a page about how holdoff is made and checked: it is in no search and not in `llms.txt`. */
export const isInternal = (id) => /^(internals(\/.*)?|spec|catalogue)$/.test(id);

/** The start page of the site, which is that of the repository. */
const FRONT = join(ROOT, "README.md");

/** The pages that a reader looks for: the start page, and the others in the order of their paths. */
export function pages() {
  const paths = [FRONT, ...markdown().map((name) => join(FOLDER, name))];
  const found = paths.map((path) => ({ id: idOf(relative(ROOT, path)), title: titleOf(path), path }));
  return found.filter(({ id }) => !isInternal(id));
}

/** The paths of all pages from docs/. */
export const markdown = () => readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md")).sort();

/** The id of a page by its path from docs/, or from the root of the repository. */
export const idOf = (entry) => entry.replace(/^docs\//, "").replace(/\.md$/, "").replace(/(^|\/)README$/, "$1").replace(/\/$/, "").toLowerCase() || "index";

/** The first heading of a file, without its marks. */
export function titleOf(path) {
  const [, title] = /^# (.+)$/m.exec(readFileSync(resolve(path), "utf8")) ?? [];
  if (title === undefined) throw new Error(`${path}: the page needs a heading of the first level, which is its title`);
  return title.replaceAll("`", "");
}

/** Where a link of a page leads in the site; undefined for a link to another host or within its page. */
export function target(url, page) {
  if (url.startsWith("/")) return BASE + url.slice(1);
  if (/^([a-z]+:|#)/i.test(url)) return undefined;
  const [path, hash] = url.split("#");
  const file = resolve(dirname(page), decodeURI(path));
  if (!statSync(file, { throwIfNoEntry: false })) throw new Error(`${relative(ROOT, page)}: links to ${url}, which does not exist`);
  const anchor = hash ? `#${hash}` : "";
  if (file === FRONT) return `${BASE}${anchor}`;
  if (file.startsWith(`${FOLDER}/`) && file.endsWith(".md")) return `${BASE}${idOf(relative(FOLDER, file))}/${anchor}`;
  return `${BASE}source/${relative(ROOT, file)}/${anchor}`;
}

/** The paths from the root of all files and folders that pages link to, beside pages, and of the C headers. */
export function sources() {
  const headers = readdirSync(join(ROOT, "bindings-c/include"), { recursive: true, encoding: "utf8" });
  const found = new Set(headers.filter((name) => /\.hp?p?$/.test(name)).map((name) => join("bindings-c/include", name)));
  for (const path of [FRONT, ...markdown().map((page) => join(FOLDER, page))]) {
    for (const [, url] of readFileSync(path, "utf8").matchAll(/\]\(([^()\s]+)\)/g)) {
      const [address] = (tryTarget(url, path) ?? "").split("#", 1);
      const [, source] = address.slice(0, Math.max(address.lastIndexOf("/"), 0)).split("/source/", 2);
      if (source && !source.endsWith(".svg")) found.add(source);
    }
  }
  for (const folder of [...found].filter((source) => statSync(join(ROOT, source)).isDirectory())) {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      if (entry.isFile()) found.add(join(folder, entry.name));
    }
  }
  return [...found].sort();
}

/** Like `target`, for text that may be code and so no link. */
function tryTarget(url, page) {
  try {
    return target(url, page);
  } catch {
    return undefined;
  }
}
