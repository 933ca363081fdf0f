// Opens the lab from disk in a real browser: numbers, bad input, links, accessibility, small and dark screens.
//
// `node test/check.mjs <page> <run.json> <outcome.json> <folder for screenshots>`; the outcome is that of the program.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, runChecks, violations } from "./browser.mjs";

const [, , file, runFile, outcomeFile, shots] = process.argv;
const url = pathToFileURL(file).href;
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

/** Runs both policies, and waits for the drawing. */
async function storm(page) {
  await page.click("#run");
  await page.waitForFunction(() => /attempts a call/.test(document.querySelector("#summary").textContent));
}

const openAll = (all, open) => {
  for (const details of all) details.open = open;
};
const setPolicy = (page, name, text) => page.fill(`#policy-${name}`, text);
const problem = (page, name) => page.textContent(`#policy-${name}-problem`);

const CHECKS = {
  async "the numbers are those of the program"() {
    const { page, faults, close } = await ready({ reducedMotion: "reduce" });
    await setPolicy(page, "A", JSON.stringify(run.policy));
    const { clients, rate, lasts, after } = run.scenario;
    for (const [name, value] of Object.entries({ clients, rate, lasts, after })) {
      await page.locator(`#${name}`).fill(String(value));
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
    const { page, close } = await ready({ reducedMotion: "reduce" });
    const session = await browser.newBrowserCDPSession();
    /** Processor seconds of all pages: a busy machine does not lengthen them as it does the time. */
    const used = async () => {
      const { processInfo } = await session.send("SystemInfo.getProcessInfo");
      return processInfo.filter(({ type }) => type === "renderer").reduce((sum, { cpuTime }) => sum + cpuTime, 0);
    };
    const before = await used();
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
    assert.match(
      await problem(page, "A"),
      /^atempts = 4: is not a field of a policy; did you mean "attempts"\? Go to line 2$/,
    );
    assert.equal(await page.isDisabled("#run"), true);
    await setPolicy(page, "A", '{ "backoff": { "max": 5 } }');
    await page.waitForSelector('#policy-A-backoff-max[aria-invalid="true"]');
    assert.match(await problem(page, "A"), /^backoff\.max = 5: must be a time/);
    await page.selectOption("#policy-A-preset", "resilience4j");
    await page.fill("#policy-A-backoff-max", "");
    await page.press("#policy-A-backoff-max", "Tab");
    await page.waitForFunction(() => document.querySelector("#policy-A-problem").textContent === "");
    await setPolicy(page, "A", "{ oops");
    await page.waitForFunction(() => /must be JSON text/.test(document.querySelector("#policy-A-problem").textContent));
    assert.deepEqual(faults(), []);
    await close();
  },

  async "sliders of guards change the document, and the drawing follows after the first run"() {
    const { page, faults, close } = await ready({ reducedMotion: "reduce" });
    await page.locator("#clients").fill("500");
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
    await page.locator("#lasts").fill("10");
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
    await page.waitForSelector("#run:not([disabled])");
    await page.click("#run");
    await page.waitForFunction(() =>
      /bulkhead: the simulator does not have/.test(document.querySelector("#summary").textContent),
    );
    assert.deepEqual(faults(), []);
    await close();
  },

  async "a policy of another system is imported"() {
    const { page, faults, close } = await ready();
    await page.click(".policy:first-child > details:has(select) > summary");
    await page.selectOption("#policy-A-form", "resilience4j");
    await page.fill("#policy-A-foreign", '{ "maxAttempts": 6, "waitDuration": "250ms" }');
    await page.click(".policy:first-child button:text-is('Import')");
    assert.equal(JSON.parse(await page.inputValue("#policy-A")).attempts, 6);
    await page.fill("#policy-A-foreign", '{ "maxAttempt": 6 }');
    await page.click(".policy:first-child button:text-is('Import')");
    assert.match(await page.textContent("#policy-A-foreign-problem"), /maxAttempt.*did you mean "maxAttempts"/);
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
    await page.locator("#lasts").fill("77");
    await page.selectOption("#fault", "rate-limit");
    await page.click("#share");
    await page.waitForFunction(() => location.hash.length > 10);
    const fragment = await page.evaluate(() => location.hash);
    assert.deepEqual(faults(), []);
    await close();
    const again = await ready({ fragment });
    assert.equal(await again.page.inputValue("#policy-B"), '{ "attempts": 8 }');
    assert.equal(await again.page.inputValue("#lasts"), "77");
    assert.equal(await again.page.inputValue("#fault"), "rate-limit");
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
      assert.equal(Number(await page.inputValue("#clients")) <= 10_000, true);
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
    const alone = await ready({ before: () => delete globalThis.Worker, reducedMotion: "reduce" });
    await alone.page.locator("#clients").fill("1000");
    await storm(alone.page);
    await alone.close();
  },

  async "keyboard, accessibility, and screens"() {
    for (const [name, options] of Object.entries({
      light: { viewport: { width: 1280, height: 900 } },
      dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
      narrow: { viewport: { width: 320, height: 640 } },
    })) {
      const { page, faults, close } = await ready({ reducedMotion: "reduce", ...options });
      await page.locator("#clients").fill("2000");
      await page.focus("#run");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => /attempts a call/.test(document.querySelector("#summary").textContent));
      await page.click("#record");
      await page.$$eval("details", openAll, true);
      assert.deepEqual(await violations(page), [], name);
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(wide, 0, `${name}: the page is ${wide} px too wide`);
      await page.$$eval("details", openAll, false);
      await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
      assert.deepEqual(faults(), []);
      await close();
    }
  },
};

await runChecks(CHECKS);
