/** The indexes of all tables with what an operator asks of them: how far they are built, and whether queries read them. */
import type {IndexList} from '../../shared/protocol/schema.ts';
import type {Catalog, CatalogIndex, CatalogTable} from '../storage/catalog.ts';
import {indexReads} from '../storage/index-reads.ts';

export function indexList(catalog: Catalog): IndexList {
  const indexes: IndexList['indexes'] = [];
  for (const table of catalog.tables()) {
    for (const index of table.indexes) {
      const {number, name, fields, state, isUnique} = index;
      if (state === 'dropping') continue;
      indexes.push({
        table: table.name,
        name,
        fields,
        state,
        ...(isUnique ? {unique: true} : {}),
        documents: table.documents,
        built: state === 'building' ? builtPart(table, index) : state === 'enabled' ? 1 : null,
        last_read_at: indexReads.lastMs(number),
      });
    }
  }
  return {since: indexReads.sinceMs, indexes};
}

/** The build goes through the numbers of documents, of which deletions have left some unused. */
function builtPart({info: {lowDoc}, lastN}: CatalogTable, {builtTo}: CatalogIndex): number {
  return lastN === 0 ? 1 : Math.min(1, Math.max(0, (builtTo - lowDoc) / lastN));
}
