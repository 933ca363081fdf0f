/** Paths of fields in stages and lists: `backoff[1].delays[3]`. */

import { nearest } from "./nearest.js";
import { names } from "./options.js";

/** A name and the index behind it, `delays[3]`. */
function indexed(name: string): [name: string, index: number | undefined] {
  const found = /^(.*)\[(0|[1-9]\d{0,2})\]$/s.exec(name);
  const index = Number(found?.[2]);
  return index < 256 ? [found?.[1] as string, index] : [name, undefined];
}

/** Parts of a name: before and behind the index of a stage, that index, and the index in a list. */
export function partsOf(
  full: string,
): [base: string, behind: string, stage: number | undefined, item: number | undefined] {
  if (!full.includes("[")) return [full, "", undefined, undefined];
  const [name, item] = indexed(full);
  if (item !== undefined && name === "backoff") return [name, "", item, undefined];
  const dot = name.indexOf(".");
  const [before, stage] = indexed(name.slice(0, Math.max(dot, 0)));
  if (before === "backoff" && stage !== undefined) return [before, name.slice(dot), stage, item];
  return [name, "", undefined, item];
}

/** The field of a stage nearest to an unknown one, from its dot on. */
export function nearInStage(behind: string): string | undefined {
  const inner = [...names().keys()].filter((one) => one.startsWith("backoff.")).map((one) => one.slice(8));
  const found = nearest(behind.replace(/^\.+/, ""), inner);
  return found && `backoff.${found}`;
}
