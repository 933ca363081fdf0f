// Vitest 2, 3 and 4, whose `test` and `expect` are globals here because nothing but the package is installed.
import { retry } from "holdoff";
import { Guards, Refused } from "holdoff/guards";
import { answers, expected } from "./checks.js";

/** The names to fake: Vitest 2 leaves `performance` out by default, and guards need it to see time pass. */
const { TO_FAKE } = process.env;
const guards = new Guards({ breaker: { failures: 1, openFor: "30s" } });
const down = () => Promise.reject(new Error("down"));

test("every entry answers", async () => {
  expect(await answers()).toEqual(expected);
});

for (const turn of [1, 2]) {
  test(`a breaker closes again on fake clock ${turn}`, async () => {
    vi.useFakeTimers(TO_FAKE ? { toFake: TO_FAKE.split(",") } : undefined);
    await expect(retry(down, { guards, attempts: 1 })).rejects.toThrow("down");
    await expect(retry(down, { guards })).rejects.toBeInstanceOf(Refused);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await retry(() => "up", { guards })).toBe("up");
    vi.useRealTimers();
  });
}

test.each([undefined, { toFake: ["setTimeout", "clearTimeout", "Date"] }])("a sleep ends under %o", async (options) => {
  vi.useFakeTimers(options);
  const third = ({ attempt }) => (attempt < 3 ? down() : attempt);
  const result = retry(third, { backoff: { kind: "constant", delay: "30s" }, jitter: "none" });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await result).toBe(3);
  vi.useRealTimers();
});
