/** The indexes of all tables with what an operator asks of them: how far they are built, and whether queries read them. */
import type {IndexList} from '../../shared/protocol/schema.ts';
import type {Catalog} from '../storage/catalog.ts';
import type {Connection} from '../storage/connection.ts';
import {indexReads} from '../storage/index-reads.ts';

/** What changes without a new version of the catalog. */
type TableNumbers = {number: number; documents: number | null; last_n: number};
type BuiltIndex = {number: number; built_to: number};

/**
 * `documents` is as far as they are counted.
 * @param catalog in the snapshot of `db`
 */
export function indexList(catalog: Catalog, db: Connection): IndexList {
  const tables = byNumber(db.prepare<[], TableNumbers>('SELECT number, documents, last_n FROM tables').all());
  const built = byNumber(db.prepare<[], BuiltIndex>('SELECT number, built_to FROM indexes').all());
  const indexes: IndexList['indexes'] = [];
  for (const {info, name: table, indexes: all} of catalog.tables()) {
    const {documents, last_n: lastN} = tables.get(info.number)!;
    for (const {number, name, fields, state, isUnique} of all) {
      if (state === 'dropping') continue;
      const builtTo = built.get(number)!.built_to;
      indexes.push({
        table,
        name,
        fields,
        state,
        ...(isUnique ? {unique: true} : {}),
        documents: documents ?? 0,
        built: state === 'building' ? builtPart(builtTo - info.lowDoc, lastN) : state === 'enabled' ? 1 : null,
        last_read_at: indexReads.lastMs(number),
      });
    }
  }
  return {since: indexReads.sinceMs, indexes};
}

function byNumber<R extends {number: number}>(rows: readonly R[]): Map<number, R> {
  return new Map(rows.map(row => [row.number, row]));
}

/** The build goes through the numbers of documents, of which deletions have left some unused. */
function builtPart(built: number, lastN: number): number {
  return lastN === 0 ? 1 : Math.min(1, Math.max(0, built / lastN));
}
