/**
 * Streams a tenant's documents at one sequence: one table or all of them as JSON lines, or one table as CSV. They are
 * read in one transaction on a connection of its own, which keeps the WAL from being reset. The stream's owner gives up
 * a reader that takes nothing. A slow reader during heavy writing is cut off here, once the WAL is EXPORT_LOG_BYTES_MAX
 * long.
 */
import {statSync} from 'node:fs';
import {CHUNK_CHARS} from '../../../../engine/journal/chunks.ts';
import {JournalReader} from '../../../../engine/journal/read-page.ts';
import {tableRows} from '../../../../engine/journal/table-rows.ts';
import type {Filter} from '../../../../engine/reads/filter.ts';
import {storedSchema} from '../../../../engine/schema/read.ts';
import {Catalog} from '../../../../engine/storage/catalog.ts';
import type {Connection} from '../../../../engine/storage/connection.ts';
import {openReader} from '../../../../engine/storage/database.ts';
import {checkTableName, documentText, FLAG_FLOATS, storedDocumentText} from '../../../../engine/storage/document.ts';
import {overloaded} from '../../../../shared/errors.ts';
import {EXPORT_LOG_BYTES_MAX} from '../../limits.ts';
import {columnsOf, csvTexts} from './csv-text.ts';
import {matchingRows} from './matching-rows.ts';

/**
 * `table` null: all tables, with lines of `{"table", "document"}`; then there are no filters. `columns` null: all that
 * the documents have.
 */
export type ExportRequest =
  | {format: 'jsonl'; table: string | null; filters: readonly Filter[]; isForRestore: boolean}
  | {format: 'csv'; table: string; filters: readonly Filter[]; columns: readonly string[] | null};

/**
 * Chunks of lines; a chunk is empty while the columns are being determined. Each step is short, and the caller decides
 * when to take the next one.
 * @param onCut receives the sequence, before the first chunk
 */
export function* exportChunks(
  path: string,
  requested: ExportRequest,
  onCut: (sequence: number) => void,
): Generator<string, void, void> {
  if (requested.table !== null) checkTableName(requested.table);
  const db = openReader(path);
  try {
    db.exec('BEGIN');
    onCut(new JournalReader(db).head());
    const catalog = Catalog.read(db);
    const texts =
      requested.format === 'csv'
        ? csvOf(db, catalog, requested)
        : requested.isForRestore
          ? restorableLines(db, catalog, requested.table)
          : linesOf(db, catalog, requested);
    let chunk = '';
    for (const text of texts) {
      chunk += text;
      if (text !== '' && chunk.length < CHUNK_CHARS) continue;
      yield chunk;
      chunk = '';
      checkLog(path);
    }
    yield chunk;
  } finally {
    db.close();
  }
}

function* linesOf(
  db: Connection,
  catalog: Catalog,
  {table: name, filters}: ExportRequest,
): Generator<string, void, void> {
  for (const table of catalog.tables()) {
    if (name !== null && table.name !== name) continue;
    const [before, after] = name === null ? [`{"table":"${table.name}","document":`, '}\n'] : ['', '\n'];
    for (const row of matchingRows(db, catalog, table, filters)) {
      yield row === null ? '' : `${before}${documentText(row)}${after}`;
    }
  }
}

/**
 * The lines that `restore.ts` reads: a table's schema comes first, so that its documents are validated and indexed on
 * arrival.
 */
function* restorableLines(db: Connection, catalog: Catalog, name: string | null): Generator<string, void, void> {
  for (const table of catalog.tables()) {
    if (name !== null && table.name !== name) continue;
    const {fields} = table;
    if (fields !== null) {
      const indexes = storedSchema(table)!.indexes.map(({id: _, state: __, failure: ___, ...index}) => index);
      yield `${JSON.stringify({table: table.name, schema: {table: table.name, fields, indexes}})}\n`;
    }
    const before = `{"table":"${table.name}","document":`;
    for (const row of tableRows(db, catalog, table)) {
      const floats = (row.flags & FLAG_FLOATS) === 0 ? '' : ',"floats":true';
      yield `${before}${storedDocumentText(row)}${floats}}\n`;
    }
  }
}

function* csvOf(
  db: Connection,
  catalog: Catalog,
  {table: name, filters, columns}: ExportRequest & {format: 'csv'},
): Generator<string, void, void> {
  const table = catalog.table(name);
  const rows = () => (table === undefined ? [] : matchingRows(db, catalog, table, filters));
  yield* csvTexts(rows(), columns ?? (yield* columnsOf(rows())));
}

/** @throws session.overloaded 503 */
function checkLog(path: string): void {
  const bytes = statSync(`${path}-wal`, {throwIfNoEntry: false})?.size ?? 0;
  if (bytes <= EXPORT_LOG_BYTES_MAX) return;
  throw overloaded('the export was too slow for what is written meanwhile; try again');
}
