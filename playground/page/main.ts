// The storm lab. The same script is the page and its workers: no second file is loaded from disk.
import { initSync } from "core";
import { choices } from "./answers";
import { byId } from "./dom";
import { Editor } from "./editor";
import { replays } from "./replay";
import { runAll, serve } from "./runner";
import { ScenarioForm } from "./scenario";
import * as share from "./share";
import { Storm, sentence } from "./storm";

const START = {
  a: '{\n  "attempts": 3,\n  "deadline": "10s",\n  "budget": "none"\n}',
  b: '{\n  "attempts": 3,\n  "deadline": "10s",\n  "budget": "ratio"\n}',
};

async function module(): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(byId("wasm").textContent ?? ""), (byte) => byte.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function say(message: string): void {
  byId("status").textContent = message;
}

async function page(): Promise<void> {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    say(
      "This browser does not run WebAssembly, and the lab is the library itself compiled to it. Allow WebAssembly for this page, or use " +
        "another browser. On a command line, cargo xtask explain and cargo xtask storm --run print the same numbers. In programs, " +
        "holdoff/lite retries without WebAssembly.",
    );
    return;
  }
  const wasm = await module();
  initSync({ module: wasm });
  const words = choices();
  if (!("ok" in words)) throw new Error(words.problem.message);
  let editors: Editor[] = [];
  const button = byId<HTMLButtonElement>("run");
  let run = () => {};
  const check = () => {
    button.disabled = editors.some((editor) => editor.accepted === undefined);
    run();
  };
  editors = [new Editor("A", words.ok, START.a, check), new Editor("B", words.ok, START.b, check)];
  byId("policies").append(...editors.map((editor) => editor.element));
  const scenario = new ScenarioForm(byId<HTMLFormElement>("scenario"), () => run());
  const storm = new Storm();
  const script = byId("lab").textContent ?? "";
  byId("main").hidden = false;

  const summary = byId("summary");
  const runBoth = async (play: boolean) => {
    summary.textContent = "Running …";
    const started = performance.now();
    const answers = await runAll(
      script,
      wasm,
      editors.map((editor) => scenario.run(editor.document)),
    );
    const outcomes = answers.flatMap((answer) => ("ok" in answer ? [answer.ok] : []));
    if (outcomes.length === answers.length) {
      storm.draw(outcomes, play);
      const took = ((performance.now() - started) / 1000).toFixed(1);
      summary.textContent = `${outcomes.map((outcome, at) => `Policy ${"AB"[at]}: ${sentence(outcome)}`).join(" ")} (${took} s)`;
    } else {
      summary.textContent = answers
        .flatMap((answer, at) => ("problem" in answer ? [`Policy ${"AB"[at]}: ${answer.problem.message}.`] : []))
        .join(" ");
    }
  };
  /** Runs, and once more if something was changed meanwhile. */
  let [running, changed, timer] = [false, false, 0];
  const start = async (play: boolean) => {
    clearTimeout(timer);
    changed = running;
    if (running || button.disabled) return;
    running = true;
    await runBoth(play).finally(() => {
      running = false;
    });
    if (changed) await start(false);
  };
  button.addEventListener("click", () => {
    void start(true);
    // From now on the drawing follows the sliders and the policies.
    run = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => start(false), 300);
    };
  });

  byId("share").addEventListener("click", async () => {
    const fragment = share.write({ a: editors[0].document, b: editors[1].document, scenario: scenario.values });
    if (fragment === undefined) return say("The policies are too long for a link.");
    history.replaceState(null, "", fragment);
    const copied = await navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    say(copied ? "The link is copied." : "The link is in the address bar.");
  });

  const load = () => {
    if (location.hash.length < 2 || document.getElementById(location.hash.slice(1))) return;
    try {
      const shared = share.read(location.hash);
      [editors[0].document, editors[1].document] = [shared.a, shared.b];
      scenario.values = shared.scenario;
      say("Two policies and a scenario were read from the link.");
    } catch (error) {
      say(`The link cannot be read: ${(error as Error).message}.`);
    }
  };
  addEventListener("hashchange", load);
  load();
  replays(() => editors[0].document);
}

if (typeof document === "undefined") serve((wasm) => initSync({ module: wasm }));
else page().catch((error) => say(`The lab cannot start: ${error.message}`));
