// The storm lab. The same script is the page and its workers: no second file is loaded from disk.
import { initSync } from "core";
import { choices } from "./answers";
import { byId } from "./dom";
import { Editor } from "./editor";
import { unpack } from "./lzma";
import { type Other, Paste } from "./paste";
import { replays } from "./replay";
import { runAll, serve } from "./runner";
import { ScenarioForm } from "./scenario";
import * as share from "./share";
import { Storm, sentence } from "./storm";

const DOCUMENTATION = "https://github.com/holdoff/holdoff/tree/main/docs";
/** The first policy shows what the second one spares the server. */
const START: [Other, Other] = [
  { name: "retries without a budget", document: '{\n  "preset": "default",\n  "budget": "none"\n}' },
  { name: "holdoff's default", document: '{\n  "preset": "default"\n}' },
];

function say(message: string): void {
  byId("status").textContent = message;
}

async function page(): Promise<void> {
  if (typeof WebAssembly !== "object") {
    say(
      "This browser does not run WebAssembly, and the lab is the library itself compiled to it. Allow WebAssembly for this page, or use " +
        "another browser. On a command line, holdoff explain and holdoff simulate print the same numbers. In programs, " +
        "holdoff/lite retries without WebAssembly.",
    );
    return;
  }
  const wasm = unpack(Uint8Array.from(atob(byId("wasm").textContent ?? ""), (byte) => byte.charCodeAt(0))).buffer;
  initSync({ module: wasm });
  const words = choices();
  if (!("ok" in words)) throw new Error(words.problems[0].message);
  const script = byId("lab").textContent ?? "";
  const summary = byId("summary");
  const storm = new Storm();
  let [editors, scenario]: [Editor[], ScenarioForm | undefined] = [[], undefined];
  const runBoth = async (scenario: ScenarioForm, play: boolean) => {
    const titles = editors.map(({ title }) => title);
    const runs = editors.map((editor) => scenario.run(editor.document));
    const answers = await runAll(script, wasm, runs);
    const outcomes = answers.flatMap((answer) => ("ok" in answer ? [answer.ok] : []));
    const words = answers.map((answer, at) =>
      "ok" in answer ? `${titles[at]}: ${sentence(answer.ok)}` : `${titles[at]}: ${answer.problems[0].message}.`,
    );
    summary.textContent = words.join(" ");
    summary.classList.toggle("hidden", outcomes.length === answers.length);
    if (outcomes.length === answers.length) storm.draw(outcomes, titles, play);
    else storm.stale = true;
  };
  // One run at a time, and once more if something was changed meanwhile.
  let [running, again, played, timer] = [false, false, false, 0];
  const start = async (): Promise<void> => {
    again = running;
    const wrong = editors.filter((editor) => editor.accepted === undefined);
    storm.stale = true;
    if (running || !scenario) return;
    if (wrong.length > 0) {
      summary.textContent = `${wrong.map(({ title }) => title).join(" and ")}: the document has a mistake, so nothing runs.`;
      summary.classList.remove("hidden");
      return;
    }
    running = true;
    const first = !played;
    played = true;
    await runBoth(scenario, first).finally(() => {
      running = false;
    });
    if (again) await start();
  };
  const change = () => {
    storm.stale = true;
    clearTimeout(timer);
    timer = window.setTimeout(() => void start(), 200);
  };
  editors = START.map(({ document }, at) => new Editor("AB"[at], words.ok, document, change));
  START.forEach(({ name }, at) => {
    editors[at].title = name;
  });
  byId("policies").append(...editors.map((editor) => editor.element));
  const form = new ScenarioForm(change);
  scenario = form;
  new Paste(({ name, document }) => {
    [editors[0].title, editors[1].title] = [name, START[1].name];
    [editors[0].document, editors[1].document] = [document, START[1].document];
    played = false;
  });

  const link = byId("copy-link");
  link.addEventListener("click", async () => {
    const fragment = share.write({ a: editors[0].document, b: editors[1].document, scenario: form.values });
    if (fragment === undefined) return say("The policies are too long for a link.");
    history.replaceState(null, "", fragment);
    const copied = await navigator.clipboard?.writeText(location.href).then(
      () => true,
      () => false,
    );
    say(copied ? "The link is copied." : "The link is in the address bar.");
    link.textContent = copied ? "Link copied" : "Link in the address bar";
    setTimeout(() => {
      link.textContent = "Copy a link";
    }, 3000);
  });

  const load = () => {
    if (location.hash.length < 2 || document.getElementById(location.hash.slice(1))) return;
    try {
      const shared = share.read(location.hash);
      for (const editor of editors) editor.title = "";
      [editors[0].document, editors[1].document] = [shared.a, shared.b];
      form.values = shared.scenario;
      played = false;
      change();
      say("Two policies and a scenario were read from the link.");
    } catch (error) {
      say(`The link cannot be read: ${(error as Error).message}.`);
    }
  };
  addEventListener("hashchange", load);
  load();
  replays(() => editors[0].document);
  // From disk the documentation is not one folder up.
  if (location.protocol === "file:") byId<HTMLAnchorElement>("home").href = DOCUMENTATION;
  byId("main").hidden = false;
  clearTimeout(timer);
  await start();
}

if (typeof document === "undefined") serve((wasm) => initSync({ module: wasm }));
else page().catch((error) => say(`The lab cannot start: ${error.message}`));
