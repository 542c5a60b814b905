/**
 * Every commit of a tenant's file has a number, without gaps: a copy says with it how far it is (decision 0077). A
 * commit with journal records stores it in their rows, which it writes anyway, any other commit in `meta`; so the
 * newest commit has the higher of the two.
 */
import type {Connection} from './connection.ts';
import {metaRow, SET_META, storedMeta} from './meta.ts';

export const COMMIT_NUMBER = 'commit_number';

/** Of the newest commit. 0: the file is older than these numbers. */
export function storedCommitNumber(db: Connection): number {
  const newest = db.prepare<[], number | null>('SELECT commit_number FROM journal ORDER BY sequence DESC LIMIT 1');
  return Math.max(newest.pluck().get() ?? 0, Number(storedMeta(db, COMMIT_NUMBER) ?? 0));
}

/** Numbers a transaction that no commit group makes. Call it last in the transaction. */
export function numberTransaction(db: Connection): void {
  db.prepare(SET_META).run(...metaRow(COMMIT_NUMBER, storedCommitNumber(db) + 1));
}
