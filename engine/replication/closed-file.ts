/**
 * What a closed file says of itself. A worker wrote it, which runs code of its tenant, and the cluster process reads it for
 * all tenants. So no SQL runs here, and SQLite does not open the file: a view named `journal` would never end (decision 0133).
 */
import {closeSync, fsyncSync, ftruncateSync, openSync, rmSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {LOGGED_FILE} from '../../shared/tenant-directory.ts';
import {writeAll} from '../copies/bytes.ts';
import type {FileState} from '../copies/capture.ts';
import {CopyError} from '../copies/copy-error.ts';
import {LogReader} from '../copies/log-reader.ts';
import {COMMIT_NUMBER} from '../storage/commit-number.ts';
import {findLostLog, keepLogFiles, syncDirectory} from '../storage/file-guard.ts';
import {isSoundRow} from '../storage/row-checksum.ts';
import {StoredPages} from '../storage/stored-pages.ts';
import {findLogDamage} from '../storage/wal-log.ts';

/** `commitsInLog`: of the WAL. */
export type ClosedFile = FileState & {readonly commitsInLog: number};

/** Columns of `journal`, from 0. */
const COMMIT_NUMBER_COLUMN = 3;
const TIMELINE = /^[0-9a-f]{32}$/;

/** A file that lost its WAL during a checkpoint can have pages of several commits. @throws CopyError */
export function refuseDamagedLog(path: string): void {
  const finding = findLostLog(dirname(path)) ?? findLogDamage(path)?.finding ?? null;
  if (finding !== null) throw new CopyError(finding);
}

/** Its newest commit. The WAL stays, as the next process that opens the file needs it. @throws CopyError */
export function closedFileState(path: string, nowMs: number): ClosedFile {
  keepLogFiles(path);
  try {
    const stored = StoredPages.of(path);
    if (stored === null) throw new CopyError(`${path} is not a file of SQLite`);
    const newest = stored.last('journal', COMMIT_NUMBER_COLUMN);
    const meta = metaOf(stored);
    const timeline = meta.get('tenant_timeline');
    if (typeof timeline !== 'string' || !TIMELINE.test(timeline)) throw new CopyError(`${path} has no timeline`);
    const sequence = newest?.number ?? 0;
    const commit = Math.max(Number(newest?.value ?? 0), Number(meta.get(COMMIT_NUMBER) ?? 0));
    if (!isCount(sequence) || !isCount(commit)) throw new RangeError('its newest commit has no number');
    const {pageCount: pages, commits: commitsInLog} = stored;
    const {pageBytes} = stored.header;
    return {timeline, pageBytes, pages, commit, sequence, timeMs: nowMs, commitsInLog};
  } catch (error) {
    if (error instanceof RangeError) throw new CopyError(`${path} is damaged: ${error.message}`);
    throw error;
  }
}

/** What is wanted of `meta`. Other values can be long, and are then not in their cells. @throws RangeError */
function metaOf(stored: StoredPages): ReadonlyMap<unknown, string | number | null> {
  const rows = stored
    .rows('meta')
    .map(([key = null, value = null, checksum]) => ({key, value, checksum}))
    .filter(({key}) => key === 'tenant_timeline' || key === COMMIT_NUMBER);
  const unsound = rows.find(
    ({checksum, ...row}) => !isSoundRow('meta', {...row, checksum: Number(checksum ?? 0) || null}),
  );
  if (unsound !== undefined) throw new RangeError(`the value ${unsound.key} does not match its checksum`);
  return new Map(rows.map(({key, value}) => [key, value]));
}

function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** Moves all of the WAL into the file, as a checkpoint would. @throws CopyError */
export function moveLog(path: string, pageBytes: number): void {
  // Before the WAL is empty: a file with this note and an empty WAL has lost it.
  rmSync(join(dirname(path), LOGGED_FILE), {force: true});
  syncDirectory(dirname(path));
  const log = new LogReader(path);
  const file = openSync(path, 'r+');
  try {
    const taken = log.take(Number.MAX_SAFE_INTEGER, 0);
    const {changed, pagesAfter} = taken;
    for (const number of changed.keys()) {
      // A later commit can have shortened the database.
      if (number <= pagesAfter!) writeAll(file, log.pageAfter(number, pageBytes, taken), (number - 1) * pageBytes);
    }
    if (pagesAfter !== null) ftruncateSync(file, pagesAfter * pageBytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
    log.close();
  }
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, {force: true});
  syncDirectory(dirname(path));
}
