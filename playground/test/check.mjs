// Opens the lab from disk in a real browser: numbers, bad input, links, accessibility, small and dark screens.
//
// `node test/check.mjs <page> <run.json> <outcome.json> <folder for screenshots>`; the outcome is that of the program.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { browser, runChecks, SCREENS, violations } from "./browser.mjs";

const [, , file, runFile, outcomeFile, shots] = process.argv;
const url = pathToFileURL(file).href;
/** A file of other systems. */
const here = (name) => fileURLToPath(new URL(`files/${name}`, import.meta.url));
const native = JSON.parse(readFileSync(outcomeFile, "utf8"));
const run = JSON.parse(readFileSync(runFile, "utf8"));

/** A page of the lab; an error in it, a request of it or a broken rule of its policy fails the check. */
async function open({ fragment = "", before, ...options } = {}) {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("request", (request) => /^(https?|file|wss?):/.test(request.url()) && faults.push(request.url()));
  if (before) await page.addInitScript(before);
  await page.goto(url + fragment);
  faults.splice(faults.indexOf(url), faults.includes(url) ? 1 : 0);
  return { page, faults: () => faults.filter((fault) => fault !== url + fragment), close: () => context.close() };
}

async function ready(options) {
  const lab = await open(options);
  await lab.page.waitForSelector("#main:not([hidden])");
  return lab;
}

/** The lab with its first storm, which nobody has asked for. */
async function stormed(options) {
  const lab = await ready({ reducedMotion: "reduce", ...options });
  await storm(lab.page);
  await lab.page.$$eval("details:has(#scenario-more)", openAll, true);
  return lab;
}

/** Waits for the drawing of the policies as they are. */
async function storm(page) {
  await page.waitForFunction(
    () => document.querySelectorAll("#charts svg").length === 2 && !document.querySelector("#playback.stale"),
  );
}

/** Puts a text into the field for policies of other systems, as a paste does. */
const paste = (page, text) => page.fill("#paste", text);
const captions = (page) => page.$$eval("#charts figcaption", (all) => all.map(({ textContent }) => textContent));

/** Processor seconds of all pages so far: a busy machine does not lengthen them as it does the time. */
async function used() {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}
const session = await browser.newBrowserCDPSession();

const openAll = (all, open) => {
  for (const details of all) details.open = open;
};
const setPolicy = (page, name, text) => page.fill(`#policy-${name}`, text);
const problem = (page, name) => page.textContent(`#policy-${name}-problem`);

const CHECKS = {
  async "the numbers are those of the program"() {
    const { page, faults, close } = await stormed();
    await setPolicy(page, "A", JSON.stringify(run.policy));
    const { clients, rate, lasts, after } = run.scenario;
    for (const [name, value] of Object.entries({ clients, rate, lasts, after })) {
      await page.locator(`#scenario-${name}`).fill(String(value));
    }
    await storm(page);
    const rows = await page.$$eval("#seconds tbody tr", (rows) =>
      rows.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent.replaceAll(",", "")))),
    );
    assert.deepEqual(
      rows.map(([calls]) => calls),
      native.calls,
    );
    assert.deepEqual(
      rows.map(([, attempts]) => attempts),
      native.attempts,
    );
    assert.deepEqual(
      rows.map(([, , goodput]) => goodput),
      native.goodput,
    );
    const cell = (name) => page.textContent(`#figures tr:has(th:text-is("${name}")) td`);
    assert.equal(await cell("attempts a call"), native.figures.load.toFixed(3));
    assert.equal(await cell("calls that succeed"), `${(100 * native.figures.success).toFixed(1)} %`);
    assert.deepEqual(faults(), []);
    await close();
  },

  async "ten thousand clients take less than two seconds a run"() {
    const { page, close } = await stormed();
    const before = await used();
    await page.locator("#scenario-clients").fill("10000");
    await storm(page);
    const took = (await used()) - before;
    console.log(`    both runs: ${took.toFixed(1)} s of a processor`);
    // Two runs and their drawing; half as much again, since other programs take the caches away.
    assert.ok(took > 0 && took < 6, `${took} s`);
    await close();
  },

  async "form and document change each other, and an error stands at its place"() {
    const { page, faults, close } = await ready();
    await page.fill("#policy-A-attempts", "5");
    await page.press("#policy-A-attempts", "Tab");
    assert.equal(JSON.parse(await page.inputValue("#policy-A")).attempts, 5);
    await setPolicy(page, "A", '{\n  "atempts": 4\n}');
    await page.waitForSelector("#policy-A-problem button");
    assert.match(await problem(page, "A"), /^line 2 atempts: is not a field of a policy; did you mean "attempts"\?$/);
    await setPolicy(page, "A", '{ "backoff": { "max": 5 } }');
    await page.waitForSelector('#policy-A-backoff-max[aria-invalid="true"]');
    assert.match(await problem(page, "A"), /^line 1 backoff\.max = 5: must be a time/);
    await page.selectOption("#policy-A-preset", "resilience4j");
    await page.fill("#policy-A-backoff-max", "");
    await page.press("#policy-A-backoff-max", "Tab");
    await page.waitForFunction(() => document.querySelector("#policy-A-problem").textContent === "");
    await setPolicy(page, "A", "{ oops");
    await page.waitForFunction(() => /must be JSON text/.test(document.querySelector("#policy-A-problem").textContent));
    assert.deepEqual(faults(), []);
    await close();
  },

  async "every mistake is marked, and a broken document greys the drawings"() {
    const { page, faults, close } = await stormed();
    await setPolicy(page, "B", '{\n  "atempts": 4,\n  "backoff": { "max": 5 },\n  "jitter": "fulll"\n}');
    await page.waitForSelector("#policy-B-problem li");
    const lines = await page.$$eval("#policy-B-problem button", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(lines, ["line 2", "line 3", "line 4"]);
    const marks = () => page.$$eval(".marked:has(#policy-B) mark", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(await marks(), ['"atempts"', "5", '"fulll"']);
    await page.click("#policy-B-problem li:nth-child(2) button");
    const selected = await page.$eval("#policy-B", ({ value, selectionStart, selectionEnd }) =>
      value.slice(selectionStart, selectionEnd),
    );
    assert.equal(selected, "5");
    await page.waitForFunction(() => /Policy B.* the document has a mistake/.test(document.body.textContent));
    assert.equal(await page.locator("#playback.stale").count(), 1);
    assert.equal(await page.locator(".stale:has(.delays)").count(), 1);
    await setPolicy(page, "B", "{}");
    await storm(page);
    assert.deepEqual(await marks(), []);
    assert.equal(await page.locator(".stale:has(.delays)").count(), 0);
    assert.deepEqual(faults(), []);
    await close();
  },

  async "the storm is on the first screen, and runs without a click"() {
    for (const { name, ...options } of SCREENS) {
      const { page, faults, close } = await open(options);
      const asked = Date.now();
      await storm(page);
      console.log(`    ${name}: ${Date.now() - asked} ms until both curves`);
      const inSight = await page.$$eval("#charts svg", (all) =>
        all.map((drawing) => drawing.getBoundingClientRect().bottom <= innerHeight),
      );
      assert.deepEqual(inSight, [true, true], name);
      assert.equal(await page.evaluate(() => scrollY), 0);
      await page.waitForFunction(() => Number(document.querySelector("#second").value) > 5);
      assert.match((await captions(page))[1], /holdoff's default.*recovers at once/);
      assert.deepEqual(faults(), []);
      await close();
    }
  },

  async "an example, and each pasted policy, is shown against holdoff's default"() {
    const { page, faults, close } = await stormed();
    for (const [chip, label] of [
      ["Polly's standard handler", /^Policy A: Polly's standard handler/],
      ["tenacity's default", /^Policy A: tenacity's default/],
      ["Istio's default", /^Policy A: Istio's default/],
    ]) {
      await page.click(`.chip:text-is("${chip}")`);
      await storm(page);
      assert.match((await captions(page))[0], label);
    }
    for (const [text, document, label] of [
      [
        "@retry(stop=stop_after_attempt(5), wait=wait_exponential(multiplier=1, max=10))\ndef load():\n    ...",
        { attempts: 5, backoff: { initial: "1s", max: "10s" }, jitter: "none" },
        /^Policy A: tenacity, load/,
      ],
      [readFileSync(here("istio.yaml"), "utf8"), { attempts: 4, attempt_timeout: "2s" }, /^Policy A: Istio, http\[0\]/],
      [readFileSync(here("appsettings.json"), "utf8"), { attempts: 6 }, /^Policy A: Polly/],
    ]) {
      const [started, before] = [Date.now(), await used()];
      await paste(page, text);
      await page.waitForSelector("#playback.stale");
      await storm(page);
      const took = (await used()) - before;
      console.log(`    ${label.source}: ${Date.now() - started} ms, ${took.toFixed(1)} s of a processor`);
      assert.ok(took > 0 && took < 2, `${took} s`);
      assert.match((await captions(page))[0], label);
      assert.match((await captions(page))[1], /^Policy B: holdoff's default/);
      const shown = JSON.parse(await page.inputValue("#policy-A"));
      const part = (value, of) =>
        typeof of !== "object"
          ? value
          : Object.fromEntries(Object.entries(of).map(([key, of]) => [key, part(value?.[key], of)]));
      assert.deepEqual(part(shown, document), document);
    }
    await paste(page, "@retry(stop=stop_after_attempt(MOST))\ndef load(): ...");
    await page.waitForSelector("#paste-problem li");
    assert.match(await page.textContent("#paste-problem"), /^line 1 `MOST` is not understood/);
    await paste(page, "just words");
    await page.waitForFunction(() => /^No policy of this/.test(document.querySelector("#paste-problem").textContent));
    assert.deepEqual(faults(), []);
    await close();
  },

  async "the findings of a file are those of the command line"() {
    const { page, faults, close } = await stormed();
    for (const name of ["istio.yaml", "appsettings.json"]) {
      const found = spawnSync(process.env.HOLDOFF, ["scan", "--json", name], { cwd: here(""), encoding: "utf8" });
      const expected = JSON.parse(found.stdout).map(
        ({ code, name, message, line }) => `${line} ${code} ${name} ${message}`,
      );
      assert.ok(expected.length > 0, found.stderr);
      await page.evaluate(
        ([name, text]) => {
          const files = new DataTransfer();
          files.items.add(new File([text], name));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true, bubbles: true }));
        },
        [name, readFileSync(here(name), "utf8")],
      );
      await page.waitForFunction(
        (count) => document.querySelectorAll(".findings li").length === count,
        expected.length,
      );
      const shown = await page.$$eval(".findings li", (all) => all.map(({ textContent }) => textContent));
      expected.forEach((finding, at) => {
        const [line, code, word, ...message] = finding.split(" ");
        for (const part of [`line ${line} `, `${code} ${word} `, message.join(" ")]) {
          assert.ok(shown[at].includes(part), `${shown[at]}\n${finding}`);
        }
      });
      const several = await page.locator("#paste-policy option").count();
      if (several > 1) {
        const before = await page.inputValue("#policy-A");
        await page.selectOption("#paste-policy", "1");
        assert.notEqual(await page.inputValue("#policy-A"), before);
      }
    }
    assert.deepEqual(faults(), []);
    await close();
  },

  async "a link is copied, and opens running"() {
    const { page, faults, close } = await stormed({ permissions: ["clipboard-read", "clipboard-write"] });
    await setPolicy(page, "A", '{ "attempts": 8 }');
    await page.focus("#copy-link");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /The link is copied/.test(document.querySelector("#status").textContent));
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await page.evaluate(() => location.href));
    assert.deepEqual(faults(), []);
    await close();
    const again = await stormed({ fragment: new URL(copied).hash });
    assert.equal(await again.page.inputValue("#policy-A"), '{ "attempts": 8 }');
    assert.match((await captions(again.page))[0], /attempts a call/);
    await again.close();
  },

  async "no two elements have the same id, and there is a way back"() {
    const { page, close } = await stormed();
    await page.click("#record");
    const twice = await page.$$eval("[id]", (all) =>
      all.map(({ id }) => id).filter((id, at, ids) => ids.indexOf(id) < at),
    );
    assert.deepEqual(twice, []);
    assert.match(await page.getAttribute("#home", "href"), /^https:/);
    await close();
  },

  async "sliders of guards change the document, and the drawing follows"() {
    const { page, faults, close } = await stormed();
    await page.locator("#scenario-clients").fill("500");
    await storm(page);
    const load = () => page.textContent('#figures tr:has(th:text-is("attempts a call")) td');
    const before = await load();
    await page.locator('[aria-label="Retries for each call of policy A"]').fill("0.2");
    assert.deepEqual(JSON.parse(await page.inputValue("#policy-A")).budget, { kind: "ratio", ratio: 0.2 });
    await page.waitForFunction((before) => {
      const rows = [...document.querySelectorAll("#figures tr")];
      const row = rows.find((row) => row.firstChild.textContent === "attempts a call");
      return row.children[1].textContent !== before;
    }, before);
    assert.ok(Number(await load()) < 1.3, `${await load()} attempts a call`);
    await page.locator("#scenario-lasts").fill("10");
    await page.waitForFunction(() => document.querySelectorAll("#seconds tbody tr").length === 80);
    assert.deepEqual(faults(), []);
    await close();
  },

  async "a megabyte is refused in words, and a guard that the simulator lacks too"() {
    const { page, faults, close } = await ready({ permissions: ["clipboard-read", "clipboard-write"] });
    const started = Date.now();
    await setPolicy(page, "A", `{"attempts": "${"x".repeat(1_000_000)}"}`);
    await page.waitForFunction(() =>
      /has 1,000,\d+ characters/.test(document.querySelector("#policy-A-problem").textContent),
    );
    assert.ok(Date.now() - started < 5000);
    await page.focus("#log");
    await page.evaluate((text) => navigator.clipboard.writeText(text), "x\n".repeat(600_000));
    await page.keyboard.press("Control+V");
    await page.waitForFunction(() =>
      /1,200,000 characters; at most/.test(document.querySelector("#log-problem").textContent),
    );
    assert.equal(await page.inputValue("#log"), "");
    await page.evaluate((text) => navigator.clipboard.writeText(text), "x\n".repeat(100_000));
    await page.keyboard.press("Control+V");
    await page.waitForFunction(() => /100,000 lines; at most/.test(document.querySelector("#log-problem").textContent));
    assert.equal(await page.inputValue("#log"), "");
    const rows = { name: "rows.log", mimeType: "text/plain", buffer: Buffer.from("{}\n".repeat(60_000)) };
    await page.setInputFiles("#log-file", rows);
    await page.waitForFunction(() => /60,000 lines; at most/.test(document.querySelector("#log-problem").textContent));
    await setPolicy(page, "A", '{ "bulkhead": 3 }');
    await page.waitForFunction(() =>
      /bulkhead: the simulator does not have/.test(document.querySelector("#summary").textContent),
    );
    assert.deepEqual(faults(), []);
    await close();
  },

  async "a log is replayed, and one of another program is refused in words"() {
    const { page, faults, close } = await ready();
    await page.click("#record");
    await page.waitForSelector("#replayed svg");
    assert.match(await page.textContent("#replayed"), /Policy A makes the same decisions/);
    await setPolicy(page, "A", '{ "attempts": 9 }');
    await page.click("#replay");
    assert.match(await page.textContent("#replayed"), /Policy A is not the policy of this log: event 1/);
    await page.evaluate(
      (lines) => {
        const files = new DataTransfer();
        files.items.add(new File([lines], "call.jsonl"));
        document.querySelector("#replayed").replaceChildren();
        document.querySelector("#log").dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
      },
      await page.inputValue("#log"),
    );
    await page.waitForSelector("#replayed svg");
    await page.setInputFiles("#log-file", {
      name: "access.log",
      mimeType: "text/plain",
      buffer: Buffer.from("GET / 200\n"),
    });
    await page.waitForFunction(() =>
      /^line 1 is no event of a holdoff log/.test(document.querySelector("#log-problem").textContent),
    );
    await page.setInputFiles("#log-file", {
      name: "big.log",
      mimeType: "text/plain",
      buffer: Buffer.alloc(300_000, "x\n"),
    });
    await page.waitForFunction(() =>
      /big\.log has 300,000 bytes/.test(document.querySelector("#log-problem").textContent),
    );
    assert.deepEqual(faults(), []);
    await close();
  },

  async "a link has everything, and an attacker's link does nothing"() {
    const { page, faults, close } = await ready();
    await setPolicy(page, "B", '{ "attempts": 8 }');
    await page.locator("#scenario-lasts").fill("77");
    await page.selectOption("#scenario-fault", "rate-limit");
    await page.click("#copy-link");
    await page.waitForFunction(() => location.hash.length > 10);
    const fragment = await page.evaluate(() => location.hash);
    assert.deepEqual(faults(), []);
    await close();
    const again = await ready({ fragment });
    assert.equal(await again.page.inputValue("#policy-B"), '{ "attempts": 8 }');
    assert.equal(await again.page.inputValue("#scenario-lasts"), "77");
    assert.equal(await again.page.inputValue("#scenario-fault"), "rate-limit");
    assert.deepEqual(again.faults(), []);
    await again.close();
    const link = (value) =>
      `#1${Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")}`;
    const markup = '<img src="https://example.org/x" onerror="document.title=1"><script>document.title=1</script>';
    const attacks = [
      [
        link({
          a: `{"${markup}": 1}`,
          b: markup,
          scenario: { clients: 1e9, fault: markup, ["__proto__"]: { polluted: 1 } },
        }),
        /read from the link/,
      ],
      [link('{"a":"{}","b":"{}","scenario":{"__proto__":{"polluted":1}}}'), /read from the link/],
      [link("null"), /has no two policies/],
      [link("{"), /cut off or changed/],
      ["#1!!", /none that this page writes/],
      ["#javascript:document.title=1", /none that this page writes/],
      [`#1${"A".repeat(30_000)}`, /at most 20000/],
    ];
    for (const [fragment, words] of attacks) {
      const { page, faults, close } = await ready({ fragment });
      assert.match(await page.textContent("#status"), words);
      assert.equal(await page.title(), "holdoff storm lab");
      assert.equal(await page.evaluate(() => ({}).polluted), undefined);
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(Number(await page.inputValue("#scenario-clients")) <= 10_000, true);
      assert.deepEqual(faults(), []);
      await close();
    }
  },

  async "no script but the page's own runs"() {
    const { page, close } = await ready();
    const ran = await page.evaluate(async () => {
      const broken = [];
      addEventListener("securitypolicyviolation", (event) => broken.push(event.effectiveDirective));
      document.body.append(Object.assign(document.createElement("script"), { textContent: "document.title = 'run'" }));
      await fetch("https://example.org/").catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { broken: broken.sort(), title: document.title };
    });
    assert.deepEqual(ran, { broken: ["connect-src", "script-src-elem"], title: "holdoff storm lab" });
    await close();
  },

  async "without WebAssembly, and without workers"() {
    const none = await open({ before: () => delete globalThis.WebAssembly });
    await none.page.waitForFunction(() => document.querySelector("#status").textContent !== "");
    assert.match(await none.page.textContent("#status"), /does not run WebAssembly/);
    await none.close();
    const alone = await stormed({ before: () => delete globalThis.Worker });
    await alone.page.locator("#scenario-clients").fill("1000");
    await storm(alone.page);
    await alone.close();
  },

  async "keyboard, accessibility, and screens"() {
    for (const { name, ...options } of [...SCREENS, { name: "narrow", viewport: { width: 320, height: 640 } }]) {
      const { page, faults, close } = await stormed(options);
      await page.$$eval("details", openAll, false);
      await page.screenshot({ path: join(shots, `${name}.png`) });
      await page.focus(".chip");
      await page.keyboard.press("Enter");
      await storm(page);
      await page.click("#record");
      await setPolicy(page, "B", '{ "atempts": 3 }');
      await page.waitForSelector("#policy-B-problem li");
      await page.$$eval("details", openAll, true);
      // The colours of a drawing that is greyed out are those of something that is disabled.
      await page.waitForSelector("#playback.stale");
      await setPolicy(page, "B", "{}");
      await storm(page);
      assert.deepEqual(await violations(page), [], name);
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(wide, 0, `${name}: the page is ${wide} px too wide`);
      await page.$$eval("details", openAll, false);
      await page.screenshot({ path: join(shots, `${name}-whole.png`), fullPage: true });
      assert.deepEqual(faults(), []);
      await close();
    }
  },
};

await runChecks(CHECKS);
