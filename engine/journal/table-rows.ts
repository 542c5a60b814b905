/**
 * The documents of one table in one snapshot, in creation order, in batches of about one chunk of text. Many streams
 * can wait for slow readers, each with the batch it has read.
 */
import {BOOTSTRAP_ROWS_FIRST, BOOTSTRAP_ROWS_MOST} from '../limits.ts';
import type {Catalog, CatalogTable} from '../storage/catalog.ts';
import {checkedRow, type StoredRow} from '../storage/checksum.ts';
import type {Connection} from '../storage/connection.ts';
import {reading} from '../storage/damage.ts';
import {CHUNK_CHARS} from './chunks.ts';

/** @throws op.storage_damaged 503 */
export function* tableRows(db: Connection, catalog: Catalog, table: CatalogTable): Generator<StoredRow, void, void> {
  const page = db.prepare<[number, number, number], StoredRow>(
    'SELECT * FROM documents WHERE doc > ? AND doc <= ? ORDER BY doc LIMIT ? + 0',
  );
  let last = table.info.lowDoc;
  let atOnce = BOOTSTRAP_ROWS_FIRST;
  for (;;) {
    const rows = reading(() => page.all(last, table.info.highDoc, atOnce));
    let chars = 1;
    for (const row of rows) {
      checkedRow(row, catalog);
      chars += row.body.length;
      last = row.doc;
      yield row;
    }
    if (rows.length < atOnce) return;
    atOnce = Math.max(1, Math.min(BOOTSTRAP_ROWS_MOST, Math.floor((CHUNK_CHARS * rows.length) / chars)));
  }
}
