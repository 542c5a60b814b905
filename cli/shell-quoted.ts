/** Quotes a path as one word of a shell's command line, for printed lines that users paste. */
export function shellQuoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
