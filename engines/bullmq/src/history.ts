/**
 * The events of a job, each in a field of its own of the hash that BullMQ has for the job in Redis. BullMQ leaves such fields alone and
 * removes them with the job. Text that a job logs, its `data` and its `progress` are elsewhere: they may come from a stranger.
 */
import { Event, ReplayError } from "holdoff/tools";

/** The part of a BullMQ `Queue` that histories need. */
export interface JobStore {
  toKey(jobId: string): string;
  readonly client: Promise<{
    hgetall(key: string): Promise<Record<string, string>>;
    hset(key: string, fields: Record<string, string>): Promise<unknown>;
  }>;
}

/** The part of a BullMQ job that a history needs. */
export interface StoredJob {
  readonly id?: string | undefined;
  /** How often a worker has taken the job: tells the events of one worker from those of another. */
  readonly attemptsStarted: number;
}

/** The events of a job's latest call. */
export interface History {
  readonly events: readonly Event[];
  /** How often the attempt in flight ended by moving the job itself, which is no interruption. */
  readonly moves: number;
  /** How many interruptions of the attempt in flight do not count against its reruns. */
  readonly excused: number;
  /** The number of the call. A person who retries a job begins another one. */
  readonly call: number;
}

/** `holdoff:CALL:RUN:SEQUENCE`, or a mark for the sequence. */
const FIELD = /^holdoff:(\d{1,15}):(\d{1,15}):(\d{1,15}|moved|excused)$/;

/**
 * Reads the events of the job's latest call. A worker that has lost its job may go on writing: its events are ignored from the
 * first one that the next worker wrote under the same number.
 */
export async function readHistory(job: StoredJob, store: JobStore): Promise<History> {
  const fields = job.id === undefined ? {} : await (await store.client).hgetall(store.toKey(job.id));
  const found = Object.entries(fields).flatMap(([field, json]) => {
    const [, call, run, place] = FIELD.exec(field) ?? [];
    const mark = place === "moved" || place === "excused" ? place : undefined;
    const event = mark ? undefined : parseEvent(json);
    if (call === undefined || (mark === undefined && event === undefined)) return [];
    // That a run is excused comes before its events: an attempt that failed in it needs no excuse.
    const sequence = event?.sequence ?? (mark === "excused" ? -1 : Infinity);
    return [{ call: Number(call), run: Number(run), sequence, mark, event }];
  });
  const call = found.reduce((latest, entry) => Math.max(latest, entry.call), 0);
  const entries = found.filter((entry) => entry.call === call);
  entries.sort((one, other) => one.run - other.run || one.sequence - other.sequence);
  let events: Event[] = [];
  let moves = 0;
  let excused = 0;
  let latestRun = 0;
  for (const { run, mark, event } of entries) {
    if (mark === "excused") {
      excused++;
      continue;
    }
    if (event === undefined) {
      moves++;
    } else {
      if (run > latestRun) events = events.filter(({ sequence }) => sequence < event.sequence);
      if (event.type === "STARTED" || event.type === "ATTEMPT_FAILED") moves = 0;
      if (event.type === "ATTEMPT_FAILED") excused = 0;
      events.push(event);
    }
    latestRun = run;
  }
  return { events, moves, excused, call };
}

function parseEvent(json: string): Event | undefined {
  try {
    return Event.fromJson(json);
  } catch (error) {
    if (error instanceof ReplayError) return undefined;
    throw error;
  }
}

async function write(job: StoredJob, store: JobStore, fields: Record<string, string>): Promise<void> {
  if (job.id !== undefined) await (await store.client).hset(store.toKey(job.id), fields);
}

/** Adds events of a call to the job. */
export async function writeEvents(
  job: StoredJob,
  store: JobStore,
  call: number,
  events: readonly Event[],
): Promise<void> {
  const name = `holdoff:${call}:${job.attemptsStarted}`;
  if (events.length === 0) return;
  await write(
    job,
    store,
    Object.fromEntries(events.map((event) => [`${name}:${event.sequence}`, JSON.stringify(event)])),
  );
}

/** Adds that the attempt moved the job itself (`moved`), or that its interruption does not count against its reruns (`excused`). */
export const writeMark = (job: StoredJob, store: JobStore, call: number, mark: "moved" | "excused"): Promise<void> =>
  write(job, store, { [`holdoff:${call}:${job.attemptsStarted}:${mark}`]: "" });
