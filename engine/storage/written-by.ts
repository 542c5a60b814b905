/**
 * A tenant's file says which svc wrote it last, and which storage versions can read it: `written_by` and
 * `readable_from` in `meta`. Steps of `migrations.ts` only add to the layout where they can, so an older svc may be
 * able to use a file of a newer one; any other svc refuses the file before it changes a byte of it.
 */
import {ServiceError} from '../../shared/errors.ts';
import {newestLoggedVersion, readSqliteHeader} from '../../shared/sqlite-header.ts';
import {READABLE_FROM} from '../../shared/storage-version.ts';
import {VERSION} from '../../shared/version.ts';
import {numberTransaction} from './commit-number.ts';
import type {Connection} from './connection.ts';
import {metaRow, SET_META, storedMeta} from './meta.ts';
import {STORAGE_VERSION} from './migrations.ts';
import {StoredPages} from './stored-pages.ts';

/** The svc that wrote the file last. Null: an svc from before files said so. */
export type WrittenBy = {version: number; svc: string | null; readableFrom: number};

/** Adds both values in a transaction. */
export function setWrittenBy(db: Connection): void {
  const set = db.prepare<[string, string | number, number]>(SET_META);
  set.run(...metaRow('written_by', VERSION));
  // A file of a later version keeps what its svc said about it.
  if (db.pragma('user_version', {simple: true}) === STORAGE_VERSION)
    set.run(...metaRow('readable_from', READABLE_FROM));
}

/** In a transaction of its own, the first time that this version of svc opens the file. */
export function noteWrittenBy(db: Connection): void {
  if (storedMeta(db, 'written_by') === VERSION && storedMeta(db, 'readable_from') !== undefined) return;
  db.transaction(() => {
    setWrittenBy(db);
    numberTransaction(db);
  }).immediate();
}

/** Reads it without SQLite. Null: the file cannot be read so. */
export function readWrittenBy(path: string): WrittenBy | null {
  try {
    const pages = StoredPages.of(path);
    if (pages === null) return null;
    const {userVersion: version} = pages.header;
    const meta = new Map(pages.rows('meta').map(([key, value]) => [key, value]));
    const svc = meta.get('written_by');
    const readableFrom = meta.get('readable_from');
    return {
      version,
      svc: typeof svc === 'string' ? svc : null,
      readableFrom: typeof readableFrom === 'number' ? readableFrom : version,
    };
  } catch (caught) {
    if (caught instanceof RangeError) return null;
    throw caught;
  }
}

/**
 * What keeps this svc from using the file, as a sentence; null: nothing. Changes nothing.
 */
export function laterFinding(path: string): string | null {
  const header = readSqliteHeader(path);
  // The migration may be in the log alone. Checksums are not compared here, but below.
  if (header === null || Math.max(header.userVersion, newestLoggedVersion(path)) <= STORAGE_VERSION) return null;
  const written = readWrittenBy(path);
  const version = written?.version ?? header.userVersion;
  if (version <= STORAGE_VERSION || (written !== null && written.readableFrom <= STORAGE_VERSION)) return null;
  const by = written?.svc ?? null;
  const needed = by === null ? 'a later svc' : `svc ${by} or later`;
  return `the file has storage version ${version}${by === null ? '' : `, written by svc ${by}`}; svc ${VERSION} reads up to version ${STORAGE_VERSION}: use ${needed}`;
}

/** @throws session.worker_unavailable 503: the file is for a later svc, and unchanged */
export function refuseLater(path: string): void {
  const finding = laterFinding(path);
  if (finding === null) return;
  throw new ServiceError('session.worker_unavailable', `the tenant is not served: ${finding}`, undefined, {
    cause: new Error(`${path}: ${finding}`),
  });
}
