// The pages of the site: the Markdown of docs/, as it stands.
import { docsSchema } from "@astrojs/starlight/schema";
import { defineCollection } from "astro:content";
import { glob, type Loader } from "astro/loaders";
import { FOLDER, idOf, isInternal, titleOf } from "./pages.mjs";

const files = glob({ base: FOLDER, pattern: "**/*.md", generateId: ({ entry }) => idOf(entry) });

/** Reads pages whose title is their first heading, so that docs/ needs no front matter. */
const pages: Loader = {
  name: "pages",
  load: (context) =>
    files.load({
      ...context,
      parseData: ({ id, data, filePath, ...rest }) =>
        context.parseData({ id, data: { title: titleOf(filePath ?? ""), pagefind: !isInternal(id), ...data }, filePath, ...rest }),
    }),
};

export const collections = { docs: defineCollection({ loader: pages, schema: docsSchema() }) };
