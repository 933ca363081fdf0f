/**
 * The events of a job, kept as lines of the job's log. BullMQ appends to a log, keeps it through retries, stalls and restarts, and
 * removes it with the job. `data` and `progress` belong to the program and are overwritten as a whole.
 */
import { Event, ReplayError } from "holdoff/tools";

/** Reads the log of a job: its `Queue`. */
export interface JobLogs {
  getJobLogs(jobId: string, start?: number, end?: number, asc?: boolean): Promise<{ readonly logs: readonly string[] }>;
}

/** The part of a BullMQ job that a history needs. */
export interface LoggedJob {
  readonly id?: string | undefined;
  /** How often a worker has taken the job: tells the lines of one worker from those of another. */
  readonly attemptsStarted: number;
  log(line: string): Promise<unknown>;
}

/** The events of a job's latest call. */
export interface History {
  readonly events: readonly Event[];
  /** How often the attempt in flight ended by moving the job itself, which is no interruption. */
  readonly moves: number;
}

const LINE = /^holdoff (\d+) (?:(moved)|(\{.*\}))$/s;

/** Reads the events of the job's latest call. */
export async function readHistory(job: LoggedJob, queue: JobLogs): Promise<History> {
  // The first worker that takes a job finds no log.
  if (job.attemptsStarted === 1 || job.id === undefined) return { events: [], moves: 0 };
  const { logs } = await queue.getJobLogs(job.id);
  return parseHistory(logs);
}

/**
 * A worker that has lost its job may go on writing. Its lines are ignored from the first line of the next worker on, and so are
 * its earlier lines that the next worker had not read.
 */
function parseHistory(lines: readonly string[]): History {
  let events: Event[] = [];
  let moves = 0;
  let latestRun = 0;
  for (const line of lines) {
    const [, number, isMove, json] = LINE.exec(line) ?? [];
    const run = Number(number);
    const event = json === undefined ? undefined : parseEvent(json);
    const begins = event?.type === "STARTED";
    // BullMQ may count from 1 again when a person retries a job.
    if (number === undefined || (run < latestRun && !begins)) continue;
    if (isMove) {
      moves++;
    } else if (event) {
      if (begins) events = [];
      else if (run > latestRun) events = events.filter(({ sequence }) => sequence < event.sequence);
      if (begins || event.type === "ATTEMPT_FAILED") moves = 0;
      events.push(event);
    }
    latestRun = run;
  }
  return { events, moves };
}

function parseEvent(json: string): Event | undefined {
  try {
    return Event.fromJson(json);
  } catch (error) {
    if (error instanceof ReplayError) return undefined;
    throw error;
  }
}

/** Appends events to the job's log, one a line. */
export async function writeEvents(job: LoggedJob, events: readonly Event[]): Promise<void> {
  for (const event of events) await job.log(`holdoff ${job.attemptsStarted} ${JSON.stringify(event)}`);
}

/** Appends that the attempt moved the job itself. */
export const writeMove = (job: LoggedJob): Promise<unknown> => job.log(`holdoff ${job.attemptsStarted} moved`);
