// The answers of the core, and how it is called.
import * as core from "core";
import { tooLong } from "./limits";

export interface Problem {
  path: string;
  message: string;
  nearest: string | null;
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
  systems: string[];
  words: [string, string[]][];
}

export type Answer<T> = { ok: T } | { problem: Problem };

function ask<T>(call: (...texts: string[]) => string, ...texts: string[]): Answer<T> {
  const message = texts.map(tooLong).find((problem) => problem !== undefined);
  if (message !== undefined) return { problem: { path: "", message, nearest: null } };
  return JSON.parse(call(...texts)) as Answer<T>;
}

export const explain = (document: string): Answer<Explained> => ask(core.explain, document);
export const importPolicy = (form: string, text: string): Answer<object> => ask(core.importPolicy, form, text);
export const simulate = (run: string): Answer<Outcome> => ask(core.simulate, run);
export const replay = (document: string, log: string): Answer<Replayed> => ask(core.replay, document, log);
export const record = (document: string): Answer<string> => ask(core.record, document);
export const choices = (): Answer<Choices> => ask(core.choices);
