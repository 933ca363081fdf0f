// A link that has the policies and the scenario. It is data that a stranger may have made: it is parsed and shown as text, never
// run, and the core reads the policies as strictly as any others.
import type { Scenario } from "./scenario";

export interface Shared {
  a: string;
  b: string;
  scenario: Scenario;
}

/** The longest fragment that is written or read, in characters. */
const LONGEST = 20_000;

export function write(shared: Shared): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const fragment = `#1${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  return fragment.length > LONGEST ? undefined : fragment;
}

/** Reads a fragment; throws an error for a person. */
export function read(fragment: string): Shared {
  if (fragment.length > LONGEST) throw new Error(`it has ${fragment.length} characters; at most ${LONGEST} are read`);
  if (!/^#1[\w-]*$/.test(fragment)) throw new Error("it is none that this page writes");
  let shared: Partial<Record<keyof Shared, unknown>> | null;
  try {
    const bytes = atob(fragment.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    shared = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
  } catch {
    throw new Error("it is cut off or changed");
  }
  const { a, b, scenario } = shared ?? {};
  if (typeof a !== "string" || typeof b !== "string" || typeof scenario !== "object" || scenario === null) {
    throw new Error("it has no two policies and no scenario");
  }
  return { a, b, scenario: scenario as Scenario };
}
