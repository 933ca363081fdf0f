/**
 * A job's log of events, in its log of lines: the only part of a BullMQ job that is appended to, is nobody's field (data and
 * progress are the program's, and are written as a whole), stays through retries, stalls and restarts, and goes with the job.
 * People see it where they see the job's other lines.
 */

import { ReplayError } from "../log/error.js";
import type { Event } from "../log/event.js";
import { Event as Events } from "../log/event.js";

/** What reads a job's lines: its `Queue`. */
export interface JobLogs {
  getJobLogs(jobId: string, start?: number, end?: number, asc?: boolean): Promise<{ readonly logs: readonly string[] }>;
}

/** As much of a job as is needed here. */
export interface Logged {
  readonly id?: string | undefined;
  /** How often a worker has taken it: what tells their lines apart. */
  readonly attemptsStarted: number;
  log(line: string): Promise<unknown>;
}

/** What is known of a job's call. */
export interface Past {
  readonly events: readonly Event[];
  /** How often the attempt in flight ended by moving the job itself, which is no interruption. */
  readonly moved: number;
}

const LINE = /^holdoff (\d+) (?:(moved)|(\{.*\}))$/s;
const NOTHING: Past = { events: [], moved: 0 };

/** Reads the events of the job's latest call. */
export async function readPast(job: Logged, logs: JobLogs): Promise<Past> {
  // The first worker that takes it has nothing to read.
  if (job.attemptsStarted === 1 || job.id === undefined) return NOTHING;
  const { logs: lines } = await logs.getJobLogs(job.id);
  return pastOf(lines);
}

/**
 * The events among the lines. A worker that lost the job and does not know it may still write: from the first line of the next
 * one on its lines do not count, nor what it wrote that the next one had not read.
 */
export function pastOf(lines: readonly string[]): Past {
  let events: Event[] = [];
  let moved = 0;
  let run = 0;
  for (const line of lines) {
    const [, number, isMove, json] = LINE.exec(line) ?? [];
    const own = Number(number);
    const event = json === undefined ? undefined : eventOf(json);
    const begins = event?.type === "STARTED";
    // A job that a person retries may be counted from 1 again.
    if (number === undefined || (own < run && !begins)) continue;
    if (isMove) {
      moved++;
    } else if (event) {
      if (begins) events = [];
      else if (own > run) events = events.filter(({ sequence }) => sequence < event.sequence);
      if (event.type === "STARTED" || event.type === "ATTEMPT_FAILED") moved = 0;
      events.push(event);
    }
    run = own;
  }
  return { events, moved };
}

function eventOf(json: string): Event | undefined {
  try {
    return Events.fromJson(json);
  } catch (error) {
    if (error instanceof ReplayError) return undefined;
    throw error;
  }
}

/** Writes events down, one a line. */
export async function write(job: Logged, events: readonly Event[]): Promise<void> {
  for (const event of events) await job.log(`holdoff ${job.attemptsStarted} ${JSON.stringify(event)}`);
}

/** Writes down that the attempt moved the job itself. */
export const writeMove = (job: Logged): Promise<unknown> => job.log(`holdoff ${job.attemptsStarted} moved`);
