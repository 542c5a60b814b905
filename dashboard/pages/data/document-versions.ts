/** The versions of one document, from the records of the journal that wrote it. */
import type {JournalCause} from '../../../shared/protocol/journal.ts';
import {call} from '../../api/client.ts';
import {HISTORY_PAGE_RECORDS, HISTORY_PAGES} from './limits.ts';
import type {Doc} from './row-order.ts';

export type Version = {
  readonly sequence: number;
  readonly at: number;
  readonly op: 'insert' | 'update' | 'delete';
  /** Null: the record deleted it. */
  readonly doc: Doc | null;
  readonly cause: JournalCause | undefined;
};
type Versions = {readonly versions: readonly Version[]; readonly next: number | null};

/**
 * The newest versions first. The server looks through a part of the journal for each request, so an answer can be empty
 * and others follow.
 * @param before only records with smaller sequences; null: all
 * @param most versions
 */
export async function versionsBefore(
  tenant: string,
  table: string,
  id: string,
  before: number | null,
  signal: AbortSignal,
  most = HISTORY_PAGE_RECORDS,
): Promise<Versions> {
  const versions: Version[] = [];
  let next = before;
  for (let requests = 0; requests < HISTORY_PAGES && versions.length < most; requests++) {
    const query = {table, document: id, order: 'desc', limit: most} as const;
    const page = await call(
      'journal.page',
      {tenant, query: next === null ? query : {...query, before: next}},
      {signal},
    );
    for (const {sequence, timestamp, writes, cause} of page.records) {
      const write = writes.findLast(one => one.table === table && one.id === id);
      if (write === undefined) continue;
      versions.push({sequence, at: timestamp, op: write.op, doc: write.document as unknown as Doc | null, cause});
    }
    if (!page.has_more) return {versions, next: null};
    next = page.next_cursor;
  }
  return {versions, next};
}
