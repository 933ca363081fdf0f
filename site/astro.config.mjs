// The site of holdoff: static, without requests to other hosts. `cargo xtask docs` builds it.
import { existsSync } from "node:fs";
import starlight from "@astrojs/starlight";
import { defineConfig, passthroughImageService } from "astro/config";
import { DESCRIPTION } from "./src/about.mjs";
import { repository } from "./src/markdown.mjs";
import { BASE, VERSION } from "./src/pages.mjs";
import { sidebar } from "./src/sidebar.mjs";
import { strict } from "./src/strict.mjs";

// Addresses in llms.txt and the site map begin with it. Nothing is published yet.
const SITE = process.env.SITE ?? "https://holdoff.example";

/** The storm lab is a page of its own, which another command builds. */
const lab = existsSync(new URL("../playground/dist/index.html", import.meta.url));

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
      credits: false,
      disable404Route: true,
      pagination: false,
      sidebar: sidebar(lab),
    }),
    strict(BASE),
  ],
});
