// The answers of the core, and how it is called.
import * as core from "core";
import { tooLong } from "./limits";

/** A place in a text: the line and the column from 1, and the units of UTF-16 from 0. */
export interface Place {
  line: number;
  column: number;
  start: number;
  end: number;
}

export interface Problem {
  path: string;
  message: string;
  place: Place | null;
}

/** A finding as `holdoff scan --json` prints it, with its place. */
export interface Finding {
  policy: string;
  severity: "error" | "warning" | "note";
  code: number;
  name: string;
  message: string;
  effect: string;
  path: string;
  line: number | null;
  column: number | null;
  place: Place | null;
  page: string;
}

export interface Look {
  policies: { form: string; name: string; document: string }[];
  findings: Finding[];
  notes: string[];
}

export interface DelayRow {
  retry: number;
  min: number;
  typical: number;
  max: number;
  typical_total: number;
  max_total: number;
  in_time: "always" | "sometimes" | "never";
}

export interface Explained {
  text: string;
  document: string;
  rows: DelayRow[];
  deadline: number | null;
  more: number | null;
}

export interface Figures {
  calls: number;
  attempts: number;
  load: number;
  load_in_fault: number;
  load_at_worst: number;
  success: number;
  success_in_fault: number;
  back: number | null;
  p99: number;
  wasted: number;
}

export interface Outcome {
  figures: Figures;
  capacity: number;
  fault: [number, number];
  calls: number[];
  attempts: number[];
  goodput: number[];
  cut: boolean;
}

/** A policy document and the numbers of a scenario, both as JSON text. */
export interface Run {
  policy: string;
  scenario: string;
}

export interface LogEvent {
  sequence: number;
  kind: string;
  attempt: number;
  at: number;
  until: number | null;
  text: string;
}

export interface Replayed {
  events: LogEvent[];
  difference: string | null;
}

export interface Choices {
  presets: string[];
  words: [string, string[]][];
}

export type Answer<T> = { ok: T } | { problems: Problem[] };

function ask<T>(call: (...texts: string[]) => string, ...texts: string[]): Answer<T> {
  const message = texts.map(tooLong).find((problem) => problem !== undefined);
  if (message !== undefined) return { problems: [{ path: "", message, place: null }] };
  return JSON.parse(call(...texts)) as Answer<T>;
}

export const explain = (document: string): Answer<Explained> => ask(core.explain, document);
export const look = (name: string, text: string): Answer<Look> => ask(core.look, name, text);
export const simulate = (run: Run): Answer<Outcome> => ask(core.simulate, run.policy, run.scenario);
export const replay = (document: string, log: string): Answer<Replayed> => ask(core.replay, document, log);
export const record = (document: string): Answer<string> => ask(core.record, document);
export const choices = (): Answer<Choices> => ask(core.choices);
