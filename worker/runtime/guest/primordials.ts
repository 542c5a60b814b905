/**
 * Built-ins saved before any user code runs: the kernel must not process text with built-ins that user code has
 * changed.
 */
export const slice = Function.prototype.call.bind(String.prototype.slice) as (
  text: string,
  from: number,
  to: number,
) => string;

/** The first characters of a text. */
export function cut(text: string, chars: number): string {
  return text.length <= chars ? text : slice(text, 0, chars);
}
