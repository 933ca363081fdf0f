// Every link and every anchor of the built site leads somewhere. Links to other hosts are not followed.
import { LinkChecker } from "linkinator";
import { serve } from "../serve.mjs";

const { address, stop } = await serve();
const { links } = await new LinkChecker().check({
  path: `${address}/`,
  recurse: true,
  checkFragments: true,
  // The references check their own links.
  linksToSkip: async (link) => !link.startsWith(`${address}/`) || /\/api\/(rust|javascript|python)\/.*\//.test(link),
});
await stop();
const broken = links.filter((link) => link.state === "BROKEN");
for (const { url, parent, status } of broken) console.error(`${parent}: ${url} (${status})`);
console.log(`${links.length} links, ${broken.length} broken`);
process.exitCode = broken.length > 0 ? 1 : 0;
