/**
 * Documents of a tenant at one sequence as JSON lines, streamed: of one table, or of all of them. They are read in one transaction on a connection of
 * its own, which keeps the log from starting over: a reader that takes nothing is given up by the stream's owner, and one that is slow while
 * much is written is cut here, once the log is EXPORT_LOG_BYTES_MAX long.
 */
import {statSync} from 'node:fs';
import {ServiceError} from '../../shared/errors.ts';
import {EXPORT_LOG_BYTES_MAX} from '../../shared/limits.ts';
import {documentText} from '../documents/document.ts';
import {checkTableName} from '../documents/table-name.ts';
import {PIECE_CHARS} from '../journal/pieces.ts';
import {JournalReader} from '../journal/read-page.ts';
import {tableRows} from '../journal/table-rows.ts';
import {Catalog} from '../storage/catalog.ts';
import {openReader} from '../storage/database.ts';

/**
 * Pieces of lines. Each step is short; the caller decides when to take the next one.
 * @param name the table, whose documents are the lines; null: lines are `{"table", "document"}`
 * @param onCut told the sequence, before the first piece
 */
export function* exportPieces(
  path: string,
  name: string | null,
  onCut: (sequence: number) => void,
): Generator<string, void, void> {
  if (name !== null) checkTableName(name);
  const db = openReader(path);
  try {
    db.exec('BEGIN');
    onCut(new JournalReader(db).head());
    const catalog = Catalog.read(db);
    let piece = '';
    for (const table of catalog.tables()) {
      if (name !== null && table.name !== name) continue;
      const [before, after] = name === null ? [`{"table":"${table.name}","document":`, '}\n'] : ['', '\n'];
      for (const row of tableRows(db, catalog, table)) {
        piece += `${before}${documentText(row)}${after}`;
        if (piece.length < PIECE_CHARS) continue;
        yield piece;
        piece = '';
        checkLog(path);
      }
    }
    yield piece;
  } finally {
    db.close();
  }
}

/** @throws session.overloaded 503 */
function checkLog(path: string): void {
  const bytes = statSync(`${path}-wal`, {throwIfNoEntry: false})?.size ?? 0;
  if (bytes <= EXPORT_LOG_BYTES_MAX) return;
  throw new ServiceError('session.overloaded', 'the export was too slow for what is written meanwhile; try again');
}
