/**
 * The whole state of a tenant at one sequence, streamed: what a follower loads before it reads the journal from
 * `resume_after_sequence` on. It is cut in one read transaction on a connection of its own. That snapshot keeps the WAL from
 * being reset, so a reader that takes nothing for STREAM_STALL_MS is given up (by the stream's owner).
 *
 * GET /api/tenants/{tenant_id}/journal/bootstrap
 */

import {JOURNAL_VERSION} from '../../shared/journal-chain.ts';
import {BOOTSTRAP_ROWS_FIRST, BOOTSTRAP_ROWS_MOST} from '../../shared/limits.ts';
import {storedDocumentText} from '../documents/document.ts';
import {allSchemasText} from '../schema/read.ts';
import {Catalog} from '../storage/catalog.ts';
import {checkedRow, type StoredRow} from '../storage/checksum.ts';
import {reading} from '../storage/damage.ts';
import {openReader} from '../storage/database.ts';
import {cutUp, PIECE_CHARS} from './pieces.ts';
import {JournalReader} from './read-page.ts';
import {snapshotRest} from './snapshot-rest.ts';

/** Pieces of the payload's JSON text. Each step is short; the caller decides when to take the next one. */
export function* bootstrapPieces(path: string): Generator<string, void, void> {
  const db = openReader(path);
  try {
    db.exec('BEGIN');
    const journal = new JournalReader(db);
    const catalog = Catalog.read(db);
    const cut = journal.head();
    const floor = journal.floor();
    const page = db.prepare<[number, number, number], StoredRow>(
      'SELECT * FROM documents WHERE doc > ? AND doc <= ? ORDER BY doc LIMIT ? + 0',
    );
    yield `{"snapshot":{"version":${JOURNAL_VERSION},"applied_sequence":${cut},"durable_head":${cut},"schema":`;
    yield* cutUp(allSchemasText(catalog));
    yield ',"documents":{';
    let firstTable = true;
    for (const table of catalog.tables()) {
      let piece = `${firstTable ? '' : ','}"${table.name}":[`;
      firstTable = false;
      let first = true;
      let last = table.info.lowDoc;
      let atOnce = BOOTSTRAP_ROWS_FIRST;
      for (;;) {
        const rows = reading(() => page.all(last, table.info.highDoc, atOnce));
        let chars = 1;
        for (const row of rows) {
          checkedRow(row, catalog);
          chars += row.body.length;
          piece += first ? storedDocumentText(row) : `,${storedDocumentText(row)}`;
          first = false;
          last = row.doc;
          if (piece.length >= PIECE_CHARS) {
            yield piece;
            piece = '';
          }
        }
        if (rows.length < atOnce) break;
        // About one piece at a time: many streams may be waiting for slow readers, each with what it has read.
        atOnce = Math.max(1, Math.min(BOOTSTRAP_ROWS_MOST, Math.floor((PIECE_CHARS * rows.length) / chars)));
      }
      yield `${piece}]`;
    }
    yield '},';
    yield* snapshotRest(db);
    yield `},"resume_after_sequence":${cut},"bootstrap_cut_sequence":${cut},"cursor_floor_sequence":${floor},"timeline":"${journal.timeline}"}`;
  } finally {
    db.close();
  }
}
