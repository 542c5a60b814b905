/**
 * Streams the whole state of a tenant at one sequence: a follower loads it before it reads the journal from
 * `resume_after_sequence` on. It is read in one read transaction on its own connection. That snapshot prevents a reset
 * of the WAL, so the stream's owner ends a stream whose reader takes nothing for STREAM_STALL_MS.
 *
 * GET /api/tenants/{tenant_id}/journal/bootstrap
 */

import {JOURNAL_VERSION} from '../../shared/journal-chain.ts';
import {allSchemasText} from '../schema/read.ts';
import {Catalog} from '../storage/catalog.ts';
import {openReader} from '../storage/database.ts';
import {storedDocumentText} from '../storage/document.ts';
import {CHUNK_CHARS, cutUp} from './chunks.ts';
import {JournalReader} from './read-page.ts';
import {snapshotRest} from './snapshot-rest.ts';
import {tableRows} from './table-rows.ts';

/** The payload's JSON text in chunks. Each step is short; the caller decides when to take the next one. */
export function* bootstrapChunks(path: string): Generator<string, void, void> {
  const db = openReader(path);
  try {
    db.exec('BEGIN');
    const journal = new JournalReader(db);
    const catalog = Catalog.read(db);
    const cut = journal.head();
    const floor = journal.floor();
    yield `{"snapshot":{"version":${JOURNAL_VERSION},"applied_sequence":${cut},"durable_head":${cut},"schema":`;
    yield* cutUp(allSchemasText(catalog));
    yield ',"documents":{';
    let firstTable = true;
    for (const table of catalog.tables()) {
      let chunk = `${firstTable ? '' : ','}"${table.name}":[`;
      firstTable = false;
      let first = true;
      for (const row of tableRows(db, catalog, table)) {
        chunk += first ? storedDocumentText(row) : `,${storedDocumentText(row)}`;
        first = false;
        if (chunk.length < CHUNK_CHARS) continue;
        yield chunk;
        chunk = '';
      }
      yield `${chunk}]`;
    }
    yield '},';
    yield* snapshotRest(db);
    yield `},"resume_after_sequence":${cut},"bootstrap_cut_sequence":${cut},"cursor_floor_sequence":${floor},"timeline":"${journal.timeline}"}`;
  } finally {
    db.close();
  }
}
