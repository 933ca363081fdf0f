// The site of holdoff: static, without requests to other hosts. `cargo xtask docs` builds it.
import { existsSync } from "node:fs";
import starlight from "@astrojs/starlight";
import { defineConfig, passthroughImageService } from "astro/config";
import llmsTxt from "starlight-llms-txt";
import { repository } from "./src/markdown.mjs";
import { BASE, hasPage, pages, VERSION } from "./src/pages.mjs";

// Addresses in llms.txt and the site map begin with it. Nothing is published yet.
const SITE = process.env.SITE ?? "https://holdoff.example";
const DESCRIPTION = "Retries for JavaScript, Python, C and Rust, decided by one tested core.";

/** The storm lab is a page of its own, which another command builds. */
const lab = existsSync(new URL("../playground/dist/index.html", import.meta.url));

/** Pages that are there: some come from other parts of the repository. */
const present = (...names) => names.filter(hasPage);

export default defineConfig({
  site: SITE,
  base: BASE,
  outDir: process.env.OUT ?? "../target/site",
  cacheDir: "../target/site-cache",
  trailingSlash: "always",
  image: { service: passthroughImageService() },
  markdown: { remarkPlugins: [repository] },
  integrations: [
    starlight({
      title: `holdoff ${VERSION}`,
      description: DESCRIPTION,
      customCss: ["./src/site.css"],
      head: [{ tag: "script", attrs: { src: `${BASE}page.js`, defer: true } }],
      plugins: [
        llmsTxt({
          projectName: "holdoff",
          description: DESCRIPTION,
          exclude: ["adr/**", "names"],
          promote: ["index", "start", "which-policy"],
          optionalLinks: pages().map(({ id, title }) => ({ label: title, url: `${SITE}${BASE}${id === "index" ? "" : `${id}/`}` })),
        }),
      ],
      credits: false,
      disable404Route: true,
      pagination: false,
      sidebar: [
        {
          label: "Start",
          items: ["start", "which-policy", "coming-from", "questions", ...(lab ? [{ label: "Storm lab", link: "/lab/" }] : [])],
        },
        {
          label: "Tasks",
          items: ["http", "job", "llm", "reconnect", "payment", "webhook", "poll", "hedge", "scan", "audit", "testing", "telemetry"].map((name) => `tasks/${name}`),
        },
        {
          label: "Concepts",
          items: [...["time-line", "limits", "jitter", "budgets", "breaker", "guards", "nesting", "clocks"].map((name) => `concepts/${name}`), "patterns", "security", "glossary"],
        },
        {
          label: "Guides",
          items: [
            { label: "JavaScript, TypeScript", slug: "guide-javascript" },
            { label: "Python", slug: "guide-python" },
            { label: "Rust", slug: "guide-rust" },
            { label: "C, C++", slug: "guide-c" },
            { label: "Another language", slug: "another-language" },
            ...present("cli", "editor"),
          ],
        },
        {
          label: "Clients",
          items: pages()
            .map(({ id }) => id)
            .filter((id) => id.startsWith("fronts/"))
            .sort(),
        },
        { label: "More than one process", items: ["durable", "engines"] },
        {
          label: "Reference",
          items: [
            "api",
            { label: "What is retried with my client", slug: "clients" },
            { label: "Fields, guards, presets", slug: "policy" },
            { label: "Warnings", slug: "lints" },
            { label: "Errors and words", slug: "errors" },
            "catalogue",
            "compat",
            { label: "Rules (spec)", slug: "spec" },
          ],
        },
        { label: "Evidence", items: ["evidence", "storm", "crash", "performance"] },
        {
          label: "Inside",
          collapsed: true,
          items: ["adding-a-method", "adding-a-guard", "adding-a-field", "names", "versions", { label: "Decisions", autogenerate: { directory: "adr" } }],
        },
      ],
    }),
  ],
});
