/**
 * Imports CSV under an id: one request with the whole file, whose first record is its header. After a temporary failure
 * the request is sent again from the file's beginning; the server skips the records that are already in, as it does
 * when the command is run again.
 */
import type {Buffer} from 'node:buffer';
import {createHash} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {Readable} from 'node:stream';
import {IMPORT_LINE_BYTES_MAX} from '../../shared/limits.ts';
import type {CellRule, ImportResult} from '../../shared/protocol/imports.ts';
import {
  checkSeen,
  type ImportEnd,
  type ImportObserver,
  type ImportTarget,
  importOf,
  refusedImport,
  type SeenLines,
} from './import-run.ts';
import {readLines, upToLine} from './line-reader.ts';

export type CsvSource = {
  /** Opens it from its beginning. */
  open(): AsyncIterable<Buffer>;
  /** Null: a pipe, which can be read only once. */
  file: string | null;
};
type CsvTarget = ImportTarget & {table: string; cells: CellRule};

/** @param interrupted aborts the request; imported records stay */
export async function importCsv(
  source: CsvSource,
  target: CsvTarget,
  observer: ImportObserver,
  interrupted: AbortSignal,
): Promise<ImportEnd> {
  const {client, tenant, table, mode, cells, importId, skipBad, seen} = target;
  const known = await importOf(target);
  if (known !== null && seen !== null) checkSeen(await seenIn(source.file, seen.lines), seen);
  const onError = skipBad ? ('skip' as const) : ('stop' as const);
  const query = {table, mode, cells, import_id: importId, on_error: onError};
  let made: ImportResult = known ?? {lines: 0, inserted: 0, updated: 0, failed: 0, errors: []};
  const existing = made.inserted + made.updated;
  const shown = made.errors.length;
  let stoppedBy: ImportEnd['stoppedBy'] = null;
  let bytes = 0;
  const sent = async function* (): AsyncGenerator<Buffer, void, void> {
    bytes = 0;
    for await (const chunk of source.open()) {
      bytes += chunk.length;
      observer.moved({imported: existing, existing, bad: 0, bytes});
      yield chunk;
    }
    // The input can end in the middle of a record, which must not be taken for a complete one.
    if (interrupted.aborted) throw new Error('interrupted');
  };
  try {
    const how = {type: 'text/csv', once: source.file === null, signal: interrupted};
    made = await client.upload('imports.run', [tenant], query, () => Readable.from(sent()), how);
  } catch (caught) {
    if (interrupted.aborted) made = (await importOf(target)) ?? made;
    else ({made, stoppedBy} = refusedImport(caught, made));
  }
  for (const {line, message} of made.errors.slice(shown)) observer.badLine(line, message);
  const {inserted, updated, failed} = made;
  return {
    ...{imported: inserted + updated, existing, bad: failed, bytes, stoppedBy},
    seen: await seenIn(source.file, made.lines),
  };
}

/** The first lines of a file; null: it has fewer, or is a pipe. */
async function seenIn(file: string | null, lines: number): Promise<SeenLines | null> {
  if (file === null || lines === 0) return null;
  const digest = createHash('sha256');
  for await (const some of readLines(createReadStream(file), IMPORT_LINE_BYTES_MAX)) {
    const isEnd = some.first + some.count > lines;
    digest.update(isEnd ? upToLine(some, lines) : some.bytes);
    if (isEnd) return {lines, sha256: digest.digest('base64url')};
  }
  return null;
}
