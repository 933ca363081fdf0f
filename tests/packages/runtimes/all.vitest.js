// Vitest, whose `test` and `expect` are globals here because nothing but the package is installed.
import { retry } from "holdoff";
import { Guards, Refused } from "holdoff/guards";
import { answers, expected } from "./checks.js";

const guards = new Guards({ breaker: { failures: 1, openFor: "30s" } });
const down = () => Promise.reject(new Error("down"));

test("every entry answers", async () => {
  expect(await answers()).toEqual(expected);
});

for (const turn of [1, 2]) {
  test(`a breaker closes again on fake clock ${turn}`, async () => {
    vi.useFakeTimers();
    await expect(retry(down, { guards, attempts: 1 })).rejects.toThrow("down");
    await expect(retry(down, { guards })).rejects.toBeInstanceOf(Refused);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await retry(() => "up", { guards })).toBe("up");
    vi.useRealTimers();
  });
}

test("a sleep ends with its timer where the clock is not fake, as in Vitest 2", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const third = ({ attempt }) => (attempt < 3 ? down() : attempt);
  const result = retry(third, { backoff: { kind: "constant", delay: "30s" }, jitter: "none" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await result).toBe(3);
  vi.useRealTimers();
});
