// The site of holdoff: static, without requests to other hosts. `cargo xtask docs` builds it.
import { existsSync } from "node:fs";
import starlight from "@astrojs/starlight";
import { defineConfig, passthroughImageService } from "astro/config";
import llmsTxt from "starlight-llms-txt";
import { repository } from "./src/markdown.mjs";

/** The storm lab is a page of its own, which another command builds. */
const lab = existsSync(new URL("../playground/dist/index.html", import.meta.url));
const page = (label, slug) => ({ label, slug });

export default defineConfig({
  // Addresses in llms.txt and the site map begin with it. Nothing is published yet.
  site: process.env.SITE ?? "https://holdoff.example",
  outDir: process.env.OUT ?? "../target/site",
  cacheDir: "../target/site-cache",
  trailingSlash: "always",
  image: { service: passthroughImageService() },
  markdown: { remarkPlugins: [repository] },
  integrations: [
    starlight({
      title: "holdoff",
      description: "Retries for JavaScript, Python, C and Rust, decided by one tested core.",
      customCss: ["./src/site.css"],
      head: [{ tag: "script", attrs: { src: "/tabs.js", defer: true } }],
      plugins: [llmsTxt({ projectName: "holdoff", exclude: ["adr/**", "names"], promote: ["index", "start", "which-policy"] })],
      credits: false,
      pagination: false,
      sidebar: [
        page("glossary", "glossary"),
        ...(lab ? [{ label: "Storm lab", link: "/lab/" }] : []),
      ],
    }),
  ],
});
