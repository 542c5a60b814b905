/**
 * Makes untrusted text safe for a terminal. Users choose what functions log, fail with and store, and operators read
 * it. A control character in it must not move their cursor, retitle their window or hide a line, so it is shown as an
 * escape.
 */

/** C0 except tab and line feed, DEL, C1, and characters that reorder the text around them. */
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** ESC becomes `\x1b`. */
export function printable(text: string): string {
  return text.replace(CONTROL, character => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/** JSON text with the same value: control characters can only occur inside its strings. */
export function printableJson(json: string): string {
  return json.replace(CONTROL, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
