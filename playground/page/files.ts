// Files that a reader drops or opens.
import { LONGEST, tooLong } from "./limits";

/** The text of a file, or why it is not read. */
export async function readFile(file: File): Promise<{ text: string } | string> {
  const shown = (number: number) => number.toLocaleString("en");
  if (file.size > LONGEST) {
    return `${file.name} has ${shown(file.size)} bytes; at most ${shown(LONGEST)} are read.`;
  }
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return tooLong(text) ?? { text };
  } catch {
    return `${file.name} is not text in UTF-8.`;
  }
}
