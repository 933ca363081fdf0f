// Serves the built site on a free port of this machine.
import { once } from "node:events";
import { createServer } from "node:net";
import { preview } from "astro";
import { BASE } from "./src/pages.mjs";

/** The address of the site on the running server, without a slash at its end, and a function that stops the server. */
export async function serve() {
  const port = await freePort();
  const server = await preview({ root: import.meta.dirname, logLevel: "error", server: { host: "127.0.0.1", port } });
  return { address: `http://127.0.0.1:${port}${BASE.replace(/\/$/, "")}`, stop: () => server.stop() };
}

/** Astro takes a port and finds none. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

if (process.argv[1] === import.meta.filename) {
  const { address } = await serve();
  console.log(`the site is at ${address}/ until you press Ctrl-C`);
}
