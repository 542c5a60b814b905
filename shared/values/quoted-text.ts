/**
 * Writes a text as JSON. Most short texts (ids, names, parts of paths) need no escape, and checking each of their
 * characters costs less than a call into the engine.
 */
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const TILDE = 0x7e;

export function quotedText(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < SPACE || unit > TILDE || unit === QUOTE || unit === BACKSLASH) return JSON.stringify(text);
  }
  return `"${text}"`;
}
