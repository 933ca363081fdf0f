/** The jobs of two workers, and how each of their attempts ends. */

export const policy = { attempts: 5, backoff: { initial: "100ms", max: "400ms" } };
export const COUNT = 24;
/** The attempt in which a worker is killed. */
export const HANGING = { number: 7, attempt: 2 };

/** What the attempts of a job fail with, one after the other; the job after them succeeds. */
export function failuresOf(number) {
  const kinds = [{}, { status: 503 }, { code: "ETIMEDOUT" }];
  return Array.from({ length: number % 6 === 1 ? 2 : number % 6 }, (_, at) => kinds[(number + at) % kinds.length]);
}
