/** Validates names that callers choose and that must fit in a path: ids of documents, names of crons. */

/**
 * No control characters, separators other than the space, unassigned or private characters, lone surrogates or slashes.
 * The two joiners are invisible, but emoji and several scripts need them.
 */
const PRINTABLE = /^(?:[ \u200c\u200d]|[^\p{C}\p{Z}/])+$/u;

/**
 * `.` and `..` are invalid: URL parsers remove them from a path, encoded or not, so nothing with that name could be
 * addressed.
 */
export function isPrintableName(text: string): boolean {
  return PRINTABLE.test(text) && text !== '.' && text !== '..';
}
