/** Names that callers choose and that must fit in a path: ids of documents, names of crons. */

/**
 * No control characters, separators other than the space, unassigned or private ones, lone surrogates or slashes. The two
 * joiners are invisible themselves, but emoji and several scripts are written with them.
 */
const PRINTABLE = /^(?:[ \u200c\u200d]|[^\p{C}\p{Z}/])+$/u;

/** `.` and `..` are none: URL parsers take them out of a path, encoded or not, so nothing of that name could be addressed. */
export function isPrintableName(text: string): boolean {
  return PRINTABLE.test(text) && text !== '.' && text !== '..';
}
