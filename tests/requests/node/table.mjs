// How many requests does one call make? `node table.mjs` prints the table of docs/requests.md.
import { pathToFileURL } from "node:url";
import { PAIRS, withShortSleeps } from "./programs.mjs";
import { provider } from "./provider.mjs";

/** The columns, and the steps of their providers. */
const FAULTS = [
  ["503", "503"],
  ["429", "429"],
  ["400", "400"],
  ["`x-should-retry: false`", "503;x-should-retry=false"],
  ["connection reset", "reset"],
];

/** The times of the requests that a program makes in one call, which fails or not. */
export async function requestsOf({ url, script }, program, steps) {
  const times = script(steps);
  await program(url).catch(() => {});
  return times;
}

export async function table(server) {
  const columns = FAULTS.map(([column]) => column);
  const lines = [
    `| client or framework | ${columns.join(" | ")} | change with holdoff |`,
    `|${"---|".repeat(columns.length + 2)}`,
  ];
  for (const { name, before, after, line } of PAIRS) {
    const cells = [];
    for (const [, steps] of FAULTS) {
      const first = await withShortSleeps(() => requestsOf(server, before, steps));
      const then = await requestsOf(server, after, steps);
      cells.push(`${first.length} → ${then.length}`);
    }
    lines.push(`| ${name} | ${cells.join(" | ")} | ${line} |`);
  }
  return `${lines.join("\n")}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const server = await provider();
  process.stdout.write(await table(server));
  server.close();
}
