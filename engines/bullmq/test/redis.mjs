/** A Redis of a test's own. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A port that nobody listens on. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a server in a folder of its own, and says where it is and how to stop it. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), "holdoff-redis-"));
  const port = await freePort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
  // Also when a test ends by an error of its own.
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", () => reject(new Error("redis-server ended")));
    let said = "";
    server.stdout.on("data", (part) => {
      said += part;
      if (said.includes("Ready to accept connections")) resolve();
    });
  });
  return {
    connection: { host: "127.0.0.1", port, maxRetriesPerRequest: null },
    async stop() {
      process.off("exit", kill);
      server.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
