/** `paginate` over a sorted array, by the rules of the function platform: ends are pinned by the journal, cursors name a place. */
import type {PaginationOptions, PaginationResult} from '../../sdk/server/index.ts';
import type {QueryCall} from './simulated-deployment.ts';

export type Item = {key: number};

const END = 'end';
const placeOf = (cursor: string): number => (cursor === END ? Number.POSITIVE_INFINITY : Number(cursor.slice(1)));
const cursorAt = (key: number): string => `k${key}`;

/** @param rowsMax a page reads so many at most, unless its end is given */
export function simulatedPage<T extends Item>(
  items: readonly T[],
  {args, journal, setJournal}: Pick<QueryCall<unknown>, 'args' | 'journal' | 'setJournal'>,
  rowsMax = Number.POSITIVE_INFINITY,
): PaginationResult<T> {
  const {cursor, endCursor, numItems} = args.paginationOpts as PaginationOptions;
  for (const given of [cursor, endCursor, journal]) {
    if (given !== null && given !== undefined && !/^(?:end|k-?[\d.]+)$/.test(given)) {
      throw new Error('Uncaught Error: InvalidCursor: the cursor cannot be used here');
    }
  }
  const from = cursor === null ? Number.NEGATIVE_INFINITY : placeOf(cursor);
  const end = endCursor ?? journal;
  const after = [...items].sort((a, b) => a.key - b.key).filter(({key}) => key > from);
  const page =
    end === undefined ? after.slice(0, Math.min(numItems, rowsMax)) : after.filter(({key}) => key <= placeOf(end));
  const wasCut = end === undefined && page.length < Math.min(numItems, after.length);
  const ranOff = end === undefined ? page.length < numItems && !wasCut : end === END;
  const last = page.at(-1)?.key;
  const continueCursor = end ?? (ranOff ? END : last === undefined ? (cursor ?? END) : cursorAt(last));
  setJournal(continueCursor);
  const middle = page.length <= 2 ? null : cursorAt(page[Math.floor((page.length - 1) / 2)]!.key);
  return {page, isDone: ranOff, continueCursor, splitCursor: middle, pageStatus: wasCut ? 'SplitRequired' : null};
}
