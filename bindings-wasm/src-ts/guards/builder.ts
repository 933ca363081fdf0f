/** The fields of guards, written into the builder of any module that has one. */
import { type GuardFields, NUMBER, TEXT, UNITLESS } from "../values.js";

/** The memory of a module with a builder of guards. */
export interface BuilderMemory {
  readonly core: Record<"guards_set" | "guards_start" | "guards_upon", (...numbers: number[]) => number>;
  write(field: "builder", words: Uint32Array): void;
  writeDouble(at: number, value: unknown): void;
  writeName(name: string): number;
  writeText(text: string): number;
  check(length: number, name?: string, value?: unknown, isPath?: boolean): void;
}

/** Writes the fields of guards into the module's builder. Throws a ConfigError about the first field that is wrong. */
export function writeGuardFields(memory: BuilderMemory, guardFields: GuardFields): void {
  if (guardFields instanceof Uint32Array) {
    memory.write("builder", guardFields);
    return;
  }
  memory.core.guards_start();
  let preset: string | undefined;
  for (const { path, value, kind } of guardFields) {
    if (path === "preset") {
      preset = value as string;
      continue;
    }
    if (kind === NUMBER || kind === UNITLESS) memory.writeDouble(0, value);
    const size = kind === TEXT ? memory.writeText(value as string) : 0;
    memory.check(memory.core.guards_set(memory.writeName(path), kind, size), path, value);
  }
  if (preset !== undefined) memory.core.guards_upon(memory.writeName(preset));
}
