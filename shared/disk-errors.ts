/** What an error of the file system says about the disk. */

export function isNoSpace(caught: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(caught));
}

function codeOf(caught: unknown): string {
  return String((caught as {code?: unknown}).code);
}
