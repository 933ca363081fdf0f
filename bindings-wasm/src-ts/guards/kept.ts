/** From fields to what the core makes of them, in whichever module has a builder of guards. */
import { type Kept, NUMBER, TEXT, UNITLESS } from "../values.js";

/** A desk with a builder on it. */
export interface BuilderDesk {
  readonly core: Record<"guards_set" | "guards_start" | "guards_upon", (...numbers: number[]) => number>;
  lay(field: "builder", words: Uint32Array): void;
  giveDouble(at: number, value: unknown): void;
  writeName(name: string): number;
  writeText(text: string): number;
  check(length: number, name?: string, value?: unknown, isPath?: boolean): void;
}

/** Makes the builder of a desk say what the fields say. Throws a ConfigError about the first that it cannot take. */
export function layKept(desk: BuilderDesk, kept: Kept): void {
  if (kept instanceof Uint32Array) {
    desk.lay("builder", kept);
    return;
  }
  desk.core.guards_start();
  let preset: string | undefined;
  for (const { path, value, kind } of kept) {
    if (path === "preset") {
      preset = value as string;
      continue;
    }
    if (kind === NUMBER || kind === UNITLESS) desk.giveDouble(0, value);
    const size = kind === TEXT ? desk.writeText(value as string) : 0;
    desk.check(desk.core.guards_set(desk.writeName(path), kind, size), path, value);
  }
  if (preset !== undefined) desk.core.guards_upon(desk.writeName(preset));
}
