// The pages of the site: README.md and the Markdown of docs/, as they stand.
import { docsSchema } from "@astrojs/starlight/schema";
import { defineCollection } from "astro:content";
import { glob, type Loader } from "astro/loaders";
import { idOf, isInternal, ROOT, titleOf } from "./pages.mjs";

const files = glob({ base: ROOT, pattern: ["README.md", "docs/**/*.md"], generateId: ({ entry }) => idOf(entry) });

/** Reads pages whose title is their first heading, so that docs/ needs no front matter. */
const pages: Loader = {
  name: "pages",
  load: (context) =>
    files.load({
      ...context,
      parseData: ({ id, data, filePath, ...rest }) =>
        context.parseData({
          id,
          data: {
            title: titleOf(filePath ?? ""),
            pagefind: !isInternal(id),
            ...(id === "index" ? { tableOfContents: false } : {}),
            ...data,
          },
          filePath,
          ...rest,
        }),
    }),
};

export const collections = { docs: defineCollection({ loader: pages, schema: docsSchema() }) };
