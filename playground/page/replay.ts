// The log of a call, drawn on a line of time.
import { type LogEvent, type Replayed, record, replay } from "./answers";
import { byId, drawingWidth, html, refuseLong, scrolling, svg, table, time } from "./dom";
import { readFile } from "./files";

const LINE = 22;

function drawing(events: LogEvent[]): SVGElement {
  const whole = drawingWidth();
  const drawn = events.slice(0, 60);
  const end = Math.max(...drawn.map(({ at, until }) => until ?? at), 1);
  const x = (millis: number) => 70 + ((whole - 90) * millis) / end;
  const height = drawn.length * LINE + 8;
  const label = `${events.length} events in ${time(end)}`;
  const picture = svg("svg", { viewBox: `0 0 ${whole} ${height}`, role: "img", "aria-label": label });
  drawn.forEach(({ at, until, kind, sequence }, index) => {
    const y = index * LINE + 4;
    if (until !== null)
      picture.append(svg("rect", { class: "range", x: x(at), y, width: Math.max(x(until) - x(at), 2), height: 16 }));
    const right = x(at) > whole / 2;
    picture.append(
      svg("text", { x: 0, y: y + 13 }, `event ${sequence}`),
      svg("rect", { class: "tick", x: x(at) - 2, y, width: 4, height: 16 }),
      svg(
        "text",
        { x: x(at) + (right ? -6 : 6), y: y + 13, "text-anchor": right ? "end" : "start" },
        kind.toLowerCase().replaceAll("_", " "),
      ),
    );
  });
  return picture;
}

function show({ events, difference }: Replayed): HTMLElement[] {
  const verdict = difference
    ? `Policy A is not the policy of this log: ${difference}`
    : "Policy A makes the same decisions as this log.";
  const rows = events
    .slice(0, 1000)
    .map(({ sequence, at, text }) => [String(sequence), time(at), text.replace(/^event \d+: /, "")]);
  const rest = events.length > rows.length ? ` The table has the first ${rows.length}.` : "";
  return [
    html("p", { role: "status" }, `${events.length} events. ${verdict}${rest}`),
    html("figure", {}, drawing(events)),
    scrolling("The events", "scroll events", table("Events", ["event", "after", "what"], rows)),
  ];
}

export function replays(policy: () => string): void {
  const [text, problem] = [byId<HTMLTextAreaElement>("log"), byId("log-problem")];
  const fail = (message: string) => {
    problem.textContent = message;
    text.setAttribute("aria-invalid", String(message !== ""));
  };
  refuseLong(text, fail);
  const run = () => {
    const answer = replay(policy(), text.value);
    fail("problems" in answer ? answer.problems[0].message : "");
    byId("replayed").replaceChildren(...("ok" in answer ? show(answer.ok) : []));
  };
  const open = async (file: File | undefined) => {
    if (!file) return;
    const read = await readFile(file);
    if (typeof read === "string") return fail(read);
    text.value = read.text;
    run();
  };
  byId("replay").addEventListener("click", run);
  byId("record").addEventListener("click", () => {
    const answer = record(policy());
    if ("problems" in answer) return fail(`Policy A: ${answer.problems[0].message}`);
    text.value = answer.ok;
    run();
  });
  const picker = byId<HTMLInputElement>("log-file");
  picker.addEventListener("change", () => open(picker.files?.[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    text.addEventListener(name, (event) => {
      event.preventDefault();
      text.classList.toggle("dropping", name === "dragover");
      if (name === "drop") void open((event as DragEvent).dataTransfer?.files[0]);
    });
  }
}
