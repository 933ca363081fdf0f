// Runs of the simulator, each policy in a worker of its own, so that the page stays alive.
import { type Answer, type Outcome, type Run, simulate } from "./answers";

/** In a worker: gets the module, then runs. */
export function serve(start: (wasm: BufferSource) => void): void {
  self.addEventListener("message", ({ data }: MessageEvent<{ wasm?: ArrayBuffer; run?: Run }>) => {
    if (data.wasm) start(data.wasm);
    if (data.run !== undefined) self.postMessage(simulate(data.run));
  });
}

function inWorker(script: string, wasm: ArrayBuffer, run: Run): Promise<Answer<Outcome>> {
  return new Promise((resolve, reject) => {
    const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(url);
    const end = () => {
      worker.terminate();
      URL.revokeObjectURL(url);
    };
    worker.addEventListener("message", ({ data }: MessageEvent<Answer<Outcome>>) => {
      end();
      resolve(data);
    });
    worker.addEventListener("error", (event) => {
      end();
      event.preventDefault();
      reject(new Error(event.message || "the browser starts no worker"));
    });
    worker.postMessage({ wasm, run });
  });
}

/** Runs both documents at once; one after the other in the page if the browser starts no worker. */
export async function runAll(script: string, wasm: ArrayBuffer, runs: Run[]): Promise<Answer<Outcome>[]> {
  try {
    return await Promise.all(runs.map((run) => inWorker(script, wasm, run)));
  } catch {
    const answers: Answer<Outcome>[] = [];
    for (const run of runs) {
      await new Promise((resolve) => setTimeout(resolve));
      answers.push(simulate(run));
    }
    return answers;
  }
}
