// Every page of docs/ was built, and every link and anchor of the built site leads somewhere. Links to other hosts are not followed.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LinkChecker } from "linkinator";
import { serve } from "../serve.mjs";
import { FOLDER, idOf } from "../src/pages.mjs";

const { address, stop } = await serve();
const { links } = await new LinkChecker().check({
  path: `${address}/`,
  recurse: true,
  checkFragments: true,
  // The references check their own links.
  linksToSkip: async (link) => !link.startsWith(`${address}/`) || /\/api\/(rust|javascript|python)\/.*\//.test(link),
});
await stop();

const names = readdirSync(process.env.OUT, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("index.html"));
const pages = names.filter((name) => !/^api\/.*\//.test(name));
const broken = links.filter((link) => link.state === "BROKEN").map((link) => new URL(link.url).pathname + new URL(link.url).hash);
for (const url of broken) {
  const from = pages.filter((page) => readFileSync(join(process.env.OUT, page), "utf8").includes(`"${decodeURI(url)}"`));
  console.error(`${url} leads nowhere; on ${from.length} pages, such as ${from.slice(0, 3).join(", ")}`);
}
const docs = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
const missing = docs.filter((name) => !pages.includes(join(idOf(name), "index.html")));
for (const name of missing) console.error(`docs/${name} is no page of the site; the build says why`);
// A page that Astro cannot read is built without its text.
const empty = pages.filter((page) => /sl-markdown-content">\s*<\/div>/.test(readFileSync(join(process.env.OUT, page), "utf8")));
for (const page of empty) console.error(`${page} is empty; the build says why`);
missing.push(...empty);
const [, ...references] = readFileSync(join(FOLDER, "api.md"), "utf8").split("](/");
for (const [path] of references.map((text) => text.split(")"))) {
  if (existsSync(join(process.env.OUT, path, path.endsWith("/") ? "index.html" : ""))) continue;
  missing.push(path);
  console.error(`${path} was not printed`);
}
console.log(`${pages.length} pages, ${links.length} links, ${broken.length} broken`);
process.exitCode = broken.length + missing.length > 0 ? 1 : 0;
