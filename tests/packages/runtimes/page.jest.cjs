// Jest with jsdom, which has neither a TextDecoder nor a TextEncoder, once with real and once with fake timers.
const { retry } = require("holdoff");
const { Guards, Refused } = require("holdoff/guards");
const { Gates, Recorder, explain } = require("holdoff/tools");
const { Policy } = require("holdoff");

const third = ({ attempt }) => (attempt < 3 ? Promise.reject(new Error("busy")) : attempt);

test("a page retries", async () => {
  expect(typeof window).toBe("object");
  expect(typeof TextDecoder).toBe("undefined");
  expect(await retry(third, { backoff: { initial: 1 } })).toBe(3);
});

test("a page retries on a fake clock", async () => {
  jest.useFakeTimers();
  const result = retry(third, { backoff: { initial: "1h", max: "none" }, attempts: 5 });
  await jest.advanceTimersByTimeAsync(86_400_000);
  expect(await result).toBe(3);
  jest.useRealTimers();
});

const guards = new Guards({ breaker: { failures: 1, openFor: "30s" } });

test.each([1, 2])("a breaker closes again on fake clock %i", async () => {
  jest.useFakeTimers();
  const down = () => Promise.reject(new Error("down"));
  await expect(retry(down, { guards, attempts: 1 })).rejects.toThrow("down");
  await expect(retry(down, { guards })).rejects.toBeInstanceOf(Refused);
  await jest.advanceTimersByTimeAsync(30_000);
  expect(await retry(() => "up", { guards })).toBe("up");
  jest.useRealTimers();
});

test("tools code their texts by themselves", () => {
  expect(String(explain({ attempts: 2 }))).toMatch(/^2 attempts/m);
  expect(new Gates({ initial: "1s" }).failure("größer", 0)).toBe(1_000_000_000);
  const [, { events }] = Recorder.begin(new Policy(), 7n, 0n, { task: "größer ✗ 😀 \ud83d" });
  expect(events[0].payload.taskId).toBe("größer ✗ 😀 \ufffd");
  expect(() => explain({ atempts: 2 })).toThrow(/did you mean "attempts"/);
});
