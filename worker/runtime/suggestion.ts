/** "Did you mean": finds the function whose path is closest to a missing one. */
import {SUGGESTION_FUNCTIONS_MAX} from './limits.ts';

/** Maximum number of one-character changes for a path to count as mistyped. */
const CHANGES_MAX = 2;
const PATH_CHARS_MAX = 100;

/** @param paths that the caller can see. @returns null: none is close */
export function suggestion(path: string, paths: readonly string[]): string | null {
  if (path.length > PATH_CHARS_MAX || paths.length > SUGGESTION_FUNCTIONS_MAX) return null;
  let closest: string | null = null;
  let changes = Math.min(CHANGES_MAX, Math.floor(path.length / 3)) + 1;
  for (const candidate of paths) {
    const needed = changesBetween(path, candidate, changes - 1);
    if (needed >= changes) continue;
    changes = needed;
    closest = candidate;
  }
  return closest;
}

/**
 * Number of characters to insert, remove, replace or swap with the next one. @returns more than `most` if there are
 * more
 */
function changesBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let beforeLast: number[] = [];
  let last = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    if (Math.min(...row) > most) return most + 1;
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
